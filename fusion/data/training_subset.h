#pragma once

#include <cstddef>
#include <span>

#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// The training set of some of the queries, equal to what reading only those queries would have given: values
/// that no longer occur are no candidate thresholds.
///
/// in:     queries - positions in set.queries, ascending
/// cost:   O(documents kept x features)
TrainingSet select_queries(const TrainingSet& set, std::span<const std::size_t> queries);

}  // namespace metafuse::fusion
