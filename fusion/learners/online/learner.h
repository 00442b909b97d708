#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/online/online_model.h"
#include "fusion/learners/online/online_ranker.h"

namespace metafuse::fusion::online {

/// What the user set of an online learner.
struct LearnerSettings {
  OnlineOptions model;
  std::size_t passes = 1;
  bool is_scaled = true;
  std::vector<double> grades;  ///< --grades; empty takes those of the training documents
};

/// errors: usage, naming the option
Result<LearnerSettings> read_settings(OnlineMethod method, const std::map<std::string, std::string>& options,
                                      std::uint64_t seed);

/// The options of settings.model.method.
void declare_options(OptionTable& table, LearnerSettings& settings);

/// The six rows of the table of learners: prank, prank-vp, widrow-hoff, oap-bpm, oap-bagg, oap-vp (Harrington
/// 2003).
std::vector<Learner> learners();

/// The method of a learner's name, or nothing for a learner that is not online.
std::optional<OnlineMethod> method_of(std::string_view learner);

/// A learner that stands at its start, for these features.
Result<OnlineRanker> fresh_ranker(const LearnerSettings& settings, std::vector<InputScale> scales,
                                  std::vector<double> grades);

}  // namespace metafuse::fusion::online
