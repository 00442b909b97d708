#pragma once

#include "experiments/experiment.h"

namespace metafuse::experiments {

/// Tables 1 and 2 and figures 2 and 3 of Harrington 2003: test losses with 95 % intervals, running losses.
/// errors: those of the data files
Result<std::string> run_online(const ExperimentOptions& options);

}  // namespace metafuse::experiments
