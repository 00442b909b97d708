#pragma once

#include <span>
#include <vector>

#include "fusion/unsupervised/supervised_fusion.h"

namespace metafuse::fusion {

/// Weights of a weighted sum of scores that maximise the mean average precision on training queries, by
/// coordinate search: lists in the order of their own precision, each moved up or else down a grid of weights
/// for as long as that gains while the others stay, in sweeps until no weight changes (at most three, one for
/// more than fifty lists). The weights start in proportion to the lists' own precision, the best list at 1.
/// Ties keep the weight that was there.
///
/// in:     queries - lists that hold a document at most once each
/// cost:   sweeps x lists x queries x some 3 x (entries log entries + relevant), entries being those of one
///         list of one query; each accepted weight also costs the query's documents
/// source: Vogt, Cottrell 1999 (linear combination); the search is ours
std::vector<double> tune_weights(std::span<const JudgedLists> queries, Normalisation normalisation);

/// The mean average precision of the training queries' lists when each counts as its own mean average
/// precision: what tune_weights() starts from. 0 without queries.
double precision_of_weighted_lists(std::span<const JudgedLists> queries, Normalisation normalisation);

/// The mean average precision of every list alone, over the queries; none without queries.
std::vector<double> mean_average_precisions(std::span<const JudgedLists> queries);

}  // namespace metafuse::fusion
