#pragma once

#include <cstddef>

#include "core/deadline.h"
#include "service/search/search_answer.h"
#include "service/search/search_pipeline.h"

namespace metafuse::service {

/// The second stage of a search: the first results of its fused lists, ordered by the domain's rerankers.
/// Each order is one more list, so the model learns what it is worth. A reranker that fails or comes too late
/// leaves its list absent, and the answer names it; the order then is that of the first stage.

/// How many rerankers a request asks.
std::size_t rerankers_asked(const templates::Domain& domain, const SearchRequest& request);

/// Asks the rerankers within what is left of the search's time, and fuses their lists with the others.
///
/// in: answer - of the first stage
void add_second_stage(const PreparedSearch& search, const Clock& clock, SearchAnswer& answer);

}  // namespace metafuse::service
