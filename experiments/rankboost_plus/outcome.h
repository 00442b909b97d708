#pragma once

#include <array>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "experiments/paper_report.h"
#include "experiments/rankboost_plus/trial.h"

namespace metafuse::experiments::rankboost_plus {

/// What the three algorithms did on one domain.
struct Outcome {
  std::string name;
  std::size_t left_out = 0;
  bool has_map = false;
  std::vector<std::array<std::vector<Trial>, kForms.size()>> trials;  ///< task, form, fold

  /// Mean over the folds of a task.
  double value(std::size_t task, std::size_t form, std::size_t metric) const {
    double sum = 0.0;
    for (const Trial& trial : trials[task][form]) sum += trial.chosen[metric];
    return sum / static_cast<double>(trials[task][form].size());
  }
  std::vector<std::vector<double>> values(std::size_t metric) const {
    std::vector<std::vector<double>> rows;
    for (std::size_t task = 0; task < trials.size(); ++task) {
      rows.emplace_back();
      for (std::size_t form = 0; form < kForms.size(); ++form)
        rows.back().push_back(value(task, form, metric));
    }
    return rows;
  }
  double mean(std::size_t form, std::size_t metric) const {
    double sum = 0.0;
    for (std::size_t task = 0; task < trials.size(); ++task) sum += value(task, form, metric);
    return sum / static_cast<double>(trials.size());
  }
};

/// What compare() measures.
struct ComparisonOptions {
  std::size_t rounds = 100;
  bool has_map = false;
  bool has_all_losses = false;
};

/// Trains the three algorithms on every task and fold.
///
/// errors: bad_data when no task has feedback in every part; those of run_trial, naming the task
Result<Outcome> compare(std::string name, const Tasks& tasks, const ComparisonOptions& plan,
                        const ExperimentOptions& options);

/// Average ranks with Friedman's test and Nemenyi's critical difference, and means.
void describe(const Outcome& outcome, PaperReport& report);

}  // namespace metafuse::experiments::rankboost_plus
