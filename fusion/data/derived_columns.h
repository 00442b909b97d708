#pragma once

#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// Adds derived features behind the rank features of a set: what feature_matrix() makes of each query, as
/// columns.
///
/// in:   set - of rank features only; derived - features of derived_features()
/// cost: O(documents x features log documents of a query)
void add_derived_columns(TrainingSet& set, const std::vector<Feature>& derived);

}  // namespace metafuse::fusion
