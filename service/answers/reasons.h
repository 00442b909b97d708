#pragma once

#include <span>
#include <string>
#include <vector>

#include "service/search_pipeline.h"

namespace metafuse::service {

/// What one list had to say about one result.
struct Reason {
  std::string feature;  ///< "TEMPLATE@ENGINE", or a derived feature's name
  int rank = 0;         ///< 0 when the list does not hold the result
  double weight = 0;    ///< what it adds to the score
};

/// Every feature that ranked the result or adds to its score, heaviest first.
std::vector<Reason> reasons_of(const LoadedDomain& domain, const SearchAnswer& answer,
                               const FusedResult& result);

/// Engines whose lists hold the result, each once, in the order of the lists.
std::vector<std::string> engines_of(const SearchAnswer& answer, const FusedResult& result);

/// The results [first, first + limit) of an answer.
std::span<const FusedResult> window_of(const SearchAnswer& answer, std::size_t first, int limit);

/// "engine: why" of each failed list.
std::string failure_text(const fetchers::FetchedList& list);

/// A number for people: up to three decimals.
std::string short_number(double value);

}  // namespace metafuse::service
