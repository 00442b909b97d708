#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "service/store/store.h"

// Statistics of a domain's searches and their clicks, computed from the store. Searches that are not stored
// (DNT, GPC, older than the retention) are not counted. If queries are hashed, none is named.

namespace metafuse::service {

struct AnalyticsOptions {
  std::string domain;
  UnixTime now = 0;
  int days = 30;                      ///< today and the days before, 1 to kMaxAnalyticsDays
  std::size_t most_clicks = 100'000;  ///< the latest are read
};
inline constexpr int kMaxAnalyticsDays = 366;

/// The figures of one day (UTC).
struct DayFigures {
  std::int64_t day = 0;  ///< days since 1970
  std::uint64_t searches = 0;
  std::uint64_t empty = 0;  ///< searches without a result
  std::uint64_t clicks = 0;
};

struct QueryFigures {
  std::string query;  ///< digest
  std::string words;  ///< empty if they are not known
  std::uint64_t searches = 0;
  std::uint64_t empty = 0;
  std::uint64_t clicks = 0;
  std::uint64_t earlier = 0;  ///< searches in the first half of the period
  std::uint64_t later = 0;    ///< searches in the second half
};

struct PositionFigures {
  std::uint32_t position = 0;  ///< from 1
  std::uint64_t shown = 0;
  std::uint64_t clicks = 0;

  double click_rate() const {
    return shown > 0 ? static_cast<double>(clicks) / static_cast<double>(shown) : 0;
  }
};

struct EngineFigures {
  std::string engine;
  std::uint64_t lists = 0;
  std::uint64_t failed = 0;  ///< lists that failed
  double clicks = 0;         ///< each click is divided equally among the engines that had its document
};

struct Analytics {
  std::vector<DayFigures> days;                   ///< every day of the period, the earliest first
  std::vector<QueryFigures> top;                  ///< the most asked first
  std::vector<QueryFigures> rising;               ///< the clearest rise first
  std::vector<QueryFigures> empty;                ///< without a result, the most asked first
  std::vector<PositionFigures> positions;         ///< of searches since clicks_from
  std::vector<EngineFigures> engines;             ///< by name
  std::uint64_t engine_searches = 0;              ///< how many of the latest searches `engines` covers
  std::vector<std::int64_t> first_click_seconds;  ///< ascending; of searches that were shown once
  /// Clicks before this are not counted, because there are too many of them; 0 if all of the period are.
  UnixTime clicks_from = 0;

  std::uint64_t searches() const;
  std::uint64_t empty_searches() const;
  std::uint64_t clicks() const;
  /// The median of first_click_seconds.
  std::optional<std::int64_t> median_first_click() const;
};

inline constexpr std::size_t kMostQueries = 50;  ///< in each list of queries
inline constexpr std::size_t kMostPositions = 30;
inline constexpr std::size_t kMostEngineSearches = 2000;  ///< searches whose lists are read

/// errors: those of the store
/// cost:   one pass over an index of the domain's searches, kMostEngineSearches rows with their lists
Result<Analytics> analytics_of(Store& store, const AnalyticsOptions& options);

/// How clearly a query became more frequent: (later - earlier) / sqrt(later + earlier). That is the rise in
/// standard deviations if both counts were Poisson with equal means.
double rise_of(const QueryFigures& query);

JsonObject to_json(const Analytics& analytics);

/// The tables that analytics_csv() writes.
inline constexpr std::array<std::string_view, 7> kAnalyticsTables = {
    "days", "queries", "rising", "empty", "positions", "engines", "first-clicks"};

/// One table as CSV with a header line. A cell that a spreadsheet would take for a formula is preceded by an
/// apostrophe. Requires one of kAnalyticsTables.
std::string analytics_csv(const Analytics& analytics, std::string_view table);

}  // namespace metafuse::service
