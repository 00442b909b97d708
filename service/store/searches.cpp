#include "service/store/searches.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "service/store/tables.h"

namespace metafuse::service {
namespace {

/// Size of a search's row without its texts: id, digest, index entries.
constexpr std::size_t kRowBytes = 300;
constexpr std::size_t kFewestCopied = 8;  ///< fewer searches than this are inserted one by one
/// Whether a group of searches of one base query has one whose slots are kept.
constexpr std::string_view kHasWords =
    "EXISTS (SELECT 1 FROM searches AS worded WHERE worded.domain = $1 AND worded.query = searches.query AND "
    "worded.slots <> '{}')";
constexpr std::string_view kSearchColumns = "id, domain, query, slots, at, model, challenger, lists, times";
constexpr std::string_view kWrittenColumns =
    "id, domain, query, slots, at, model, challenger, lists, times, bytes, results";

/// A search with the serialised texts of its row.
struct SearchRow {
  explicit SearchRow(const StoredSearch& from)
      : search(&from),
        slots(slots_text(from.slots)),
        lists(lists_text(from)),
        bytes(static_cast<std::int64_t>(slots.size() + lists.size() + kRowBytes)) {}

  /// The values of kWrittenColumns, which refer to this row.
  std::vector<SqlValue> values() const {
    return {search->id,
            search->domain,
            search->query,
            slots,
            search->at,
            search->model,
            search->challenger,
            lists,
            static_cast<std::int64_t>(search->times),
            bytes,
            static_cast<std::int64_t>(search->shown.size())};
  }

  const StoredSearch* search;
  std::string slots, lists;
  std::int64_t bytes;
};

Result<void> add_times(SqlSession& session, const StoredSearch& search) {
  if (search.times == 0) return {};
  return session.run("UPDATE searches SET times = times + $1 WHERE id = $2",
                     {static_cast<std::int64_t>(search.times), search.id});
}

/// Inserts searches one by one, except those whose ids are already there.
///
/// out: the ids that were new
Result<std::set<std::string>> insert_each(SqlSession& session, const std::vector<SearchRow>& rows) {
  static const std::string sql =
      insert_text("searches", kWrittenColumns) + " ON CONFLICT (id) DO NOTHING RETURNING id";
  std::set<std::string> inserted;
  for (const SearchRow& row : rows)
    TRY_VOID(session.run(sql, row.values(), [&](SqlRow id) -> Result<void> {
      inserted.insert(text_of(id[0]));
      return {};
    }));
  return inserted;
}

/// As insert_each(), but all at once, through a temporary table.
Result<std::set<std::string>> insert_copied(SqlSession& session, const std::vector<SearchRow>& rows) {
  static const std::string insert = fmt::format(
      "INSERT INTO searches ({0}) SELECT {0} FROM new_searches ORDER BY id ON CONFLICT (id) DO NOTHING "
      "RETURNING id",
      kWrittenColumns);
  TRY_VOID(
      session.run("CREATE TEMPORARY TABLE IF NOT EXISTS new_searches (LIKE searches INCLUDING DEFAULTS) ON "
                  "COMMIT DELETE ROWS"));
  std::vector<std::vector<SqlValue>> values;
  for (const SearchRow& row : rows) values.push_back(row.values());
  TRY_VOID(session.copy("new_searches", kWrittenColumns, values));
  TRY(const auto inserted, rows_of<std::string>(session, insert));
  return std::set<std::string>(inserted.begin(), inserted.end());
}

/// Base queries with the ids and slots of their latest searches whose words are known, or else of the latest.
/// Of those of the same second, the one that showed most results counts.
///
/// in: rest - of the statement, after the condition for the domain, the first of the values
Result<std::vector<SearchedQuery>> read_asked(SqlSession& session, std::string_view rest,
                                              std::initializer_list<SqlValue> values) {
  const std::string sql = fmt::format(
      "SELECT query, CAST(sum(times) AS bigint) AS asked, max(at) FROM searches WHERE domain = $1 {}", rest);
  TRY(auto queries, rows_of<SearchedQuery>(session, sql, values, [](SqlRow row) -> Result<SearchedQuery> {
        return SearchedQuery{
            text_of(row[0]), {}, {}, static_cast<std::uint64_t>(integer_of(row[1])), integer_of(row[2])};
      }));
  for (SearchedQuery& query : queries)
    for (const char* condition : {"AND slots <> '{}' ", ""}) {
      if (!query.search.empty()) continue;
      const std::string latest = fmt::format(
          "SELECT id, slots FROM searches WHERE domain = $1 AND query = $2 {}"
          "ORDER BY at DESC, results DESC, id LIMIT 1",
          condition);
      TRY_VOID(session.run(latest, {*values.begin(), query.query}, [&](SqlRow row) -> Result<void> {
        query.search = text_of(row[0]);
        TRY(query.slots, read_slots_text(text_of(row[1])));
        return {};
      }));
    }
  return queries;
}

}  // namespace

Result<void> lock_searches(SqlSession& session) {
  return session.lock("searches");
}

Result<void> add_bytes(SqlSession& session, std::int64_t bytes) {
  return session.run("UPDATE meta SET value = CAST(CAST(value AS bigint) + $1 AS text) WHERE name = 'bytes'",
                     {bytes});
}

Result<void> insert_searches(SqlSession& session, std::span<const StoredSearch> searches, bool adds_times) {
  std::vector<SearchRow> rows(searches.begin(), searches.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SearchRow& a, const SearchRow& b) { return a.search->id < b.search->id; });
  const bool are_copied = adds_times && session.has_copy() && rows.size() >= kFewestCopied;
  TRY(auto inserted, are_copied ? insert_copied(session, rows) : insert_each(session, rows));
  std::int64_t added = 0;
  for (const SearchRow& row : rows) {
    // if an id occurs twice in the batch, the first one counts as new
    if (inserted.erase(row.search->id) > 0)
      added += row.bytes;
    else if (adds_times)
      TRY_VOID(add_times(session, *row.search));
  }
  return added == 0 ? Result<void>() : add_bytes(session, added);
}

