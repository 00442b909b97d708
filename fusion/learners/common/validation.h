#pragma once

// Measures by which learners are compared on queries they were not trained on: for early stopping, and for
// the choice of the learner `auto`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// Evaluates scores of a validation set; higher is better.
using ScoreMeasure = std::function<double(std::span<const double> scores)>;

struct ValidationMeasure {
  ScoreMeasure value;    ///< negated if the measure is a cost
  bool is_cost = false;  ///< lower is better; reports negate the value again
  std::string name;

  /// A value as reports show it: that of a cost is not negated.
  double reported(double score) const { return is_cost ? -score : score; }
};

/// Makes a function that evaluates one score per row of the set. Each query is ordered by score; equal scores
/// by more lists, better best rank and document id. Measures defined as expectations over ties get the scores
/// themselves. The result is that of `evaluate` for lists in this order: the mean over all judged queries, in
/// which relevant documents that no list holds count as not found. But the few measures that tell unjudged
/// documents from documents of grade 0, such as bpref, see only the latter.
///
/// in:     name - one measure of evaluation's table, such as "map" or "ndcg_cut_10"
/// errors: usage: an unknown measure, or one with several columns; bad_data: no query is answerable
/// cost:   per call O(documents log documents) for each query
Result<ValidationMeasure> validation_measure(const TrainingSet& set, const std::string& name);

/// A query on which models that were trained without it are measured.
struct HeldOutQuery {
  std::size_t place;  ///< its position in the whole set
  TrainingSet set;    ///< only this query
  ValidationMeasure measure;
};

/// Splits a set into its judged queries. The highest grade, which some measures use, is the whole set's.
/// errors: usage: as validation_measure()
Result<std::vector<HeldOutQuery>> measured_queries(const TrainingSet& set, const std::string& measure);

/// Whether measures count a grade as relevant. They round it, and take a relevance level between two grades
/// for the higher one.
bool is_relevant(const TrainingSet& set, double grade);

/// Which queries have a relevant document in a list. The others cannot tell one ranking from another.
std::vector<bool> are_answerable(const TrainingSet& set);

/// How many base queries have an answerable query.
std::size_t count_answerable(const TrainingSet& set);

/// The fold of each query, as folds_of_base_queries() gives it with the answerable ones marked. All other
/// judged queries, which are measured too, are spread evenly over the folds.
Result<std::vector<std::size_t>> folds_to_measure(const TrainingSet& set, std::size_t folds,
                                                  std::uint64_t seed);

}  // namespace metafuse::fusion
