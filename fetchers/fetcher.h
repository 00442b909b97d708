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

/// Why a list is missing. Answers and metrics print these names.
enum class Failure {
  none,
  timeout,
  refused,       ///< no connection
  tls,           ///< certificate or handshake
  http_status,   ///< a status other than 2xx
  rate_limited,  ///< 429, or our own limit for the host
  captcha,       ///< a page that demands proof of a human visitor
  bad_answer,    ///< the answer cannot be parsed, or has nothing where the definition looks
  too_large,
  not_allowed,     ///< a forbidden address, an undefined or disabled engine, a federation loop
  query_too_long,  ///< longer than the engine's limit; not sent
  breaker_open,    ///< the engine failed too often and is left alone for a while
  not_recorded,    ///< the recording does not contain this request
};

std::string_view name_of(Failure failure);

/// The outcome of one expanded query.
struct FetchedList {
  ExpandedQuery query;
  RankedList list;  ///< empty on failure
  Failure failure = Failure::none;
  std::string message;  ///< what happened and where, for people
  Duration elapsed{};

  bool has_failed() const { return failure != Failure::none; }
};

struct FetchOptions {
  int depth = 30;            ///< results wanted per list; engines with smaller pages are asked for several
  Deadline deadline;         ///< for the base query as a whole
  int page = 1;              ///< as SearXNG's pageno: which window of `depth` results, from 1
  std::string language{};    ///< BCP 47; empty: the engine's default
  std::string time_range{};  ///< day, week, month or year; empty: any time
  int safe_search = 0;       ///< 0, 1, 2
  int hops = 0;              ///< meta-search servers that the query has passed through (X-Metafuse-Hops)
  /// Headers of the searching client, for engines whose definition forwards them.
  std::vector<std::pair<std::string, std::string>> forwarded{};
};

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
