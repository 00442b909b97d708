#pragma once

#include "experiments/rankboost_plus/outcome.h"

namespace metafuse::experiments::rankboost_plus {

/// Fig. 2: losses and measures by round, averaged over the trainings, with what the paper says of them.
void convergence_figure(const Outcome& outcome, std::size_t rounds, PaperReport& report);

/// Fig. 4: where Rb-d's weight is undefined.
void halting_figure(const Outcome& outcome, PaperReport& report);

/// Fig. 1: milliseconds of each round of three forms on made data.
void speed_figure(const ExperimentOptions& options, PaperReport& report);

}  // namespace metafuse::experiments::rankboost_plus
