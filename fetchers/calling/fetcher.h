#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/query.h"
#include "fetchers/model/fetched_list.h"

namespace metafuse::fetchers {

/// Sends expanded queries to engines. The implementation (make_fetcher()) asks HTTP engines through libcurl
/// and embedded engines in the process, or replays a recording.
class Fetcher {
 public:
  virtual ~Fetcher() = default;

  /// Blocks until every list has arrived or failed, or the deadline has passed. Never fails as a whole.
  ///
  /// in:     on_list - called for each list as it arrives, from any thread, but one call at a time; may
  ///         be empty
  /// out:    one entry per query, in the order of `queries`
  virtual std::vector<FetchedList> fetch(std::span<const ExpandedQuery> queries, const FetchOptions& options,
                                         const std::function<void(const FetchedList&)>& on_list) = 0;
};

}  // namespace metafuse::fetchers
