#pragma once

#include "experiments/experiment.h"

namespace metafuse::experiments::letor_agg {

/// Fusion on MQ2007-agg and MQ2008-agg over the five official folds: RankBoost, its bagged form and
/// monotone trees against RRF, CombMNZ, Borda and SearXNG's formula, and against another learner's runs if
/// options.peer_runs names them. One configuration of ours for both sets, each set's number of rounds, and
/// the peer's configuration are chosen on validation parts; then the test parts are read once.
///
/// errors: no_input naming the first missing part; those of the learners and of reading runs
Result<std::string> run_letor_agg(const ExperimentOptions& options);

}  // namespace metafuse::experiments::letor_agg
