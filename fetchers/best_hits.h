#pragma once

#include "core/ranked_list.h"
#include "core/tracking_parameters.h"

namespace metafuse::fetchers {

/// Drops hits that no key can be made of, and all but the best rank of those that mean the same page.
///
/// in:  depth - hits that stay, at most
/// out: every hit has its key
void keep_best_of_each(RankedList& list, int depth, const TrackingParameters& tracking);

}  // namespace metafuse::fetchers
