#pragma once

#include <string>

#include "core/json.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_requests.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

/// SearXNG's JSON as text, field for field, with one more field `fusion`.
std::string searxng_json(const Snapshot& snapshot, const SearchAnswer& answer, const ShownResults& shown,
                         const SearchParameters& parameters);

/// SearXNG's CSV; a value that a spreadsheet would take for a formula is preceded by an apostrophe.
std::string searxng_csv(const SearchAnswer& answer, const ShownResults& shown);

/// RSS 2.0 with OpenSearch elements; `self` is the URL of this answer.
std::string searxng_rss(const SearchAnswer& answer, const ShownResults& shown,
                        const SearchParameters& parameters, const std::string& self);

}  // namespace metafuse::service
