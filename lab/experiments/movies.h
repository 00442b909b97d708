#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/model/sum_ranker.h"
#include "lab/experiments/data_sets.h"

/// The movie experiment of Freund et al. 2003, sec. 6.2: its tasks, methods and measures.
namespace metafuse::lab::experiments::movies {

/// The measures of sec. 6.2.4, as expectations over the order of ties.
enum Measure { kDisagreement, kAveragePrecision, kRankOfTop, kCoverage, kMeasures };
inline constexpr std::array kAllMeasures = {kDisagreement, kAveragePrecision, kRankOfTop, kCoverage};
using Values = std::array<double, kMeasures>;
constexpr std::array<const char*, kMeasures> kMeasureNames = {"disagreement", "AP", "PROT", "coverage"};

/// Evaluates scores; the good movies are those of the highest grade.
///
/// in:   scores, grades - one per movie; at least one movie
/// cost: O(movies log movies)
Values measure(const std::vector<double>& scores, const std::vector<double>& grades);

/// The task of one target viewer: half of the viewer's movies to learn from, the other half to predict (sec.
/// 6.2.1), and other viewers as ranking features.
struct Task {
  std::vector<std::size_t> features;  ///< viewers
  std::vector<std::size_t> train;     ///< movies
  std::vector<std::size_t> test;
  std::vector<double> train_stars;
  std::vector<double> test_stars;
};

/// out: a task; `random` decides how the movies are halved
Task make_task(const Ratings& ratings, std::vector<std::size_t> features, std::size_t target, Random random);

/// False if one half has a single grade, so that there is nothing to learn from or nothing to measure.
bool has_feedback(const Task& task);

enum class Method {
  rankboost,  ///< WeakLearn.3.cum, q_default learned, 40 + N/10 rounds
  vector_similarity,
  nearest_neighbour,
  regression,
  random_guessing,
  normalised_regression,  ///< sec. 6.2.6
  ten_neighbours,         ///< sec. 6.2.6
  rankboost_with_vsim,    ///< sec. 6.2.6: VSIM's prediction as one more ranking feature
  rankboost_bipartite,    ///< sec. 7: only good movies against the rest
  adaboost,               ///< sec. 7
};

std::string method_name(Method method);

/// The values of each method on the task's test half.
///
/// errors: those of the learners, for a task without feedback
Result<std::vector<Values>> run_methods(const Ratings& ratings, const Task& task,
                                        const std::vector<Method>& methods);

}  // namespace metafuse::lab::experiments::movies
