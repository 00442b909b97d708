#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "fetchers/model/fetched_list.h"
#include "fetchers/model/passage.h"

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
  /// out:    one entry per query, in the order of `queries`, as on_list gets it: the hits have their keys,
  ///         every page occurs once, and there are at most options.depth
  virtual std::vector<FetchedList> fetch(std::span<const ExpandedQuery> queries, const FetchOptions& options,
                                         const std::function<void(const FetchedList&)>& on_list) = 0;

  /// The passages of an engine's hits that answer a query best.
  ///
  /// in:     words - what was asked, in plain words
  /// out:    one per hit, with an empty text where no word occurs or the deadline passed; none at all from an
  ///         engine that does not keep its documents' texts
  virtual std::vector<Passage> passages(std::string_view /*engine*/, std::string_view /*words*/,
                                        std::span<const Hit* const> /*hits*/, const Deadline& /*deadline*/) {
    return {};
  }

  /// Opens an embedded index and reads what all its searches share, so that no search has to wait for that.
  /// Other engines have nothing to prepare.
  virtual void prepare(std::string_view /*engine*/) {}
};

}  // namespace metafuse::fetchers
