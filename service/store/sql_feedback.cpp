#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "service/store/sql_rows.h"
#include "service/store/sql_store.h"

// SqlStore's functions for feedback on results: clicks, judgments, and which model won interleaved searches.

namespace metafuse::service {
namespace {

/// How much weight a cap still allows after the day's earlier clicks.
Result<double> left_of(SqlSession& session, std::string_view column, std::int64_t day, std::string_view who,
                       double cap) {
  double used = 0;
  TRY_VOID(session.run(
      fmt::format("SELECT coalesce(sum(weight), 0.0) FROM clicks WHERE day = $1 AND {} = $2", column),
      {day, who}, into(used)));
  return std::max(0.0, cap - used);
}

Result<double> capped_weight(SqlSession& session, const Click& click, const ClickCaps& caps) {
  const std::int64_t day = day_of(click.at);
  TRY(const double by_prefix, left_of(session, "prefix", day, click.prefix, caps.per_prefix));
  const double weight = std::min(click.weight, by_prefix);
  if (click.key.empty()) return weight;
  TRY(const double by_key, left_of(session, "api_key", day, click.key, caps.per_key));
  return std::min(weight, by_key);
}

}  // namespace

Result<ClickOutcome> SqlStore::add_click(const Click& click, const ClickCaps& caps, TimePoint end) {
  ClickOutcome outcome = ClickOutcome::recorded;
  const auto change = [&](SqlSession& session) -> Result<void> {
    // The sums that the caps use must not change before this click is added to them.
    TRY_VOID(session.lock("clicks"));
    TRY(const auto before, count_rows(session, "SELECT 1 FROM clicks WHERE search = $1 AND position = $2",
                                      {click.search, std::int64_t{click.position}}));
    outcome = before > 0 ? ClickOutcome::duplicate : ClickOutcome::capped;
    if (before > 0) return {};
    TRY(const double weight, capped_weight(session, click, caps));
    if (weight <= 0) return {};
    outcome = ClickOutcome::recorded;
    return session.run(
        "INSERT INTO clicks (search, position, domain, team, at, day, prefix, api_key, weight) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        {click.search, std::int64_t{click.position}, click.domain, static_cast<std::int64_t>(click.team),
         click.at, day_of(click.at), click.prefix, click.key, weight});
  };
  TRY_VOID(database_->write(change, {Patience::request, end}));
  return outcome;
}

Result<std::vector<Click>> SqlStore::clicks_of(std::string_view search) {
  const std::string sql =
      fmt::format("SELECT {} FROM clicks WHERE search = $1 ORDER BY position", kClickColumns);
  return read_rows<Click>(*database_, sql, {search}, read_click_row, Patience::request);
}

Result<std::vector<std::string>> SqlStore::clicked_searches(std::string_view domain, std::size_t limit) {
  return read_rows<std::string>(
      *database_,
      "SELECT search, max(at) AS latest FROM clicks WHERE domain = $1 GROUP BY search "
      "ORDER BY latest DESC, search LIMIT $2",
      {domain, static_cast<std::int64_t>(limit)}, [](SqlRow row) { return text_of(row[0]); });
}

Result<std::vector<BaseQuery>> SqlStore::popular_queries(std::string_view domain, std::size_t people,
                                                         std::size_t limit) {
  TRY(const auto texts,
      read_rows<std::string>(
          *database_,
          "SELECT min(slots) AS text, max(clients) AS most FROM "
          "(SELECT s.query AS query, min(s.slots) AS slots, count(DISTINCT c.prefix) AS clients "
          "FROM clicks c JOIN searches s ON s.id = substr(c.search, 1, 32) "
          "WHERE c.domain = $1 GROUP BY s.query, c.day HAVING count(DISTINCT c.prefix) >= $2) AS days "
          "GROUP BY query ORDER BY most DESC, text LIMIT $3",
          {domain, static_cast<std::int64_t>(people), static_cast<std::int64_t>(limit)},
          [](SqlRow row) { return text_of(row[0]); }));
  std::vector<BaseQuery> queries;
  for (const std::string& text : texts)
    if (auto slots = read_slots_text(text); slots && !slots->slots.empty())
      queries.push_back(std::move(*slots));
  return queries;
}

Result<void> SqlStore::set_judgments(std::span<const StoredJudgment> judgments, TimePoint end) {
  return database_->write(
      [&](SqlSession& session) -> Result<void> {
        for (const StoredJudgment& judgment : judgments) TRY_VOID(write_judgment(session, judgment));
        return {};
      },
      {Patience::request, end});
}

Result<std::vector<JudgedQuery>> SqlStore::judged_queries(std::string_view domain) {
  const std::string sql = fmt::format(
      "SELECT {} FROM judgments WHERE domain = $1 ORDER BY query, document, judge", kJudgmentColumns);
  TRY(auto judgments, read_rows<StoredJudgment>(*database_, sql, {domain}, read_judgment_row));
  std::vector<JudgedQuery> queries;
  UnixTime latest = 0;
  for (StoredJudgment& judgment : judgments) {
    if (queries.empty() || queries.back().query != judgment.query) {
      queries.push_back({judgment.query, judgment.search, {}});
      latest = judgment.at;
    }
    if (judgment.at > latest) {
      latest = judgment.at;
      queries.back().search = judgment.search;
    }
    queries.back().judgments.push_back(std::move(judgment));
  }
  return queries;
}

Result<InterleavingCounts> SqlStore::interleaving_counts(std::string_view domain, std::string_view champion,
                                                         std::string_view challenger) {
  InterleavingCounts counts;
  TRY_VOID(database_->read(
      [&](SqlSession& session) {
        counts = {};
        return session.run(
            "SELECT sum(CASE WHEN c.team = 1 THEN c.weight ELSE 0.0 END), "
            "sum(CASE WHEN c.team = 2 THEN c.weight ELSE 0.0 END) FROM clicks c JOIN searches s "
            "ON s.id = substr(c.search, 1, 32) "
            "WHERE s.domain = $1 AND s.model = $2 AND s.challenger = $3 GROUP BY c.search",
            {domain, champion, challenger}, [&](SqlRow row) -> Result<void> {
              const double a = number_of(row[0]);
              const double b = number_of(row[1]);
              ++(a > b ? counts.champion : b > a ? counts.challenger : counts.ties);
              return {};
            });
      },
      Patience::request));
  return counts;
}

}  // namespace metafuse::service
