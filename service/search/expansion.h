#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/search/search_request.h"
#include "templates/expander.h"

namespace metafuse::service {

/// The domain that a request names, among those that the key may use (nullptr: all); the default one for "".
///
/// errors: usage: no such domain; the error names similar ones
Result<const LoadedDomain*> named_domain(const Snapshot& snapshot, std::string_view name,
                                         const KeyConfig* key = nullptr);

/// The expanded queries of a request, in the order of the domain's features, variants last.
///
/// in:     domain - the one that the request names, or an edited form of it
/// errors: usage: no query, unknown or missing slots, a variant of an undeclared template, more than 16
///         variants or 64 expanded queries, or more or longer ones than `limits` allows
Result<std::vector<ExpandedQuery>> expand_request(const Snapshot& snapshot, const LoadedDomain& domain,
                                                  const SearchRequest& request,
                                                  const templates::ExpansionLimits& limits = {});

/// A search's name: the plain query, or the slots' values joined by spaces.
std::string query_text(const std::string& text, const BaseQuery& slots);

}  // namespace metafuse::service
