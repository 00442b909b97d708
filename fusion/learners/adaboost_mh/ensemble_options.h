#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/learners/adaboost_mh/pool.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::adaboost_mh {

/// The options of calibrated-adaboost.
struct EnsembleOptions {
  std::vector<BaseSetting> settings;
  std::vector<std::size_t> round_counts;
  std::vector<const Learner*> others;  ///< members beside AdaBoost.MH
  PoolPart part = PoolPart::all;
  double calibration_share = 0.2;
  std::size_t max_thresholds = 255;
  CalibrationOptions calibration;
};

/// Their rows for --help.
std::vector<LearnerOption> ensemble_option_rows();

/// The learner of that name; nullptr when there is none.
const Learner* find_other(std::span<const Learner> others, std::string_view name);

/// in:     others - the learners that may be members
/// errors: usage, naming the option
Result<EnsembleOptions> read_ensemble_options(const TrainingRequest& request,
                                              std::span<const Learner> others);

}  // namespace metafuse::fusion::adaboost_mh
