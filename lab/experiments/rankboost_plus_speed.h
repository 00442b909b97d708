#pragma once

#include "lab/experiments/experiment.h"
#include "lab/experiments/report.h"

namespace metafuse::lab::experiments::rankboost_plus {

/// Adds fig. 1: milliseconds per round of both forms of RankBoost+ and of Rb-c, on synthetic data.
void speed_figure(const ExperimentOptions& options, PaperReport& report);

}  // namespace metafuse::lab::experiments::rankboost_plus
