#pragma once

// Which lists are worth asking for: an order of lists in which each adds most to what those before it bring.
// It is learned from judged queries.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::lab::experiments {

/// Valid once made: as many gains as lists, every list at most once, everything finite.
struct ListChoice {
  std::vector<std::uint64_t> order;  ///< indices of the set's rank features, the most useful first
  std::vector<double> gains;         ///< what each adds to those before it, as a share of a query's worth
  std::uint64_t queries = 0;         ///< how many queries it was learned from

  friend bool operator==(const ListChoice&, const ListChoice&) = default;
};

/// Orders lists by greedy choice. Some lists are worth to a query the sum, over relevant documents, of
/// the grade times 1/log2(1 + the best rank in them), divided by the same for all lists. This function is
/// monotone and submodular, so the greedy choice reaches at least 1 - 1/e of the best one. A document that a
/// user preferred to another counts like one of grade 1. A list's gain is its mean over the queries, drawn
/// towards 0 as if two more had brought nothing.
///
/// out:    every list of the set, that is, every rank feature that is not derived; none if no query has a
///         relevant document
/// cost:   O(cells + lists x ranked relevant documents)
/// source: Nemhauser, Wolsey, Fisher 1978
ListChoice learn_list_choice(const fusion::TrainingSet& set);

}  // namespace metafuse::lab::experiments
