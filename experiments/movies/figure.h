#pragma once

#include <string>
#include <vector>

#include "core/random.h"
#include "experiments/experiment.h"
#include "experiments/movies/methods.h"
#include "experiments/progress_counter.h"

namespace metafuse::experiments::movies {

/// One point of a figure: some tasks at one setting.
struct Setting {
  std::string label;
  double x = 0.0;
  std::vector<Task> tasks;
};

/// The values of every method and task at each setting of a figure.
struct Figure {
  std::string name;
  std::string x_name;
  std::vector<Method> methods;
  std::vector<Setting> settings;
  std::vector<std::vector<std::vector<Values>>> values;  ///< setting, method, task

  double mean(std::size_t setting, std::size_t method, Measure measure) const {
    double sum = 0.0;
    for (const Values& task : values[setting][method]) sum += task[measure];
    return values[setting][method].empty() ? 0.0 : sum / static_cast<double>(values[setting][method].size());
  }
};

struct Sizes {
  std::size_t splits = 5;
  std::size_t targets = 100;
};

/// The methods that the paper compares.
std::vector<Method> paper_methods();

/// Fig. 5: nested feature sets and disjoint targets.
Figure feature_counts(const Ratings& ratings, const Sizes& sizes, Random random);
/// Fig. 6: 80 features of one density, targets of any.
Figure feature_density(const Ratings& ratings, const Sizes& sizes, Random random);
/// Fig. 7: 500 features, targets of one density.
Figure feedback_density(const Ratings& ratings, const Sizes& sizes, Random random);
/// Sec. 7: orderings by minimised ranking loss and by minimised classification error.
Figure classification(const Ratings& ratings, const Sizes& sizes, Random random);

std::size_t task_count(const Figure& figure);

/// Runs every method on every task. errors: those of the methods
Result<void> measure_figure(Figure& figure, const Ratings& ratings, unsigned threads,
                            ProgressCounter& progress);

}  // namespace metafuse::experiments::movies
