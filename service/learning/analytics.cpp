#include "service/learning/analytics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/contract.h"
#include "core/encoding.h"
#include "core/keyed_hash.h"
#include "service/base/dates.h"

namespace metafuse::service {
namespace {

constexpr double kClearRise = 2.0;  ///< standard deviations
constexpr std::uint64_t kFewestOfRising = 3;

std::string engine_of(std::string_view feature) {
  const std::size_t at = feature.rfind('@');
  return std::string(at == std::string_view::npos ? feature : feature.substr(at + 1));
}

/// Counts a domain's stored searches and clicks in one pass.
class Counter {
 public:
  Counter(Store& store, const AnalyticsOptions& options)
      : store_(store),
        options_(options),
        first_day_(day_of(options.now) - options.days + 1),
        half_((first_day_ * kSecondsPerDay + options.now) / 2) {
    for (std::int64_t day = first_day_; day <= day_of(options.now); ++day)
      out_.days.push_back({day, 0, 0, 0});
  }

  Result<Analytics> count() {
    const UnixTime from = first_day_ * kSecondsPerDay;
    TRY(const auto clicks, store_.clicks.latest(options_.domain, from, options_.most_clicks));
    if (clicks.size() == options_.most_clicks) out_.clicks_from = clicks.back().at + 1;
    for (const ClickFact& click : clicks)
      if (is_in_span(click.at)) take(click);
    TRY(const auto searches, store_.searches.facts(options_.domain, from));
    for (const SearchFact& fact : searches) take(fact);
    for (const auto& [search, seconds] : first_clicks_) out_.first_click_seconds.push_back(seconds);
    std::sort(out_.first_click_seconds.begin(), out_.first_click_seconds.end());
    count_positions();
    TRY_VOID(count_engines(from));
    TRY_VOID(choose_queries());
    return std::move(out_);
  }

 private:
  /// Whether every click of that time was read.
  bool is_in_span(UnixTime at) const { return at >= out_.clicks_from; }

  DayFigures* day_at(UnixTime at) {
    const std::int64_t index = day_of(at) - first_day_;
    if (index < 0 || index >= static_cast<std::int64_t>(out_.days.size())) return nullptr;
    return &out_.days[static_cast<std::size_t>(index)];
  }

  void take(const SearchFact& fact) {
    if (fact.times == 0) return;  // shown to a judge only
    QueryFigures& query = queries_[fact.query];
    query.searches += fact.times;
    (fact.at < half_ ? query.earlier : query.later) += fact.times;
    if (fact.results == 0) query.empty += fact.times;
    if (fact.results > 0 && is_in_span(fact.at)) shown_of_length_[fact.results] += fact.times;
    if (DayFigures* day = day_at(fact.at)) {
      day->searches += fact.times;
      if (fact.results == 0) day->empty += fact.times;
    }
  }

  void take(const ClickFact& click) {
    ++queries_[click.query].clicks;
    clicked_[std::string(stored_id(click.search))].push_back(click.position);
    if (DayFigures* day = day_at(click.at)) ++day->clicks;
    if (!is_in_span(click.shown_at)) return;
    if (click.position < kMostPositions) ++clicks_at_[click.position];
    if (click.times != 1 || click.at < click.shown_at) return;
    const auto [at, is_new] = first_clicks_.try_emplace(click.search, click.at - click.shown_at);
    at->second = std::min(at->second, click.at - click.shown_at);
  }

  /// Counts how often each position was shown: a search with n results showed the positions up to n.
  void count_positions() {
    for (std::uint32_t position = 1; position <= kMostPositions; ++position) {
      PositionFigures figures{position, 0, 0};
      for (const auto& [length, times] : shown_of_length_)
        if (length >= position) figures.shown += times;
      if (const auto at = clicks_at_.find(position - 1); at != clicks_at_.end()) figures.clicks = at->second;
      if (figures.shown > 0) out_.positions.push_back(figures);
    }
  }

