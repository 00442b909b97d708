#pragma once

#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/feedback.h"
#include "fusion/learners/rankboost_plus/boost.h"
#include "fusion/learners/rankboost_plus/stump_table.h"

namespace metafuse::fusion::rankboost_plus {

/// A RankBoost+ that never enumerates a pair: instead of F2 it descends on an upper bound of it.
///
/// A tied pair's product of cosh in F2 is at most the product over all weak rankings, so
///   F1(eta) <= F2(eta) <= U(eta) = F1(eta) prod_s cosh(eta_s),
/// and log U has the slope tanh(eta_s) - r_s, which asks for no more than RankBoost's potentials. With the
/// bound of eq. (18) for Z, the step along s that lowers the bound of U most is
///   alpha = 1/4 ln((1 + r) / (1 - r)) - eta_s / 2,
/// half of Rb-c's for a new weak ranking. U never rises, and R1 <= F1 <= U bounds the loss.
/// docs/learners/rankboost_plus.md derives it.
///
/// in:     coded - the features that the table was made of
/// out:    rounds with delta = tanh(eta) - r, z = the factor by which U changed, bound = U, e1 = F1, and R2;
///         R1 and E2 are not measured (negative), since they would take the pairs
/// cost:   O(documents * features + general pairs) per round
BoostRun boost_pair_free(const StumpTable& stumps, const CodedFeatures& coded,
                         const rankboost::Feedback& feedback, const BoostOptions& options,
                         const RoundWatch& watch = {});

}  // namespace metafuse::fusion::rankboost_plus
