#pragma once

// The learners adaboost-mh and calibrated-adaboost.

#include <vector>

#include "fusion/learners/common/learner.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::adaboost_mh {

/// Plain AdaBoost.MH (Busa-Fekete et al. 2011, sec. 4): a single setting; documents are ordered by the Bayes
/// score, eq. (2), of the posterior of eq. (3).
Learner learner();

/// The ensemble of calibrated classifiers with exponential weights (sec. 4 and 5).
///
/// in: others - the learners that --others may name; no ensemble among them, so that models are not
///     nested endlessly
Learner ensemble_learner(std::vector<Learner> others);

}  // namespace metafuse::lab::adaboost_mh
