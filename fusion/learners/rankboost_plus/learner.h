#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::rankboost_plus {

/// RankBoost+, Rb-d and Rb-c (Connamacher et al. 2020), one row of the table of learners.
Learner learner();

}  // namespace metafuse::fusion::rankboost_plus