template <>
std::string columns_of<StoredSearch>() {
  return std::string(kSearchColumns);
}

template <>
Result<StoredSearch> read_row(SqlRow row) {
  StoredSearch search;
  search.id = text_of(row[0]);
  search.domain = text_of(row[1]);
  search.query = text_of(row[2]);
  TRY(search.slots, read_slots_text(text_of(row[3])));
  search.at = integer_of(row[4]);
  search.model = text_of(row[5]);
  search.challenger = text_of(row[6]);
  TRY_VOID(read_lists_text(text_of(row[7]), search));
  search.times = static_cast<std::uint64_t>(integer_of(row[8]));
  return search;
}

Result<void> StoredSearches::add(std::span<const StoredSearch> searches) {
  if (searches.empty()) return {};
  return database_.write([&](SqlSession& session) -> Result<void> {
    TRY_VOID(lock_searches(session));
    return insert_searches(session, searches, true);
  });
}

Result<std::optional<StoredSearch>> StoredSearches::find(std::string_view id, TimePoint end) {
  static const std::string sql = fmt::format("SELECT {} FROM searches WHERE id = $1", kSearchColumns);
  return database_.read_value(
      [&](SqlSession& session) { return find_row<StoredSearch>(session, sql, {stored_id(id)}); },
      {Patience::request, end});
}

Result<std::vector<SearchedQuery>> StoredSearches::asked_queries(std::string_view domain, std::size_t limit,
                                                                 std::string_view judge) {
  const auto most = static_cast<std::int64_t>(limit);
  const auto rest = [](std::string_view first, int limit_value) {
    return fmt::format("GROUP BY query HAVING {} ORDER BY {}asked DESC, query LIMIT ${}", kHasWords, first,
                       limit_value);
  };
  return database_.read_value([&](SqlSession& session) {
    if (judge.empty()) return read_asked(session, rest("", 2), {domain, most});
    return read_asked(session,
                      rest("query IN (SELECT query FROM judgments WHERE domain = $1 AND judge = $2), ", 3),
                      {domain, judge, most});
  });
}

Result<std::size_t> StoredSearches::count_wordless(std::string_view domain) {
  static const std::string sql = fmt::format(
      "SELECT count(*) FROM (SELECT query FROM searches WHERE domain = $1 GROUP BY query HAVING NOT {}) AS "
      "wordless",
      kHasWords);
  TRY(const auto count, database_.read_value([&](SqlSession& session) {
    return first_row<std::int64_t>(session, sql, {domain});
  }));
  return static_cast<std::size_t>(count);
}

Result<std::optional<SearchedQuery>> StoredSearches::find_query(std::string_view domain,
                                                                std::string_view query) {
  TRY(auto found, database_.read_value(
                      [&](SqlSession& session) {
                        return read_asked(session, "AND query = $2 GROUP BY query", {domain, query});
                      },
                      Patience::request));
  return found.empty() ? std::optional<SearchedQuery>()
                       : std::optional<SearchedQuery>(std::move(found.front()));
}

