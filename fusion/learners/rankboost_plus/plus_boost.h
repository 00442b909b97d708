#pragma once

#include "fusion/learners/rankboost_plus/boost.h"

namespace metafuse::fusion::rankboost_plus {

/// RankBoost+, efficient or optimal. In and out as boost_stumps, of which it is the part for those forms.
BoostRun boost_plus(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
                    const RoundWatch& watch);

}  // namespace metafuse::fusion::rankboost_plus
