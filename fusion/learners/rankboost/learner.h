#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::rankboost {

/// RankBoost (Freund, Iyer, Schapire, Singer 2003, sec. 3 and 4), one row of the table of learners.
Learner learner();

/// The mean of RankBoosts that were each trained on a bootstrap sample of the base queries. It is a sum of
/// the same weak rankings, so it stays monotone and explainable, and it needs less care in choosing the
/// number of rounds.
///
/// source: Breiman, Bagging predictors, 1996, over Freund, Iyer, Schapire, Singer 2003; not in either paper
Learner bagged_learner();

}  // namespace metafuse::fusion::rankboost
