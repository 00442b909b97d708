#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::rankboost {

/// RankBoost (Freund, Iyer, Schapire, Singer 2003, sec. 3 and 4), one row of the table of learners.
Learner learner();

}  // namespace metafuse::fusion::rankboost
