// What is PostgreSQL's alone: its server may go away, and transactions of several servers meet in it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/deadline.h"
#include "service/store/tables.h"
#include "tests/support/each_store.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::add;
using metafuse::test::kDay;
using metafuse::test::kNewYear;
using metafuse::test::opened_store;
using metafuse::test::sample_search;

namespace {

/// The number that a statement returns; -1 if it fails.
std::int64_t number_in(SqlSession& session, std::string_view sql) {
  const auto number = first_row<std::int64_t>(session, sql);
  return number ? *number : -1;
}

}  // namespace

TEST_CASE("A PostgreSQL store works again after its server was away", "[service][store]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  const std::string url = server->new_database();
  const auto store = opened_store(url);
  const StoredSearch search = sample_search();
  add(*store, search);
  server->stop();
  const auto gone = store->searches.find(search.id);
  REQUIRE(gone.has_error());
  CHECK(gone.error().code == Code::unavailable);
  CHECK(store->searches.add({&search, 1}).error().code == Code::unavailable);
  server->restart();
  REQUIRE(store->searches.find(search.id).has_value());
  CHECK(**store->searches.find(search.id) == search);
  CHECK(**opened_store(url)->searches.find(search.id) == search);
}

TEST_CASE("A transaction that PostgreSQL rolled back because of another one is tried once more",
          "[service][store]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  // so that it looks for transactions that wait for each other after ten milliseconds
  const auto database = open_postgres(server->new_database() + "&options=-c%20deadlock_timeout%3D10ms");
  REQUIRE(database.has_value());
  SqlDatabase& postgres = **database;

  for (const auto& [state, most_tries] : {std::pair{"40001", 2}, {"40P01", 2}, {"23505", 1}}) {
    INFO(state);
    const std::string refused =
        std::string("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '") + state + "'; END $$";
    int tries = 0;
    const auto failing = postgres.write([&](SqlSession& session) {
      ++tries;
      return session.run(refused);
    });
    REQUIRE(failing.has_error());
    CHECK(failing.error().code == Code::try_again);
    CHECK(tries == most_tries);
    tries = 0;
    const auto failing_once = postgres.write(
        [&](SqlSession& session) { return session.run(++tries == 1 ? refused : std::string("SELECT 1")); });
    CHECK(failing_once.has_value() == (most_tries == 2));
  }

  REQUIRE(postgres
              .write([](SqlSession& session) -> Result<void> {
                TRY_VOID(session.run("CREATE TABLE sums (name text PRIMARY KEY, sum bigint)"));
                return session.run("INSERT INTO sums VALUES ('a', 0), ('b', 0)");
              })
              .has_value());
  std::latch both_hold_a_row(2);
  std::atomic<bool> is_one_done = false;
  Result<void> done[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      int tries = 0;
      done[i] = postgres.write([&](SqlSession& session) -> Result<void> {
        const auto add_to = [&](std::string_view name) {
          return session.run("UPDATE sums SET sum = sum + 1 WHERE name = $1", {name});
        };
        if (++tries == 2) is_one_done.wait(false);  // or it might take the row back before the other wakes
        const auto held = add_to(i == 0 ? "a" : "b");
        if (tries == 1) both_hold_a_row.arrive_and_wait();
        TRY_VOID(held);
        return add_to(i == 0 ? "b" : "a");
      });
      is_one_done = true;
      is_one_done.notify_all();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : done) CHECK(one.has_value());
  const auto least = [](SqlSession& session) {
    return first_row<std::int64_t>(session, "SELECT min(sum) FROM sums");
  };
  CHECK(postgres.read_value(least).value() == 2);
}

TEST_CASE("Searches are counted and removed by one transaction at a time, which holds no row while it waits",
          "[service][store]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  const std::string url = server->new_database();
  const auto store = opened_store(url);
  const auto other = open_postgres(url);
  REQUIRE(other.has_value());
  const std::vector<StoredSearch> searches = {sample_search("shoes", kNewYear), sample_search()};
  const std::function<bool()> changes[] = {
      [&] { return store->searches.add(searches).has_value(); },
      [&] { return store->remove_before(kNewYear + kDay).has_value(); },
      [&] { return store->keep_within(0).has_value(); },
  };
  for (const auto& change : changes) {
    REQUIRE(store->searches.add(searches).has_value());
    std::atomic<bool> is_done = false;
    bool is_good = false;
    std::thread thread;
    const auto held = (*other)->write([&](SqlSession& session) -> Result<void> {
      TRY_VOID(lock_searches(session));
      thread = std::thread([&] {
        is_good = change();
        is_done = true;
      });
      const Deadline end(machine_clock(), std::chrono::seconds(3));
      const auto waiting = [&] {
        return number_in(session,
                         "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
      };
      while (waiting() == 0 && !is_done && !end.has_passed()) {
      }
      CHECK(waiting() == 1);
      CHECK(number_in(session,
                      "SELECT count(*) FROM pg_locks WHERE relation IN ('searches'::regclass, "
                      "'clicks'::regclass, 'meta'::regclass) AND mode = 'RowExclusiveLock'") == 0);
      return {};
    });
    if (thread.joinable()) thread.join();
    CHECK(held.has_value());
    CHECK(is_good);
  }
  CHECK(store->bytes().value() == 0);
}