  Result<void> count_engines(UnixTime from) {
    std::map<std::string, EngineFigures> engines;
    TRY(const auto searches, store_.searches.latest(options_.domain, from, kMostEngineSearches));
    for (const StoredSearch& search : searches) add_lists(search, engines);
    for (auto& [name, figures] : engines) {
      figures.engine = name;
      out_.engines.push_back(std::move(figures));
    }
    return {};
  }

  void add_lists(const StoredSearch& search, std::map<std::string, EngineFigures>& engines) {
    ++out_.engine_searches;
    for (const StoredList& list : search.lists) {
      EngineFigures& engine = engines[engine_of(list.feature)];
      ++engine.lists;
      engine.failed += list.has_failed ? 1 : 0;
    }
    const auto clicked = clicked_.find(search.id);
    if (clicked == clicked_.end()) return;
    for (const std::uint32_t position : clicked->second) {
      if (position >= search.shown.size()) continue;
      const std::uint32_t document = search.shown[position].document;
      std::set<std::string> holders;
      for (const StoredList& list : search.lists)
        if (std::find(list.documents.begin(), list.documents.end(), document) != list.documents.end())
          holders.insert(engine_of(list.feature));
      for (const std::string& holder : holders)
        engines[holder].clicks += 1.0 / static_cast<double>(holders.size());
    }
  }

  Result<void> choose_queries() {
    std::vector<QueryFigures> all;
    for (auto& [digest, figures] : queries_) {
      figures.query = digest;
      if (figures.searches > 0) all.push_back(figures);
    }
    TRY(out_.top, chosen(all, [](const QueryFigures& q) { return static_cast<double>(q.searches); }));
    TRY(out_.empty, chosen(all, [](const QueryFigures& q) { return static_cast<double>(q.empty); }));
    // nothing rises against a half without a search
    const bool has_earlier =
        std::any_of(all.begin(), all.end(), [](const QueryFigures& q) { return q.earlier > 0; });
    if (!has_earlier) return {};
    TRY(out_.rising, chosen(all, [](const QueryFigures& q) {
          return q.later >= kFewestOfRising && rise_of(q) >= kClearRise ? rise_of(q) : 0.0;
        }));
    return {};
  }

  /// The queries with the highest values above 0, with their words.
  template <class Value>
  Result<std::vector<QueryFigures>> chosen(std::vector<QueryFigures> queries, const Value& value) {
    std::erase_if(queries, [&](const QueryFigures& query) { return value(query) <= 0; });
    std::sort(queries.begin(), queries.end(), [&](const QueryFigures& a, const QueryFigures& b) {
      return value(a) != value(b) ? value(a) > value(b) : a.query < b.query;
    });
    if (queries.size() > kMostQueries) queries.resize(kMostQueries);
    for (QueryFigures& query : queries) {
      TRY(const auto asked, store_.searches.find_query(options_.domain, query.query));
      if (asked) query.words = words_of(asked->slots);
    }
    return queries;
  }

