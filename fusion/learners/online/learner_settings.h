#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/learners/online/online_model.h"

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

/// The options of a method, for its row in the table of learners.
std::vector<LearnerOption> options_of(OnlineMethod method);

}  // namespace metafuse::fusion::online
