#pragma once

#include <span>
#include <vector>

#include "fusion/unsupervised/supervised_fusion.h"

namespace metafuse::fusion {

/// Weights of a weighted sum of scores that maximise the mean average precision on training queries, by
/// coordinate search: lists in the order of their own precision, each tried at multiples of a step while the
/// others stay, in sweeps until no weight changes (at most three, one for more than fifty lists). The weights
/// start in proportion to `precisions`, the best list at 1. Ties keep the weight that was there.
///
/// source: Vogt, Cottrell 1999 (linear combination); the search is ours
/// cost:   O(sweeps x lists x 8 x entries + documents log documents)
std::vector<double> tune_weights(std::span<const JudgedLists> queries, const std::vector<double>& precisions,
                                 Normalisation normalisation);

}  // namespace metafuse::fusion
