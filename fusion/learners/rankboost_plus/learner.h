#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::rankboost_plus {

/// The learner RankBoost+, with Rb-d and Rb-c as its other forms (Connamacher et al. 2020).
Learner learner();

}  // namespace metafuse::fusion::rankboost_plus
