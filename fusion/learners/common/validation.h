#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// What scores of a validation set are worth; higher is better.
using ScoreMeasure = std::function<double(std::span<const double> scores)>;

struct ValidationMeasure {
  ScoreMeasure value;    ///< of a cost: minus the cost
  bool is_cost = false;  ///< lower is better: reports turn the value around again
};

/// A measure of one score per row of the set: each query is ordered by score, equal scores by more lists,
/// better best rank and document id; measures in expectation over ties see the scores. Averaged as `evaluate`
/// does it, over the queries that have a relevant document.
///
/// in:     name - one measure of evaluation's table, "map" or "ndcg_cut_10"
/// errors: usage: no such measure, or one that has several columns; bad_data: no query has a
///         relevant document
/// cost:   of a call: O(documents log documents of a query)
Result<ValidationMeasure> validation_measure(const TrainingSet& set, const std::string& name);

/// A query that models which have not seen it are measured on.
struct MeasuredQuery {
  TrainingSet set;  ///< of it alone
  ValidationMeasure measure;
};

/// The queries of a set that have a relevant document.
/// errors: usage: as above
Result<std::vector<MeasuredQuery>> measured_queries(const TrainingSet& set, const std::string& measure);

}  // namespace metafuse::fusion
