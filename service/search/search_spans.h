#pragma once

#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/base/traces.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// When the parts of a search were.
struct SearchTimes {
  TimePoint began, expanded;  ///< templates to expanded queries
  TimePoint asked, answered;  ///< expanded queries to the fused answer
};

/// A search as spans below its request's: the expansion, each engine's list with its template and what became
/// of it, the fusing. They hold names from our own files alone, never what was searched for.
///
/// in: traceparent - the request's, valid
std::vector<Span> search_spans(std::string_view traceparent, const SearchAnswer& answer, bool was_cached,
                               const SearchTimes& times);

}  // namespace metafuse::service