Result<std::vector<SearchFact>> StoredSearches::facts(std::string_view domain, UnixTime from) {
  return read_rows<SearchFact>(
      database_, "SELECT query, at, times, results FROM searches WHERE domain = $1 AND at >= $2",
      {domain, from}, {}, [](SqlRow row) -> Result<SearchFact> {
        return SearchFact{text_of(row[0]), integer_of(row[1]), static_cast<std::uint64_t>(integer_of(row[2])),
                          integer_of(row[3])};
      });
}

Result<std::vector<StoredSearch>> StoredSearches::latest(std::string_view domain, UnixTime from,
                                                         std::size_t limit) {
  static const std::string sql = fmt::format(
      "SELECT {} FROM searches WHERE domain = $1 AND at >= $2 AND times > 0 ORDER BY at DESC LIMIT $3",
      kSearchColumns);
  return read_rows<StoredSearch>(database_, sql, {domain, from, static_cast<std::int64_t>(limit)});
}

namespace {

/// The whole numbers of a statement's only row, as one text.
Result<std::string> read_mark(SqlDatabase& database, std::string_view sql, std::string_view domain) {
  const auto numbers = [](SqlRow row) -> Result<std::string> {
    std::string out;
    for (const SqlCell& value : row) out += std::to_string(integer_of(value)) + ' ';
    return out;
  };
  TRY(const auto marks, read_rows<std::string>(database, sql, {domain}, {}, numbers));
  return marks.front();
}

/// How much weight a cap still allows after the day's earlier clicks.
Result<double> left_of(SqlSession& session, std::string_view column, std::int64_t day, std::string_view who,
                       double cap) {
  TRY(const double used,
      first_row<double>(
          session,
          fmt::format("SELECT coalesce(sum(weight), 0.0) FROM clicks WHERE day = $1 AND {} = $2", column),
          {day, who}));
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

Result<ClickOutcome> StoredClicks::add(const Click& click, const ClickCaps& caps, TimePoint end) {
  const auto change = [&](SqlSession& session) -> Result<ClickOutcome> {
    // The sums that the caps use must not change before this click is added to them.
    TRY_VOID(session.lock("clicks"));
    TRY(const auto before, count_rows(session, "SELECT 1 FROM clicks WHERE search = $1 AND position = $2",
                                      {click.search, std::int64_t{click.position}}));
    if (before > 0) return ClickOutcome::duplicate;
    Click capped = click;
    TRY(capped.weight, capped_weight(session, click, caps));
    if (capped.weight <= 0) return ClickOutcome::capped;
    std::vector<SqlValue> values = values_of(capped);
    values.emplace_back(day_of(click.at));
    TRY_VOID(session.run(insert_text("clicks", columns_of<Click>() + ", day"), values, {}));
    return ClickOutcome::recorded;
  };
  return database_.write_value(change, {Patience::request, end});
}

Result<std::vector<Click>> StoredClicks::of(std::string_view search) {
  static const std::string sql =
      fmt::format("SELECT {} FROM clicks WHERE search = $1 ORDER BY position", columns_of<Click>());
  return read_rows<Click>(database_, sql, {search}, Patience::request);
}

Result<std::string> StoredClicks::mark(std::string_view domain) {
  return read_mark(database_,
                   "SELECT coalesce(max(at), 0), count(*) FROM clicks WHERE domain = $1 AND at = "
                   "(SELECT max(at) FROM clicks WHERE domain = $1)",
                   domain);
}

Result<std::vector<ClickedSearch>> StoredClicks::searches(std::string_view domain, std::size_t limit) {
  static const std::string sql = fmt::format(
      "SELECT {} FROM clicks JOIN (SELECT search AS clicked, max(at) AS latest FROM clicks "
      "WHERE domain = $1 GROUP BY search ORDER BY latest DESC, search LIMIT $2) AS last "
      "ON search = clicked ORDER BY latest DESC, search, position",
      columns_of<Click>());
  TRY(auto clicks, read_rows<Click>(database_, sql, {domain, static_cast<std::int64_t>(limit)}));
  std::vector<ClickedSearch> out;
  for (Click& click : clicks) {
    if (out.empty() || out.back().search != click.search) out.push_back({click.search, {}});
    out.back().clicks.push_back(std::move(click));
  }
  return out;
}

Result<std::vector<BaseQuery>> StoredClicks::popular_queries(std::string_view domain, std::size_t people,
                                                             std::size_t limit) {
  TRY(const auto texts,
      read_rows<std::string>(
          database_,
          "SELECT min(slots) AS text, max(clients) AS most FROM "
          "(SELECT s.query AS query, min(s.slots) AS slots, count(DISTINCT c.prefix) AS clients "
          "FROM clicks c JOIN searches s ON s.id = substr(c.search, 1, 32) "
          "WHERE c.domain = $1 GROUP BY s.query, c.day HAVING count(DISTINCT c.prefix) >= $2) AS days "
          "GROUP BY query ORDER BY most DESC, text LIMIT $3",
          {domain, static_cast<std::int64_t>(people), static_cast<std::int64_t>(limit)}));
  std::vector<BaseQuery> queries;
  for (const std::string& text : texts)
    if (auto slots = read_slots_text(text); slots && !slots->slots.empty())
      queries.push_back(std::move(*slots));
  return queries;
}

Result<std::vector<ClickFact>> StoredClicks::latest(std::string_view domain, UnixTime from,
                                                    std::size_t limit) {
  return read_rows<ClickFact>(
      database_,
      "SELECT c.search, s.query, c.position, c.at, s.at, s.times FROM clicks c "
      "JOIN searches s ON s.id = substr(c.search, 1, 32) "
      "WHERE c.domain = $1 AND c.at >= $2 ORDER BY c.at DESC LIMIT $3",
      {domain, from, static_cast<std::int64_t>(limit)}, {}, [](SqlRow row) -> Result<ClickFact> {
        return ClickFact{
            text_of(row[0]),    text_of(row[1]),    static_cast<std::uint32_t>(integer_of(row[2])),
            integer_of(row[3]), integer_of(row[4]), static_cast<std::uint64_t>(integer_of(row[5]))};
      });
}

Result<InterleavingCounts> StoredClicks::interleaving_counts(std::string_view domain,
                                                             std::string_view champion,
                                                             std::string_view challenger) {
  const auto count = [&](SqlSession& session) -> Result<InterleavingCounts> {
    InterleavingCounts counts;
    TRY_VOID(
        session.run("SELECT sum(CASE WHEN c.team = 1 THEN c.weight ELSE 0.0 END), "
                    "sum(CASE WHEN c.team = 2 THEN c.weight ELSE 0.0 END) FROM clicks c JOIN searches s "
                    "ON s.id = substr(c.search, 1, 32) "
                    "WHERE s.domain = $1 AND s.model = $2 AND s.challenger = $3 "
                    "GROUP BY s.query, s.at / 3600",  // as hour_of()
                    {domain, champion, challenger}, [&](SqlRow row) -> Result<void> {
                      const double a = number_of(row[0]);
                      const double b = number_of(row[1]);
                      ++(a > b ? counts.champion : b > a ? counts.challenger : counts.ties);
                      return {};
                    }));
    return counts;
  };
  return database_.read_value(count, Patience::request);
}

Result<void> write_judgments(SqlSession& session, std::span<const StoredJudgment> judgments) {
  for (const StoredJudgment& judgment : judgments)
    TRY_VOID(insert_row(session, judgment,
                        " ON CONFLICT (domain, query, document, judge) DO UPDATE SET "
                        "grade = excluded.grade, search = excluded.search, at = excluded.at"));
  return {};
}

Result<void> StoredJudgments::set(std::span<const StoredJudgment> judgments, TimePoint end) {
  return database_.write([&](SqlSession& session) { return write_judgments(session, judgments); },
                         {Patience::request, end});
}

Result<std::string> StoredJudgments::mark(std::string_view domain) {
  return read_mark(database_,
                   "SELECT count(*), coalesce(max(at), 0), CAST(coalesce(sum(grade), 0) AS bigint) "
                   "FROM judgments WHERE domain = $1",
                   domain);
}

Result<std::vector<StoredJudgment>> StoredJudgments::of(std::string_view domain, std::string_view query) {
  static const std::string sql =
      fmt::format("SELECT {} FROM judgments WHERE domain = $1 AND query = $2 ORDER BY document, judge",
                  columns_of<StoredJudgment>());
  return read_rows<StoredJudgment>(database_, sql, {domain, query});
}

Result<std::vector<JudgedQuery>> StoredJudgments::queries(std::string_view domain) {
  static const std::string sql =
      fmt::format("SELECT {} FROM judgments WHERE domain = $1 ORDER BY query, document, judge",
                  columns_of<StoredJudgment>());
  TRY(auto judgments, read_rows<StoredJudgment>(database_, sql, {domain}));
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

}  // namespace metafuse::service
