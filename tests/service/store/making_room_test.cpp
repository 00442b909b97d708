#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/postgres_server.h"
#include "tests/support/sample_search.h"
#include "tests/support/watched_database.h"

// A store that is full removes the oldest searches, at a cost that what stays does not raise, and while other
// servers do the same.

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::kNewYear;
using metafuse::test::opened_store;
using metafuse::test::sample_search;

namespace {

/// Searches a second apart, the first `clicked` of which were clicked.
std::vector<StoredSearch> add_searches(Store& store, int count, std::size_t clicked) {
  std::vector<StoredSearch> searches;
  for (int i = 0; i < count; ++i) searches.push_back(sample_search("shoes", kNewYear + i));
  REQUIRE(store.searches.add(searches).has_value());
  for (std::size_t i = 0; i < clicked; ++i)
    REQUIRE(store.clicks.add({searches[i].id, 0, "shoes", Team::none, searches[i].at, "p", "", 1}, {1e9, 1e9})
                .has_value());
  return searches;
}

std::size_t left_of(Store& store, const std::vector<StoredSearch>& searches) {
  return static_cast<std::size_t>(std::count_if(searches.begin(), searches.end(), [&](const auto& search) {
    return store.searches.find(search.id)->has_value();
  }));
}

}  // namespace

TEST_CASE("Making room looks up clicks by their index and passes what stays only once",
          "[service][store][security]") {
  const test::WatchedStore watched;
  Store& store = *watched.store;
  add_searches(store, 600, 50);
  std::string plans;
  std::vector<UnixTime> begins;
  watched.database->on_statement = [&](SqlSession& session, std::string_view sql,
                                       std::span<const SqlValue> values) {
    if (!sql.starts_with("DELETE")) return;
    if (sql.starts_with("DELETE FROM searches")) begins.push_back(std::get<std::int64_t>(values[0]));
    REQUIRE(session
                .run("EXPLAIN QUERY PLAN " + std::string(sql), values,
                     [&](SqlRow row) -> Result<void> {
                       plans += text_of(row[3]) + "\n";
                       return {};
                     })
                .has_value());
  };
  REQUIRE(store.keep_within(*store.bytes() / 2).has_value());
  INFO(plans);
  CHECK(plans.find("clicks_stored") != std::string::npos);
  CHECK(plans.find("SCAN clicks") == std::string::npos);
  REQUIRE(begins.size() >= 3);
  CHECK(begins[1] == kNewYear + 149);  // the 100th that nobody clicked
  CHECK(begins[2] == kNewYear + 249);
}

TEST_CASE("A store that was full has room for some searches before it removes others again",
          "[service][store]") {
  const test::WatchedStore watched;
  Store& store = *watched.store;
  add_searches(store, 6400, 0);
  const std::uint64_t most = *store.bytes();
  add_searches(store, 1, 0);
  CHECK(store.keep_within(most)->searches > 64);
  add_searches(store, 64, 0);
  CHECK(*store.keep_within(most) == RemovedCounts{});
  // but what was clicked makes room only for what is there
  REQUIRE(store.remove_before(kNewYear + 10000).has_value());
  const auto clicked = add_searches(store, 300, 300);
  const std::uint64_t all = *store.bytes();
  CHECK(*store.keep_within(all) == RemovedCounts{});
  CHECK(store.keep_within(all - 1)->searches == 100);
  CHECK(left_of(store, clicked) == clicked.size() - 100);
}

TEST_CASE("Servers of one store that make room at once keep what was clicked", "[service][store][security]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  const std::string url = server->new_database();
  const std::unique_ptr<Store> stores[] = {opened_store(url), opened_store(url), opened_store(url)};
  Store& store = *stores[0];
  constexpr std::size_t kClicked = 50;
  const auto searches = add_searches(store, 1000, kClicked);
  const std::uint64_t limit = *store.bytes() / 4;
  for (const auto& each : stores) CHECK(each->bytes().has_value());  // the connections are there
  std::atomic<std::uint64_t> removed{0};
  std::vector<std::thread> threads;
  for (const auto& each : stores)
    threads.emplace_back([&removed, &each, limit] {
      const auto counts = each->keep_within(limit);
      if (counts) removed += counts->searches;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(*store.bytes() <= limit);
  CHECK(left_of(store, {searches.begin(), searches.begin() + kClicked}) == kClicked);
  CHECK(left_of(store, searches) == searches.size() - removed);
  CHECK(removed < 1000 * 3 / 4 + 150);
}
