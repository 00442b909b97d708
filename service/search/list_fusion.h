#pragma once

#include <vector>

#include "fetchers/fetcher.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// Merges lists into the answer's fused ranking; the same function serves live, recorded and partial lists.
///
/// in:     lists - one a feature, failed ones empty; domain - whose model fuses, by RRF when it has none
/// out:    results in the order of fusion::order_instances
/// cost:   O(hits x features)
void fuse_lists(const LoadedDomain& domain, std::vector<fetchers::FetchedList> lists, SearchAnswer& answer);

/// How much each feature contributes to one result's score; empty when the ranker is not a sum over features.
std::vector<double> contributions_of(const LoadedDomain& domain, const SearchAnswer& answer,
                                     const FusedResult& result);

}  // namespace metafuse::service
