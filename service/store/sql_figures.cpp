#include <utility>

#include <fmt/format.h>

#include "service/store/sql_rows.h"
#include "service/store/sql_store.h"

// SqlStore's functions for statistics: which queries were asked, how often, and their clicks.

namespace metafuse::service {
namespace {

/// Fills in the id and slots of a query's latest search; of those of the same second, the one that showed
/// most results.
Result<void> read_latest_search(SqlSession& session, std::string_view domain, AskedQuery& query) {
  return session.run(
      "SELECT id, slots FROM searches WHERE domain = $1 AND query = $2 ORDER BY at DESC, results DESC, id "
      "LIMIT 1",
      {domain, query.query}, [&](SqlRow row) -> Result<void> {
        query.search = text_of(row[0]);
        TRY(query.slots, read_slots_text(text_of(row[1])));
        return {};
      });
}

}  // namespace

Result<std::vector<AskedQuery>> SqlStore::asked_queries(std::string_view domain, std::size_t limit) {
  std::vector<AskedQuery> queries;
  const auto look = [&](SqlSession& session) -> Result<void> {
    queries.clear();
    TRY_VOID(session.run(
        "SELECT query, CAST(sum(times) AS bigint) AS asked, max(at) FROM searches WHERE domain = $1 "
        "GROUP BY query ORDER BY asked DESC, query LIMIT $2",
        {domain, static_cast<std::int64_t>(limit)}, [&](SqlRow row) -> Result<void> {
          AskedQuery& query = queries.emplace_back();
          query.query = text_of(row[0]);
          query.times = static_cast<std::uint64_t>(integer_of(row[1]));
          query.at = integer_of(row[2]);
          return {};
        }));
    for (AskedQuery& query : queries) TRY_VOID(read_latest_search(session, domain, query));
    return {};
  };
  TRY_VOID(database_->read(look));
  return queries;
}

Result<std::optional<AskedQuery>> SqlStore::find_query(std::string_view domain, std::string_view query) {
  AskedQuery found;
  const auto look = [&](SqlSession& session) -> Result<void> {
    found = {};
    found.query = std::string(query);
    TRY_VOID(
        session.run("SELECT CAST(coalesce(sum(times), 0) AS bigint), coalesce(max(at), 0) FROM searches "
                    "WHERE domain = $1 AND query = $2",
                    {domain, query}, [&](SqlRow row) -> Result<void> {
                      found.times = static_cast<std::uint64_t>(integer_of(row[0]));
                      found.at = integer_of(row[1]);
                      return {};
                    }));
    return read_latest_search(session, domain, found);
  };
  TRY_VOID(database_->read(look, Patience::request));
  if (found.search.empty()) return std::optional<AskedQuery>();
  return std::optional<AskedQuery>(std::move(found));
}

Result<void> SqlStore::for_each_search(std::string_view domain, UnixTime from,
                                       const std::function<void(const SearchFact& search)>& take) {
  std::vector<SearchFact> facts;
  const auto look = [&](SqlSession& session) {
    facts.clear();
    return session.run(
        "SELECT query, at, times, results FROM searches WHERE domain = $1 AND at >= $2", {domain, from},
        [&](SqlRow row) -> Result<void> {
          facts.push_back({text_of(row[0]), integer_of(row[1]),
                           static_cast<std::uint64_t>(integer_of(row[2])), integer_of(row[3])});
          return {};
        });
  };
  TRY_VOID(database_->read(look));
  for (const SearchFact& fact : facts) take(fact);
  return {};
}

Result<std::vector<ClickFact>> SqlStore::latest_clicks(std::string_view domain, UnixTime from,
                                                       std::size_t limit) {
  return read_rows<ClickFact>(
      *database_,
      "SELECT c.search, s.query, c.position, c.at, s.at, s.times FROM clicks c "
      "JOIN searches s ON s.id = substr(c.search, 1, 32) "
      "WHERE c.domain = $1 AND c.at >= $2 ORDER BY c.at DESC LIMIT $3",
      {domain, from, static_cast<std::int64_t>(limit)}, [](SqlRow row) {
        return ClickFact{
            text_of(row[0]),    text_of(row[1]),    static_cast<std::uint32_t>(integer_of(row[2])),
            integer_of(row[3]), integer_of(row[4]), static_cast<std::uint64_t>(integer_of(row[5]))};
      });
}

Result<void> SqlStore::latest_searches(std::string_view domain, UnixTime from, std::size_t limit,
                                       const std::function<void(const StoredSearch& search)>& take) {
  std::vector<StoredSearch> searches;
  const auto look = [&](SqlSession& session) {
    searches.clear();
    return session.run(fmt::format("SELECT {} FROM searches WHERE domain = $1 AND at >= $2 AND times > 0 "
                                   "ORDER BY at DESC LIMIT $3",
                                   kSearchColumns),
                       {domain, from, static_cast<std::int64_t>(limit)}, [&](SqlRow row) -> Result<void> {
                         TRY(auto search, read_search_row(row));
                         searches.push_back(std::move(search));
                         return {};
                       });
  };
  TRY_VOID(database_->read(look));
  for (const StoredSearch& search : searches) take(search);
  return {};
}

}  // namespace metafuse::service
