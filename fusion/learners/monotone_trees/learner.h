#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::monotone_trees {

/// The mean of several boosted sums of monotone trees, each learned from a different sample of the base
/// queries and from different drawn pairs. A step table states what a rank in one list is worth; a tree
/// states what it is worth given the ranks in other lists.
///
/// source: Friedman, Greedy function approximation, 2001; Burges et al. 2005; Chen, Guestrin 2016; Breiman,
///         Bagging predictors, 1996; not in any of the papers that metafuse reimplements
Learner learner();

}  // namespace metafuse::fusion::monotone_trees
