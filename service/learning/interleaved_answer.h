#pragma once

#include <cstdint>
#include <string_view>

#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// Whether a search is one of the interleaved ones, and with which coins: decided by its key and the hour, so
/// that the pages of one search fit together.
std::uint64_t interleaving_seed(std::string_view key, UnixTime now);

/// The answer with its results drafted from the champion's order and the challenger's.
///
/// in:     domain - with a challenger; answer - the champion's
SearchAnswer interleaved_answer(const LoadedDomain& domain, const SearchAnswer& answer, std::uint64_t seed);

}  // namespace metafuse::service
