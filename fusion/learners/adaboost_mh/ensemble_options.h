#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/pool.h"
#include "fusion/training/registry.h"

namespace metafuse::fusion::adaboost_mh {

/// The options of calibrated-adaboost.
struct EnsembleOptions {
  std::vector<BaseSetting> settings;
  std::vector<std::size_t> round_counts;
  std::vector<std::string> others;
  PoolPart part = PoolPart::all;
  double calibration_share = 0.2;
  std::size_t max_thresholds = 255;
  CalibrationOptions calibration;
};

/// Their rows for --help.
std::vector<LearnerOption> ensemble_option_rows();

/// errors: usage, naming the option
Result<EnsembleOptions> read_ensemble_options(const TrainingRequest& request);

}  // namespace metafuse::fusion::adaboost_mh
