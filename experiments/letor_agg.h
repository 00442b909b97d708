#pragma once

#include "experiments/experiment.h"

namespace metafuse::experiments {

/// Fusion on MQ2007-agg and MQ2008-agg over the five official folds: RankBoost and its bagged form against
/// RRF, CombMNZ, Borda and SearXNG's formula. The configuration, one for both sets, and each fold's number of
/// rounds are chosen on validation parts; then the test parts are read once.
///
/// errors: no_input naming the first missing part; those of the learners
Result<std::string> run_letor_agg(const ExperimentOptions& options);

}  // namespace metafuse::experiments
