#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::mpboost {

/// The learner MPBoost (Zhu et al. 2009).
Learner learner();

}  // namespace metafuse::fusion::mpboost
