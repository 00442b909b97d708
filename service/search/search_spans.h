#pragma once

#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/base/traces.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// When the parts of a search began and ended.
struct SearchTimes {
  TimePoint began, expanded;  ///< from templates to expanded queries
  TimePoint asked, answered;  ///< from expanded queries to the fused answer
};

/// A search as child spans of its request's span: the expansion, each engine's list with its template and
/// outcome, and the fusion. They contain only names from our own files, never the text of a query.
///
/// in: traceparent - the request's; must be valid
std::vector<Span> search_spans(std::string_view traceparent, const SearchAnswer& answer, bool was_cached,
                               const SearchTimes& times);

}  // namespace metafuse::service
