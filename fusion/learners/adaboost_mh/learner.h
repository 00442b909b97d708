#pragma once

#include "fusion/training/registry.h"

namespace metafuse::fusion::adaboost_mh {

/// Plain AdaBoost.MH (Busa-Fekete et al. 2011, sec. 4): one setting, ordered by the Bayes score of posterior
/// [3].
Learner learner();

/// The calibrated, exponentially weighted ensemble (sec. 4 and 5).
Learner ensemble_learner();

}  // namespace metafuse::fusion::adaboost_mh
