#pragma once

#include <string>

#include "core/result.h"
#include "experiments/experiment.h"

namespace metafuse::experiments {

/// Training and test loss of RankBoost's four weak learners by round (Freund et al. 2003, fig. 4), four-fold,
/// on MQ2008-agg and, where options.data holds packages.txt, on the demonstration's recorded lists.
///
/// in: quick: one fold and 60 rounds; full: 1000 rounds; else 200
Result<std::string> run_weak_learners(const ExperimentOptions& options);

}  // namespace metafuse::experiments
