#pragma once

#include <vector>

#include "fusion/learners/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::rankboost_plus {

/// The ranking losses of a scoring function (Connamacher et al. 2020, eqs. (3) - (5)), pairs weighted by D_1.
struct RankLosses {
  double r1 = 0.0;  ///< a tie costs 1
  double r2 = 0.0;  ///< a tie costs 1/2; Freund et al. 2003, eq. (21)
  double e1 = 0.0;  ///< mean of exp(-(H(above) - H(below))); the largest double where it would overflow
};

/// in:   scores - one a document
/// cost: O(pairs); e1 alone is O(rows)
RankLosses rank_losses(const PairRows& pairs, const std::vector<double>& scores, unsigned threads = 1);

}  // namespace metafuse::fusion::rankboost_plus
