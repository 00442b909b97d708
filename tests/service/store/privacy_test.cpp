#include "service/store/privacy.h"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "service/store/store.h"
#include "tests/support/sample_search.h"
#include "tests/support/watched_database.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::document_key;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

/// How many clicks of each day have the hash of an address prefix.
std::map<std::int64_t, std::int64_t> hashes_by_day(SqlDatabase& database) {
  std::map<std::int64_t, std::int64_t> out;
  REQUIRE(database
              .read(
                  [&](SqlSession& session) {
                    return session.run("SELECT day, count(*) FROM clicks WHERE prefix <> '' GROUP BY day", {},
                                       [&](SqlRow row) -> Result<void> {
                                         out[integer_of(row[0])] = integer_of(row[1]);
                                         return {};
                                       });
                  },
                  {})
              .has_value());
  return out;
}

}  // namespace

TEST_CASE("Hashes of address prefixes are forgotten day by day in parts", "[service][store][privacy]") {
  const test::WatchedStore watched;
  test::WatchedDatabase& database = *watched.database;
  // 4001 clicks on each of the days 9, 12, 13 and 14
  REQUIRE(
      database
          .write(
              [](SqlSession& session) {
                return session.run(
                    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 16003) "
                    "INSERT INTO clicks (search, position, domain, team, at, day, prefix, api_key, weight) "
                    "SELECT printf('%032d', i), 0, 'shoes', 0, d * 86400, d, 'p', '', 1 FROM (SELECT i, "
                    "CASE i % 4 WHEN 0 THEN 9 ELSE 11 + i % 4 END AS d FROM n)");
              },
              {})
          .has_value());
  int updates = 0;
  database.on_statement = [&](SqlSession&, std::string_view sql, std::span<const SqlValue>) {
    updates += sql.starts_with("UPDATE clicks") ? 1 : 0;
  };
  REQUIRE(watched.store->privacy.forget_addresses(14).has_value());
  CHECK(hashes_by_day(database) == std::map<std::int64_t, std::int64_t>{{13, 4001}, {14, 4001}});
  CHECK(updates == 6);  // 2000, 2000 and 1 of either day
  REQUIRE(watched.store->privacy.forget_addresses(14).has_value());
  CHECK(updates == 8);  // a look at either day
}

TEST_CASE("No search stays readable if the connection breaks while queries are hidden",
          "[service][store][privacy]") {
  const test::WatchedStore watched;
  std::vector<StoredSearch> searches;
  for (int i = 0; i < 450; ++i) searches.push_back(sample_search());
  REQUIRE(watched.store->searches.add(searches).has_value());
  watched.database->writes_twice = true;
  REQUIRE(watched.store->privacy.hide_queries().has_value());
  int readable = 0;
  for (const StoredSearch& search : searches) {
    const auto found = watched.store->searches.find(search.id);
    REQUIRE(found->has_value());
    readable += (**found).documents[0].starts_with('#') && (**found).slots.slots.empty() ? 0 : 1;
  }
  CHECK(readable == 0);
}

TEST_CASE("Queries whose new digests are others' old ones stay apart", "[service][store][identity]") {
  const test::WatchedStore watched;
  Store& store = *watched.store;
  const std::string secret = *store.privacy.secret();
  std::vector<StoredSearch> searches;
  const auto add = [&](const std::string& slot, int number, int grade) {
    StoredSearch search = sample_search();
    search.slots.slots = {{slot, "words " + std::to_string(number)}};
    search.query = query_digest(secret, "shoes", search.slots, "q");
    REQUIRE(store.searches.add({&search, 1}).has_value());
    REQUIRE(store.judgments
                .set({"shoes", search.query, document_key(0), "ann", grade, search.id, kNewYear + grade})
                .has_value());
    searches.push_back(search);
  };
  // with the plain slot t, words in t have the digest that the same words in q had with the plain slot q
  for (int i = 0; i < 8; ++i) {
    add("q", i, 1);
    add("t", i, 2);
  }
  REQUIRE(*store.privacy.unify_queries("shoes", "q") == 0);
  CHECK(*store.privacy.unify_queries("shoes", "t") == 16);
  for (const StoredSearch& search : searches) {
    const std::string digest = query_digest(secret, "shoes", search.slots, "t");
    CHECK((**store.searches.find(search.id)).query == digest);
    const auto judged = store.judgments.of("shoes", digest);
    REQUIRE(judged->size() == 1);
    CHECK((*judged)[0].grade == (search.slots.slots.contains("q") ? 1 : 2));
  }
}
