#pragma once

#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/learners/online/learner_settings.h"
#include "fusion/learners/online/online_ranker.h"

namespace metafuse::fusion::online {

/// The six rows of the table of learners: prank, prank-vp, widrow-hoff, oap-bpm, oap-bagg, oap-vp
/// (Harrington 2003).
std::vector<Learner> learners();

/// The method of a learner's name, or nothing for a learner that is not online.
std::optional<OnlineMethod> method_of(std::string_view learner);

/// A learner that stands at its start, for these features.
Result<OnlineRanker> fresh_ranker(const LearnerSettings& settings, std::vector<InputScale> scales,
                                  std::vector<double> grades);

}  // namespace metafuse::fusion::online
