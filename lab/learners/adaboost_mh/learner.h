#pragma once

// The learners adaboost-mh and calibrated-adaboost.

#include <span>
#include <string_view>
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

/// The learner of that name; nullptr if there is none.
const Learner* find_other(std::span<const Learner> others, std::string_view name);

}  // namespace metafuse::lab::adaboost_mh
