#pragma once

#include <string>

#include "core/result.h"
#include "experiments/experiment.h"

namespace metafuse::experiments::rankboost_plus {

/// Rb-d, Rb-c and RankBoost+ (Connamacher et al. 2020): average ranks on users of MovieLens and queries of
/// MSLR (tables 1 and 3, fig. 3), on MQ2008's folds (tables 2 and 4), convergence (fig. 2), halting of Rb-d
/// (fig. 4), speed of both forms of RankBoost+ (fig. 1).
///
/// in: options.data - movielens-100k, mslr-web10k-sample, letor4-MQ2008; quick: 10 users, 4 queries, 1 fold,
/// 40 rounds;
///     full: all users, 200 rounds; else all users, 100 rounds
Result<std::string> run_rankboost_plus(const ExperimentOptions& options);

}  // namespace metafuse::experiments::rankboost_plus
