#pragma once

#include <cstddef>
#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// NDCG at 1..depth of every query of a set when its documents are ordered by score, equal scores in document
/// order: gains 2^grade - 1, discount 1 at the first place and 1/log2(place) after (Zhu et al. 2009,
/// sec. 5.2).
///
/// in:   scores - one a document
/// out:  a row a query that has a document of positive grade, others left out
/// cost: O(documents log depth)
std::vector<std::vector<double>> ndcg_by_query(const TrainingSet& set, const std::vector<double>& scores,
                                               std::size_t depth);

/// Mean over the queries of NDCG at `depth`; 0 when no query has a relevant document.
double mean_ndcg(const TrainingSet& set, const std::vector<double>& scores, std::size_t depth);

}  // namespace metafuse::fusion