  Store& store_;
  const AnalyticsOptions& options_;
  const std::int64_t first_day_;
  const UnixTime half_;
  Analytics out_;
  TextMap<QueryFigures> queries_;
  std::map<std::int64_t, std::uint64_t> shown_of_length_;
  std::map<std::uint32_t, std::uint64_t> clicks_at_;  ///< by position from 0
  TextMap<std::vector<std::uint32_t>> clicked_;
  TextMap<std::int64_t> first_clicks_;
};

}  // namespace

std::uint64_t Analytics::searches() const {
  std::uint64_t sum = 0;
  for (const DayFigures& day : days) sum += day.searches;
  return sum;
}

std::uint64_t Analytics::empty_searches() const {
  std::uint64_t sum = 0;
  for (const DayFigures& day : days) sum += day.empty;
  return sum;
}

std::uint64_t Analytics::clicks() const {
  std::uint64_t sum = 0;
  for (const DayFigures& day : days) sum += day.clicks;
  return sum;
}

std::optional<std::int64_t> Analytics::median_first_click() const {
  if (first_click_seconds.empty()) return std::nullopt;
  return first_click_seconds[(first_click_seconds.size() - 1) / 2];
}

double rise_of(const QueryFigures& query) {
  const double both = static_cast<double>(query.later) + static_cast<double>(query.earlier);
  if (both <= 0) return 0;
  return (static_cast<double>(query.later) - static_cast<double>(query.earlier)) / std::sqrt(both);
}

Result<Analytics> analytics_of(Store& store, const AnalyticsOptions& options) {
  require(options.days >= 1 && options.days <= kMaxAnalyticsDays, "days within their bounds");
  return Counter(store, options).count();
}

namespace {

/// A table from which JSON and CSV are written.
struct AnalyticsTable {
  std::vector<std::string> names;
  std::vector<JsonArray> rows;
};

AnalyticsTable query_table(const std::vector<QueryFigures>& queries) {
  AnalyticsTable table{{"query", "searches", "without_results", "clicks", "first_half", "second_half"}, {}};
  for (const QueryFigures& query : queries)
    table.rows.push_back(JsonArray{query.words.empty() ? Json() : Json(query.words), query.searches,
                                   query.empty, query.clicks, query.earlier, query.later});
  return table;
}

AnalyticsTable table_named(const Analytics& analytics, std::string_view name) {
  if (name == "queries") return query_table(analytics.top);
  if (name == "rising") return query_table(analytics.rising);
  if (name == "empty") return query_table(analytics.empty);
  AnalyticsTable table;
  if (name == "days") {
    table.names = {"day", "searches", "without_results", "clicks"};
    for (const DayFigures& day : analytics.days)
      table.rows.push_back(JsonArray{iso_day(day.day * kSecondsPerDay), day.searches, day.empty, day.clicks});
  } else if (name == "positions") {
    table.names = {"position", "shown", "clicks", "click_rate"};
    for (const PositionFigures& at : analytics.positions)
      table.rows.push_back(JsonArray{at.position, at.shown, at.clicks, at.click_rate()});
  } else if (name == "engines") {
    table.names = {"engine", "lists", "failed", "clicks"};
    for (const EngineFigures& engine : analytics.engines)
      table.rows.push_back(JsonArray{engine.engine, engine.lists, engine.failed, engine.clicks});
  } else {
    require(name == "first-clicks", "a table of kAnalyticsTables");
    table.names = {"seconds"};
    for (const std::int64_t seconds : analytics.first_click_seconds) table.rows.push_back(JsonArray{seconds});
  }
  return table;
}

}  // namespace

JsonObject to_json(const Analytics& analytics) {
  JsonObject out{{"searches", analytics.searches()},
                 {"without_results", analytics.empty_searches()},
                 {"clicks", analytics.clicks()},
                 {"engine_searches", analytics.engine_searches}};
  const auto median = analytics.median_first_click();
  out["median_first_click_seconds"] = median ? Json(*median) : Json();
  out["clicks_from"] = analytics.clicks_from > 0 ? Json(utc_text(analytics.clicks_from)) : Json();
  for (const std::string_view name : kAnalyticsTables) {
    if (name == "first-clicks") continue;
    const AnalyticsTable table = table_named(analytics, name);
    JsonArray rows;
    for (const auto& cells : table.rows) {
      JsonObject row;
      for (std::size_t i = 0; i < cells.size(); ++i) row[table.names[i]] = cells[i];
      rows.push_back(std::move(row));
    }
    out[name] = std::move(rows);
  }
  return out;
}

std::string analytics_csv(const Analytics& analytics, std::string_view name) {
  const AnalyticsTable table = table_named(analytics, name);
  std::string out;
  const auto add = [&](const auto& cells, const auto& text_of) {
    for (std::size_t i = 0; i < cells.size(); ++i) out += (i > 0 ? "," : "") + csv_cell(text_of(cells[i]));
    out += "\r\n";
  };
  add(table.names, [](const std::string& text) { return text; });
  for (const auto& row : table.rows)
    add(row, [](const Json& cell) {
      if (cell.is_string()) return std::string(cell.get_string());
      return cell.is_null() ? std::string() : to_text(cell);
    });
  return out;
}

}  // namespace metafuse::service
