#pragma once

#include <string>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/search/search_request.h"
#include "templates/expander.h"

namespace metafuse::service {

/// The expanded queries of a request, in the order of the domain's features, variants last.
///
/// errors: usage: no such domain, no query, unknown or missing slots, a variant of an undeclared template,
///         more than 16 variants or 64 expanded queries, more or longer ones than the limits allow
Result<std::vector<ExpandedQuery>> expand_request(const Snapshot& snapshot, const SearchRequest& request,
                                                  const templates::ExpansionLimits& limits = {});

/// What a search is called: the plain query, or the slots' values joined by spaces.
std::string query_text(const SearchRequest& request);

}  // namespace metafuse::service
