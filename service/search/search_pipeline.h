#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"
#include "templates/expander.h"

namespace metafuse::service {

/// The domain that a request names, among those that the key may use (nullptr: all); the default one for "".
///
/// errors: usage: no such domain; the error names similar ones
Result<const LoadedDomain*> named_domain(const Snapshot& snapshot, std::string_view name,
                                         const KeyConfig* key = nullptr);

/// The expanded queries of a request, in the order of the domain's features; then variants, and the further
/// queries and synonyms as far as all of their lists are among the first 64.
///
/// in:     domain - the one that the request names, or an edited form of it
/// errors: usage: no query, unknown or missing slots, a variant of an undeclared template, more than 16
///         variants, more than 64 expanded queries without the further ones in a domain without `select`, or
///         more or longer ones than `limits` allows
Result<std::vector<ExpandedQuery>> expand_request(const Snapshot& snapshot, const LoadedDomain& domain,
                                                  const SearchRequest& request,
                                                  const templates::ExpansionLimits& limits = {});

/// A search's name: the plain query, or the slots' values joined by spaces.
std::string query_text(const std::string& text, const BaseQuery& slots);

/// Called with the fused answer of the lists that have arrived so far.
using PartialAnswer =
    std::function<void(const SearchAnswer& so_far, std::size_t arrived, std::size_t wanted)>;

/// A request whose expanded queries are ready to be sent. The objects that it refers to must outlive it.
struct PreparedSearch {
  const Snapshot& snapshot;
  const LoadedDomain& domain;  ///< of the snapshot, or an edited form of it
  SearchRequest request;
  std::vector<ExpandedQuery> queries;
  TimePoint end;         ///< deadline for all windows together: the request's, else the configuration's
  std::string sender{};  ///< Exchange::sender(); empty for what the program itself searches
  std::vector<std::vector<ExpandedQuery>> rounds{};  ///< sent one after another until the top is settled
  std::vector<ExpandedQuery> never{};                ///< more than one search may send
};

/// errors: those of expand_request()
Result<PreparedSearch> prepare_search(const Snapshot& snapshot, const LoadedDomain& domain,
                                      SearchRequest request, const Clock& clock);

/// Expands, fetches and fuses. `metafuse search` and every dialect of the server use it.
///
/// in:     on_partial - called after each list once half of them have arrived; may be empty
/// errors: those of named_domain() and expand_request(); engines that fail are named in the answer instead
Result<SearchAnswer> search(const Snapshot& snapshot, const SearchRequest& request, const Clock& clock,
                            const PartialAnswer& on_partial = {});

/// As search(), for a prepared request.
SearchAnswer search_prepared(const PreparedSearch& search, const Clock& clock,
                             const PartialAnswer& on_partial = {});

/// The answer with one more window than `so_far` has.
SearchAnswer search_further(const PreparedSearch& search, const Clock& clock, const SearchAnswer& so_far);

}  // namespace metafuse::service
