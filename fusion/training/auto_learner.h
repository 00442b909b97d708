#pragma once

#include <vector>

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// The row `auto`: chooses a learner and its options by cross-validation inside the training queries, and
/// trains it on all of them. The model is the chosen learner's; its "training" says under "auto" what was
/// chosen among what, with the figures.
///
/// in: learners - the rows to choose among
Learner auto_learner(std::vector<Learner> learners);

}  // namespace metafuse::fusion
