#pragma once

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::rankboost {

/// RankBoost (Freund, Iyer, Schapire, Singer 2003, sec. 3 and 4).
Learner learner();

/// The mean of several RankBoost models, each trained on a bootstrap sample of the base queries. It is a sum
/// of the same kind of weak rankings, so it remains monotone and explainable, and the number of rounds
/// matters less.
///
/// source: Breiman, Bagging predictors, 1996, applied to Freund, Iyer, Schapire, Singer 2003; not in
///         either paper
Learner bagged_learner();

}  // namespace metafuse::fusion::rankboost
