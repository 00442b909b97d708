#pragma once

#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/feedback.h"
#include "fusion/learners/rankboost_plus/boost.h"
#include "fusion/learners/rankboost_plus/stump_table.h"

namespace metafuse::fusion::rankboost_plus {

/// A variant of RankBoost+ that never enumerates a pair: it descends on an upper bound of F2 instead of
/// on F2.
///
/// For a tied pair, the product of cosh in F2 is at most the product over all weak rankings. Hence
///   F1(eta) <= F2(eta) <= U(eta) = F1(eta) prod_s cosh(eta_s).
/// log U has the slope tanh(eta_s) - r_s, for which RankBoost's potentials suffice. With the bound of eq.
/// (18) for Z, the step along s that lowers the bound of U most is
///   alpha = 1/4 ln((1 + r) / (1 - r)) - eta_s / 2,
/// half of Rb-c's for a new weak ranking. U never rises, and R1 <= F1 <= U bounds the loss.
/// docs/learners/rankboost_plus.md derives all this.
///
/// in:     coded - the features from which the table was made
/// out:    rounds with delta = tanh(eta) - r, z = the factor by which U changed, bound = U, e1 = F1, and R2;
///         R1 and E2 are negative (not measured), since they would require the pairs
/// cost:   O(documents * features + general pairs) per round
BoostRun boost_pair_free(const StumpTable& stumps, const CodedFeatures& coded,
                         const rankboost::Feedback& feedback, const BoostOptions& options,
                         const RoundWatch& watch = {});

}  // namespace metafuse::fusion::rankboost_plus
