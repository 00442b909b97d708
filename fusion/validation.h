#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/result.h"
#include "fusion/training_set.h"

namespace metafuse::fusion {

/// What scores of a validation set are worth; higher is better.
using ScoreMeasure = std::function<double(std::span<const double> scores)>;

/// A measure of one score a row of the set: each query is ordered by score, equal scores by more lists,
/// better best rank and document id; the mean over the queries that have a relevant document. Costs are
/// turned around.
///
/// in:     set - must outlive the function; name - one measure of evaluation's table, "map" or "ndcg_cut_10"
/// errors: usage: no such measure, or one that has several columns; bad_data: no query has a relevant
/// document cost:   of a call: O(documents log documents of a query)
Result<ScoreMeasure> score_measure(const TrainingSet& set, const std::string& name);

}  // namespace metafuse::fusion
