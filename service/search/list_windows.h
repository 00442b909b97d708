#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fetchers/fetcher.h"
#include "fusion/data/features.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"

namespace metafuse::service {

// Pages beyond what the lists hold. A list counts to its domain's depth, as in training; a page that lies
// further down asks the engines for the next window of that depth. What a window brings stands below
// everything of the windows before it, so that a page never changes because a later one was asked for.

/// How many windows of a list one search follows.
inline constexpr int kMostWindows = 10;

/// Whether some list filled more than half of the last window, and another one may be asked for.
bool may_hold_more(const SearchAnswer& answer, int depth);

/// Whether a request looks for results past the lists' depth that the answer so far does not hold.
///
/// in: blocked - results of the answer that its reader does not want to see
bool wants_next_window(const LoadedDomain& domain, const SearchRequest& request, const SearchAnswer& answer,
                       std::size_t blocked);

/// The lists of the windows so far, continued. A list that failed in either is named as failed, and keeps
/// what it had.
std::vector<fetchers::FetchedList> joined_lists(const std::vector<fetchers::FetchedList>& so_far,
                                                std::vector<fetchers::FetchedList> next);

/// Removes the ranks that a document has below the window in which it is first seen: what it had when that
/// window was the last one.
///
/// out: the window of each document, from 0
std::vector<std::uint32_t> mask_later_windows(fusion::QueryInstances& instances, int depth);

/// Earlier windows first; stable.
void order_by_window(const std::vector<std::uint32_t>& windows, std::vector<std::uint32_t>& order);

}  // namespace metafuse::service
