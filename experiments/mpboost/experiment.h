#pragma once

#include <string>

#include "core/result.h"
#include "experiments/experiment.h"

namespace metafuse::experiments {

/// MPBoost with each directed distance against RankBoost (Zhu et al. 2009): NDCG@1..10 on OHSUMED's five
/// folds beside the published sheets (fig. 3), on a sample of MSLR-WEB10K in Web-2's place (fig. 5),
/// overfitting (fig. 6), and the distances themselves (fig. 2).
///
/// in: options.data - letor3-OHSUMED, letor3-baselines, mslr-web10k-sample; quick: one fold and 60 rounds;
/// full: 1000
///     rounds; else 300
Result<std::string> run_mpboost(const ExperimentOptions& options);

}  // namespace metafuse::experiments
