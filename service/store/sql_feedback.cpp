#include "service/store/sql_feedback.h"

#include <algorithm>
#include <utility>

#include "service/store/sql_rows.h"

namespace metafuse::service::sql {
namespace {

/// What a cap leaves of a click's weight after what the day already holds.
Result<double> left_of(SqlSession& session, std::string_view sql, std::int64_t day, std::string_view who,
                       double cap) {
  double used = 0;
  if (auto run = session.run(sql, {day, who}, into(used)); run.has_error()) return run.error();
  return std::max(0.0, cap - used);
}

Result<double> capped_weight(SqlSession& session, const Click& click, const ClickCaps& caps) {
  const std::int64_t day = day_of(click.at);
  auto by_prefix =
      left_of(session, "SELECT coalesce(sum(weight), 0.0) FROM clicks WHERE day = $1 AND prefix = $2", day,
              click.prefix, caps.per_prefix);
  if (by_prefix.has_error()) return by_prefix;
  const double weight = std::min(click.weight, *by_prefix);
  if (click.key.empty()) return weight;
  auto by_key =
      left_of(session, "SELECT coalesce(sum(weight), 0.0) FROM clicks WHERE day = $1 AND api_key = $2", day,
              click.key, caps.per_key);
  if (by_key.has_error()) return by_key;
  return std::min(weight, *by_key);
}

}  // namespace

Result<ClickOutcome> add_click(SqlDatabase& database, const Click& click, const ClickCaps& caps) {
  ClickOutcome outcome = ClickOutcome::recorded;
  auto written = database.write([&](SqlSession& session) -> Result<void> {
    // The sums that the caps look at must not change before this click is among them.
    if (auto locked = session.lock("clicks"); locked.has_error()) return locked;
    auto before = count_rows(session, "SELECT 1 FROM clicks WHERE search = $1 AND position = $2",
                             {click.search, std::int64_t{click.position}});
    if (before.has_error()) return before.error();
    outcome = *before > 0 ? ClickOutcome::duplicate : ClickOutcome::capped;
    if (*before > 0) return {};
    auto weight = capped_weight(session, click, caps);
    if (weight.has_error()) return weight.error();
    if (*weight <= 0) return {};
    outcome = ClickOutcome::recorded;
    return session.run(
        "INSERT INTO clicks (search, position, domain, team, at, day, prefix, api_key, weight) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        {click.search, std::int64_t{click.position}, click.domain, static_cast<std::int64_t>(click.team),
         click.at, day_of(click.at), click.prefix, click.key, *weight});
  });
  if (written.has_error()) return written.error();
  return outcome;
}

Result<std::vector<Click>> clicks_of(SqlDatabase& database, std::string_view search) {
  std::vector<Click> clicks;
  auto read = database.read([&](SqlSession& session) {
    return session.run(
        "SELECT " + std::string(kClickColumns) + " FROM clicks WHERE search = $1 ORDER BY position", {search},
        [&](SqlRow row) -> Result<void> {
          clicks.push_back(read_click_row(row));
          return {};
        });
  });
  if (read.has_error()) return read.error();
  return clicks;
}

Result<std::vector<std::string>> clicked_searches(SqlDatabase& database, std::string_view domain,
                                                  std::size_t limit) {
  std::vector<std::string> ids;
  auto read = database.read([&](SqlSession& session) {
    return session.run(
        "SELECT search, max(at) AS latest FROM clicks WHERE domain = $1 GROUP BY search "
        "ORDER BY latest DESC, search LIMIT $2",
        {domain, static_cast<std::int64_t>(limit)}, [&](SqlRow row) -> Result<void> {
          ids.push_back(text_of(row[0]));
          return {};
        });
  });
  if (read.has_error()) return read.error();
  return ids;
}

Result<void> set_judgment(SqlDatabase& database, const StoredJudgment& judgment) {
  return database.write([&](SqlSession& session) {
    return session.run(
        "INSERT INTO judgments (domain, query, document, judge, grade, search, at) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (domain, query, document, judge) "
        "DO UPDATE SET grade = excluded.grade, search = excluded.search, at = excluded.at",
        {judgment.domain, judgment.query, judgment.document, judgment.judge, std::int64_t{judgment.grade},
         judgment.search, judgment.at});
  });
}

Result<std::vector<JudgedQuery>> judged_queries(SqlDatabase& database, std::string_view domain) {
  std::vector<JudgedQuery> queries;
  UnixTime latest = 0;
  auto read = database.read([&](SqlSession& session) {
    return session.run("SELECT " + std::string(kJudgmentColumns) +
                           " FROM judgments WHERE domain = $1 ORDER BY query, document, judge",
                       {domain}, [&](SqlRow row) -> Result<void> {
                         StoredJudgment judgment = read_judgment_row(row);
                         if (queries.empty() || queries.back().query != judgment.query) {
                           queries.push_back({judgment.query, judgment.search, {}});
                           latest = judgment.at;
                         }
                         if (judgment.at > latest) {
                           latest = judgment.at;
                           queries.back().search = judgment.search;
                         }
                         queries.back().judgments.push_back(std::move(judgment));
                         return {};
                       });
  });
  if (read.has_error()) return read.error();
  return queries;
}

Result<InterleavingCounts> interleaving_counts(SqlDatabase& database, std::string_view domain,
                                               std::string_view champion, std::string_view challenger) {
  InterleavingCounts counts;
  auto read = database.read([&](SqlSession& session) {
    return session.run(
        "SELECT sum(CASE WHEN c.team = 1 THEN c.weight ELSE 0.0 END), "
        "sum(CASE WHEN c.team = 2 THEN c.weight ELSE 0.0 END) FROM clicks c JOIN searches s ON s.id = "
        "c.search "
        "WHERE s.domain = $1 AND s.model = $2 AND s.challenger = $3 GROUP BY s.id",
        {domain, champion, challenger}, [&](SqlRow row) -> Result<void> {
          const double a = number_of(row[0]);
          const double b = number_of(row[1]);
          ++(a > b ? counts.champion : b > a ? counts.challenger : counts.ties);
          return {};
        });
  });
  if (read.has_error()) return read.error();
  return counts;
}

}  // namespace metafuse::service::sql
