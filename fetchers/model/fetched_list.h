#pragma once

// What is asked of an engine, and what came of it.

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"

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
  blocked,       ///< a page without results that the engine sends to programs
  bad_answer,    ///< the answer cannot be parsed, or has nothing where the definition looks
  too_large,
  not_allowed,     ///< a forbidden address, an undefined or disabled engine, a federation loop
  query_too_long,  ///< longer than the engine's limit; not sent
  breaker_open,    ///< the engine failed too often and is left alone for a while
  not_recorded,    ///< the recording does not contain this request, or could not take its answer
  broken,          ///< no results, and the engine's answers have not been as they should for a while
};

constexpr std::string_view name_of(Failure failure) {
  constexpr std::string_view kNames[] = {// in the order of Failure
                                         "none",         "timeout",      "refused",     "tls",
                                         "http_status",  "rate_limited", "captcha",     "blocked",
                                         "bad_answer",   "too_large",    "not_allowed", "query_too_long",
                                         "breaker_open", "not_recorded", "broken"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Failure::broken) + 1);
  return kNames[static_cast<std::size_t>(failure)];
}

/// Whether our own limits kept a request back, so that no server has seen it.
constexpr bool is_kept_back(Failure failure, int status) {
  return failure == Failure::not_allowed || (failure == Failure::rate_limited && status == 0);
}

/// Who is to blame for a failure. The breaker counts only failures of the engine, never those caused by a
/// query or by our own limits. Otherwise one user could take an engine away from everybody.
enum class Blame {
  nobody,  ///< an answer, or a failure that says nothing about the engine's health
  engine,  ///< no connection, no answer within the engine's own time-out, 5xx, 429
};

/// Whether another instance of the engine was asked too because the answer was late.
enum class Hedge {
  none,
  lost,  ///< and did not answer first
  won,
};

/// The outcome of one expanded query.
struct FetchedList {
  ExpandedQuery query;
  RankedList list;  ///< empty on failure
  Failure failure = Failure::none;
  std::string message;  ///< what happened and where, for people
  Duration elapsed{};
  Blame blame = Blame::nobody;
  std::optional<Duration> retry_after{};  ///< how long the engine asks to be left alone
  int status = 0;                         ///< of HTTP, if that is the failure
  Hedge hedge = Hedge::none;
  int requests = 0;            ///< sent for it over HTTP while it was waited for; none by a replay
  bool lacks_pages = false;    ///< not all of its pages arrived in time
  bool is_left_early = false;  ///< it took longer than usual, but not longer than the engine may take
  /// How many of the hits came with each window of results, if several were asked for; else empty.
  std::vector<std::size_t> in_window{};

  bool has_failed() const { return failure != Failure::none; }
};

struct FetchOptions {
  int depth = 30;            ///< results wanted per list; engines with smaller pages are asked for several
  Deadline deadline;         ///< for the base query as a whole
  int page = 1;              ///< as SearXNG's pageno: which window of `depth` results, from 1
  std::string language{};    ///< BCP 47; empty: the engine's default
  std::string time_range{};  ///< day, week, month or year; empty: any time
  int safe_search = 0;       ///< 0, 1, 2
  /// Who asks: a key, the prefix of an address. What is learned about engines from one sender's queries does
  /// not decide how others are served.
  std::string sender{};
  int hops = 0;  ///< meta-search servers that the query has passed through (X-Metafuse-Hops)
  /// Headers of the searching client, for engines whose definition forwards them.
  std::vector<std::pair<std::string, std::string>> forwarded{};
  /// What engines of the type rerank order, best first so far; nullptr for a search.
  std::shared_ptr<const std::vector<Hit>> documents{};
};

}  // namespace metafuse::fetchers
