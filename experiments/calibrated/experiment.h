#pragma once

#include "experiments/experiment.h"

namespace metafuse::experiments::calibrated {

/// Table 2, figure 2 and section 7.2 of Busa-Fekete et al. 2011.
///
/// in: quick: six settings, at most 100 rounds, 200 points a Gaussian process; normal: all settings, up to
/// 1,000 rounds while
///     validation gains; full: up to 10,000 rounds without stopping
/// errors: those of the data files
Result<std::string> run_calibrated(const ExperimentOptions& options);

}  // namespace metafuse::experiments::calibrated
