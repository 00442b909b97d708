#include "service/store/store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "tests/support/each_store.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::add;
using metafuse::test::add_click;
using metafuse::test::click_on;
using metafuse::test::document_key;
using metafuse::test::kDay;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

void check_retention(Store& store) {
  const StoredSearch old = sample_search("shoes", kNewYear);
  const StoredSearch judged = sample_search("shoes", kNewYear);
  const StoredSearch clicked_late = sample_search("shoes", kNewYear + kDay - 10);
  const StoredSearch young = sample_search("shoes", kNewYear + kDay);
  for (const StoredSearch* search : {&old, &judged, &clicked_late, &young}) add(store, *search);
  add_click(store, click_on(old, 0));
  add_click(store, click_on(old, 1, kNewYear + kDay + 5));  // goes with the other click of its search
  add_click(store, click_on(judged, 0));
  add_click(store, click_on(clicked_late, 0, kNewYear + kDay + 10));
  REQUIRE(store.judgments.set({"shoes", judged.query, document_key(0), "ann", 1, judged.id, kNewYear})
              .has_value());
  CHECK(*store.remove_before(kNewYear + kDay) == RemovedCounts{1, 3, 0});
  CHECK_FALSE(store.searches.find(old.id)->has_value());
  CHECK(store.clicks.of(old.id)->empty());
  CHECK((**store.searches.find(young.id)).slots == young.slots);
  CHECK(store.clicks.of(clicked_late.id)->size() == 1);
  StoredSearch without_slots = judged;
  without_slots.slots.slots.clear();
  CHECK(**store.searches.find(judged.id) == without_slots);
  CHECK(*store.remove_before(kNewYear + kDay) == RemovedCounts{});
}

/// More searches than one transaction removes, also within a single second; some in each part must be kept.
void check_retention_of_many(Store& store) {
  constexpr int kOfOneSecond = 2100;
  constexpr int kAll = 4300;
  std::vector<StoredSearch> searches;
  for (int i = 0; i < kAll; ++i)
    searches.push_back(sample_search("shoes", kNewYear + std::max(0, i - kOfOneSecond + 1)));
  REQUIRE(store.searches.add(searches).has_value());
  const UnixTime end = searches.back().at;
  const std::vector<int> kept = {0, 1999, 2000, kOfOneSecond, 4000};
  for (const int i : kept) {
    const StoredSearch& judged = searches[static_cast<std::size_t>(i)];
    REQUIRE(store.judgments.set({"shoes", judged.query, document_key(i), "ann", 1, judged.id, kNewYear})
                .has_value());
    add_click(store, click_on(judged, 0, judged.at));
  }
  CHECK(*store.remove_before(end) == RemovedCounts{kAll - 1 - kept.size(), kept.size(), 0});
  for (const int i : kept) {
    const auto search = store.searches.find(searches[static_cast<std::size_t>(i)].id);
    REQUIRE(search->has_value());
    CHECK((**search).slots.slots.empty());
  }
  CHECK((**store.searches.find(searches.back().id)).slots == searches.back().slots);
  CHECK_FALSE(store.searches.find(searches[kAll - 2].id)->has_value());
}

void check_export(Store& store) {
  std::set<std::string> searches;
  for (int i = 0; i < 303; ++i) {
    StoredSearch search = sample_search();
    searches.insert(search.id);
    add(store, search);
    add_click(store, click_on(search, 1), {1e9, 1e9});
  }
  REQUIRE(store.judgments.set({"shoes", "q", document_key(0), "ann", 1, "s", kNewYear}).has_value());
  REQUIRE(store.templates.add({"shoes", 0, "a: \"\xc3\xbc\"\n", "ann", kNewYear}).has_value());
  std::map<std::string, int> kinds;
  const auto done = store.export_lines([&](std::string_view line) -> Result<void> {
    auto json = parse_json(line, "line");
    REQUIRE(json.has_value());
    REQUIRE(line.find('\n') == std::string_view::npos);
    const JsonObject& object = json->as_object();
    ++kinds[std::string(object.at("kind").as_string())];
    if (object.contains("id")) searches.erase(std::string(object.at("id").as_string()));
    return {};
  });
  REQUIRE(done.has_value());
  CHECK(kinds ==
        std::map<std::string, int>{{"search", 303}, {"click", 303}, {"judgment", 1}, {"template", 1}});
  CHECK(searches.empty());
  const auto stopped =
      store.export_lines([](std::string_view) -> Result<void> { return fail(Code::try_again, "full"); });
  CHECK(stopped.error().text == "full");
}

void check_threads(Store& store) {
  const StoredSearch search = sample_search();
  add(store, search);
  std::vector<std::thread> threads;
  std::atomic<int> recorded{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        StoredSearch own = sample_search();
        if (store.searches.add({&own, 1}).has_error()) continue;
        const auto outcome = store.clicks.add(click_on(own, static_cast<std::uint32_t>(t % 4)), {10, 100});
        if (outcome.has_value() && *outcome == ClickOutcome::recorded) ++recorded;
      }
    });
  for (std::thread& thread : threads) thread.join();
  // Of 32 simultaneous clicks of one prefix, exactly the ten that the cap allows count.
  CHECK(recorded == 10);
}

void check_whole_store(Store& store) {
  SECTION("Retention") {
    check_retention(store);
  }
  SECTION("Retention of many") {
    check_retention_of_many(store);
  }
  SECTION("Export") {
    check_export(store);
  }
  SECTION("Threads") {
    check_threads(store);
  }
}

}  // namespace

TEST_CASE("The SQLite store meets the contract of a whole store", "[service][store]") {
  test::check_on_sqlite(check_whole_store);
}

TEST_CASE("The PostgreSQL store meets the contract of a whole store", "[service][store]") {
  test::check_on_postgres(check_whole_store);
}
