#include <atomic>
#include <filesystem>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "fetchers/definition/engine_file.h"
#include "service/search/answer_source.h"
#include "service/search/health_keeper.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

fetchers::FetchedList ten_results(const ExpandedQuery& query) {
  fetchers::FetchedList list;
  for (int i = 0; i < 10; ++i) {
    Hit hit;
    hit.url = "https://site" + std::to_string(i) + ".example/" + query.text + query.engine;
    hit.key = hit.url.substr(8);
    hit.title = "About " + query.text + " in chapter " + std::to_string(i);
    list.list.hits.push_back(hit);
  }
  return list;
}

}  // namespace

TEST_CASE("An engine that finds nothing any more is named as broken wherever an answer lists engines",
          "[service][search][health]") {
  std::atomic<bool> is_broken = false;
  test::TestServer server([&](const ExpandedQuery& query) {
    return is_broken && query.engine == "one" ? fetchers::FetchedList() : ten_results(query);
  });
  int number = 0;
  const auto search = [&] { return server.get("/search?format=json&q=name" + std::to_string(++number)); };
  for (int i = 0; i < 40; ++i) search();
  CHECK(server.get("/readyz").find("engines:") == std::string::npos);
  CHECK(server.get("/metrics").find("metafuse_engine_health{engine=\"one\",state=\"works\"} 1") !=
        std::string::npos);
  is_broken = true;
  std::string answer;
  int searches = 0;
  while (answer.find("broken") == std::string::npos && searches < 20) answer = search(), ++searches;
  CHECK(searches <= 8);
  CHECK(answer.find(
            "\"unresponsive_engines\":[[\"one\",\"broken: 0 results, and the engine seems broken: empty "
            "since ") != std::string::npos);
  CHECK(server.get("/readyz").find("engines: 1 of 2 do not answer as they used to") != std::string::npos);
  CHECK(server.get("/metrics").find("metafuse_engine_health{engine=\"one\",state=\"empty\"} 1") !=
        std::string::npos);
  is_broken = false;
  for (int i = 0; i < 10; ++i) search();
  CHECK(server.get("/readyz").find("engines:") == std::string::npos);
}

TEST_CASE("Of a sender's many searches some per second are compared, and others' all the same",
          "[service][search][health]") {
  ComparedSearches compared;
  const TimePoint begin{};
  const auto taken = [&](const std::string& sender, int searches, TimePoint now) {
    int out = 0;
    for (int i = 0; i < searches; ++i) out += compared.take(sender, now) ? 1 : 0;
    return out;
  };
  CHECK(taken("busy", 1000, begin) == 128);
  CHECK(taken("busy", 1000, begin + std::chrono::seconds(2)) == 16);
  CHECK(taken("busy", 1000, begin + std::chrono::hours(1)) == 128);
  int others = 0;
  for (int i = 0; i < 100; ++i)
    others += taken("other " + std::to_string(i), 1, begin + std::chrono::hours(1));
  CHECK(others > 80);  // of 64 places, the busy sender has one
}

TEST_CASE("Engines are tried once a day at random times, and profiles outlive the server",
          "[service][search][health]") {
  const test::TemporaryFolder folder;
  const auto file = fetchers::parse_engine_file(
      "engines: [{name: one, engine: json_engine, search_url: 'https://a.example/?q={query}', url_query: u, "
      "title_query: t}]",
      "engines.yaml");
  REQUIRE(file.has_value());
  auto fetcher = std::make_shared<test::FakeFetcher>(ten_results);
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->config.engine_health = {folder.path("health.json"), true};
  snapshot->engines.fetcher = fetcher;
  snapshot->engines.tried = file->engines;
  snapshot->engines.watched = {fetchers::watched(file->engines.front())};
  std::vector<std::string> events;
  const auto keeper_of = [&](fetchers::HealthBook& book) {
    return std::make_unique<HealthKeeper>(
        HealthKeeperOptions{book, [&] { return snapshot; }, [] { return UnixTime{1000}; },
                            [&](std::string_view event, JsonObject) { events.emplace_back(event); }, 7});
  };
  fetchers::HealthBook book;
  auto keeper = keeper_of(book);
  keeper->open();
  // Another file in a reloaded configuration is for the next start: nobody has locked it yet.
  snapshot->config.engine_health.file = folder.path("another.json");
  const UnixTime begin = 1'800'000'000;
  for (UnixTime now = begin; now < begin + 20 * 86400; now += 600) keeper->tick(now);
  CHECK(fetcher->fetches() >= 15);
  CHECK(fetcher->fetches() <= 25);
  CHECK_FALSE(book.known("one").empty());
  keeper->stop();
  CHECK_FALSE(std::filesystem::exists(folder.path("another.json")));
  snapshot->config.engine_health.file = folder.path("health.json");
  fetchers::HealthBook again;
  keeper = keeper_of(again);
  keeper->open();
  CHECK(again.known("one") == book.known("one"));
  CHECK(events.empty());
}
