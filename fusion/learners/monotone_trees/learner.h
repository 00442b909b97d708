#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::monotone_trees {

/// The mean of several boosted sums of monotone trees, each learned from another sample of the base queries
/// and other drawn pairs. Where a step table says what one list's rank is worth, a tree says what it is worth
/// given the others'.
///
/// source: Friedman, Greedy function approximation, 2001; Burges et al. 2005; Chen, Guestrin 2016; Breiman,
///         Bagging predictors, 1996; in none of the papers that metafuse remakes
Learner learner();

}  // namespace metafuse::fusion::monotone_trees
