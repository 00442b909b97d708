#pragma once

#include <span>
#include <vector>

#include "fusion/unsupervised/supervised_fusion.h"

namespace metafuse::fusion {

/// Finds the weights of a weighted sum of scores that maximise the mean average precision on training
/// queries, by coordinate search. The weights start in proportion to the lists' own precision, the best list
/// at 1. A sweep visits the lists in the order of their own precision and moves each weight up, or else down,
/// a grid for as long as that gains while the other weights stay. Sweeps repeat until no weight changes (at
/// most three; only one for more than fifty lists). Ties keep the old weight.
///
/// in:     queries - a document occurs at most once per list
/// cost:   sweeps x lists x queries x about 3 x (entries log entries + relevant), where entries are those of
///         one list of one query; each accepted weight adds one pass over the query's documents
/// source: Vogt, Cottrell 1999 (linear combination); the search is ours
std::vector<double> tune_weights(std::span<const JudgedLists> queries, Normalisation normalisation);

/// The mean average precision of the training queries when each list is weighted by its own mean average
/// precision, which is the start of tune_weights(). 0 without queries.
double precision_of_weighted_lists(std::span<const JudgedLists> queries, Normalisation normalisation);

/// The mean average precision of each list alone over the queries; empty without queries.
std::vector<double> mean_average_precisions(std::span<const JudgedLists> queries);

}  // namespace metafuse::fusion
