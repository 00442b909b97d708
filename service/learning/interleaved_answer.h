#pragma once

#include <cstdint>
#include <string_view>

#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// The seed that decides whether a search is interleaved and how its coins fall. It depends only on the
/// search's key and the hour, so that the pages of one search fit together.
std::uint64_t interleaving_seed(std::string_view key, UnixTime now);

/// The answer with its results drafted from the champion's and the challenger's orders.
///
/// in: domain - has a challenger; answer - in the champion's order
SearchAnswer interleaved_answer(const LoadedDomain& domain, const SearchAnswer& answer, std::uint64_t seed);

}  // namespace metafuse::service
