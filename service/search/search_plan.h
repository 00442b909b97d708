#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "service/http/exchange.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"

namespace metafuse::service {

/// A request to search, and everything that is computed from it once. `exchange` must outlive it.
struct SearchPlan {
  const Exchange& exchange;
  PreparedSearch prepared;
  /// Of everything that changes the lists of its first window; the same in every process.
  std::string digest;
  TimePoint began, expanded;

  /// The name of an answer with so many windows: in the cache that processes share, and in this process's.
  std::string shared_key(int windows) const;
  std::string cache_key(int windows) const;
};

/// Sets what engines are told about the client of a search: for whom it is, how many servers it has passed
/// through, and the client's headers that engines pass on.
void set_client(const Exchange& exchange, PreparedSearch& search);

/// Prepares a search of a domain for the client that asks for it: only of engines that its key may ask, and
/// with what engines are told about it.
///
/// in:     domain - of the exchange's snapshot, or an edited form of it
/// errors: 403 only engines beyond the key's scope; those of expand_request() by their HTTP status
OrRefusal<PreparedSearch> prepare_for_client(const Exchange& exchange, const LoadedDomain& domain,
                                             SearchRequest request, const Clock& clock);

/// As named_domain().
///
/// errors: 403 a domain that the key may not use; those of named_domain() by their HTTP status
OrRefusal<const LoadedDomain*> domain_for(const Snapshot& snapshot, std::string_view name,
                                          const KeyConfig* key);

/// How many requests to engines a search costs at first, for its expanded queries and its rerankers.
std::size_t first_requests(const PreparedSearch& search);

/// As prepare_for_client(), in the domain that the request names.
///
/// errors: 403 a domain or engines beyond the key's scope; those of expand_request() by their HTTP status
OrRefusal<SearchPlan> plan_search(const Exchange& exchange, SearchRequest request, const Clock& clock);

/// Whether equal requests of others get the same answer: not if the key is limited to some domains or
/// engines, nor if engines may answer each reader differently.
bool is_answer_shared(const Exchange& exchange);

}  // namespace metafuse::service
