#pragma once

#include <string>

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

  SearchRequest at_window(int windows) const;
  /// The name of an answer with so many windows: in the cache that processes share, and in this process's.
  std::string shared_key(int windows) const;
  std::string cache_key(int windows) const;
  /// Whether a variant skips the engine's syntax filter.
  bool has_raw() const;
};

/// Limits a request to what its key may search, takes over the headers that engines pass on, and expands it.
///
/// errors: 403 a domain or engines beyond the key's scope; those of expand_request() by their HTTP status
OrRefusal<SearchPlan> plan_search(const Exchange& exchange, SearchRequest request, const Clock& clock);

/// Whether equal requests of others get the same answer: not if the key is limited to some domains or
/// engines, nor if engines may answer each reader differently.
bool is_answer_shared(const Exchange& exchange);

}  // namespace metafuse::service
