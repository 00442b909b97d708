#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"

namespace metafuse::fetchers {

/// Why a list is absent; the names are what answers and metrics print.
enum class Failure {
  none,
  timeout,
  refused,       ///< no connection
  tls,           ///< certificate or handshake
  http_status,   ///< an answer other than 2xx
  rate_limited,  ///< 429, or our own limit for the host
  captcha,       ///< a page that asks for a human
  bad_answer,    ///< the answer does not parse or holds nothing the definition looks for
  too_large,
  not_allowed,     ///< an address the engine may not reach
  query_too_long,  ///< longer than the engine takes: not sent
  breaker_open,    ///< the engine failed too often and is left alone for a while
  not_recorded,    ///< a replay has no such request
};

std::string_view name_of(Failure failure);

/// What became of one expanded query.
struct FetchedList {
  ExpandedQuery query;
  RankedList list;  ///< empty when it failed
  Failure failure = Failure::none;
  std::string message;  ///< for people: what happened and where
  Duration elapsed{};

  bool has_failed() const { return failure != Failure::none; }
};

struct FetchOptions {
  int depth = 30;     ///< results wanted of each list; engines with smaller pages are asked for more pages
  Deadline deadline;  ///< for the whole base query
  int page = 1;       ///< SearXNG's pageno: which window of `depth` results
  std::string language{};    ///< BCP 47, empty for the engine's default
  std::string time_range{};  ///< day, week, month, year or empty
  int safe_search = 0;       ///< 0, 1, 2
  int hops = 0;              ///< meta-search servers that the query came through (X-Metafuse-Hops)
  /// Headers of whoever searches, for engines whose definition passes them on.
  std::vector<std::pair<std::string, std::string>> forwarded{};
};

/// Sends expanded queries to engines. Real implementations: HTTP by libcurl with the embedded engine,
/// and replay.
class Fetcher {
 public:
  virtual ~Fetcher() = default;

  /// Blocks until every list is in, has failed, or the deadline passed; never fails as a whole.
  ///
  /// in:  on_list - called for each list as it arrives, from any thread, one call at a time; may be empty
  /// out: one entry per query, in the order of `queries`
  virtual std::vector<FetchedList> fetch(std::span<const ExpandedQuery> queries, const FetchOptions& options,
                                         const std::function<void(const FetchedList&)>& on_list) = 0;
};

}  // namespace metafuse::fetchers
