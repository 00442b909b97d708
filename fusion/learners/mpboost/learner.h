#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::mpboost {

/// MPBoost (Zhu et al. 2009), one row of the table of learners.
Learner learner();

}  // namespace metafuse::fusion::mpboost
