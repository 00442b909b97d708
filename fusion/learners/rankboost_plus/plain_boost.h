#pragma once

#include "fusion/learners/rankboost_plus/boost.h"

namespace metafuse::fusion::rankboost_plus {

/// Rb-d and Rb-c: alpha by eq. (14) or (19). In and out as boost_stumps, of which it is the part for those
/// forms.
BoostRun boost_plain(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
                     const RoundWatch& watch);

}  // namespace metafuse::fusion::rankboost_plus
