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

/// The settings of an online learner that users can change.
struct LearnerSettings {
  OnlineOptions model;
  std::size_t passes = 1;
  bool is_scaled = true;
  std::vector<double> grades;  ///< --grades; empty: those of the training documents
};

/// errors: usage, naming the option
Result<LearnerSettings> read_settings(OnlineMethod method, const std::map<std::string, std::string>& options,
                                      std::uint64_t seed);

/// The options of the method in settings.model.
void declare_options(OptionTable& table, LearnerSettings& settings);

/// The six online learners: prank, prank-vp, widrow-hoff, oap-bpm, oap-bagg, oap-vp (Harrington 2003).
std::vector<Learner> learners();

/// The method of a learner, by the learner's name; nothing if the learner is not online.
std::optional<OnlineMethod> method_of(std::string_view learner);

/// A ranker for these features that has not learned anything yet.
Result<OnlineRanker> fresh_ranker(const LearnerSettings& settings, std::vector<InputScale> scales,
                                  std::vector<double> grades);

}  // namespace metafuse::fusion::online
