// Complete fetches from the chaos server: deadlines, the breaker, paging, federation, replay and secrets.

#include <algorithm>
#include <chrono>
#include <map>

#include <catch2/catch.hpp>

#include "fetchers/calling/make_fetcher.h"
#include "fetchers/model/engine.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/chaos_server.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace metafuse::test;

TEST_CASE("All lists share one deadline and finished ones are kept", "[fetchers][deadline]") {
  const ChaosServer server;
  const auto fetcher = fetcher_of(block("good", server.url("ok")) +
                                  block("hung", server.url("hang-after-request"), "max_connections: 4"));
  const Clock& clock = machine_clock();
  const std::vector<ExpandedQuery> queries = {{"a", "hung", "x"}, {"b", "good", "x"}, {"c", "nobody", "x"}};
  std::map<std::string, int> heard;
  const auto begin = clock.now();
  const auto lists = fetcher->fetch(queries, {.deadline = Deadline(clock, milliseconds(300))},
                                    [&](const FetchedList& list) { ++heard[list.query.template_id]; });
  CHECK(clock.now() - begin < seconds(5));  // the hung server never answers
  REQUIRE(lists.size() == 3);
  CHECK(lists[0].failure == Failure::timeout);
  CHECK(lists[0].query == queries[0]);
  CHECK(lists[1].list.hits.size() == 3);
  CHECK(lists[2].failure == Failure::not_allowed);
  CHECK(heard == std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}});
}

TEST_CASE("A late list serves the next query with the same text", "[fetchers][deadline]") {
  const ChaosServer server;
  const auto fetcher = fetcher_of(block("slow", server.url("ok-slow-start")));
  CHECK(fetch_one(*fetcher, "slow", milliseconds(1)).failure == Failure::timeout);
  for (int i = 0; i < 200 && server.requests() < 1; ++i) std::this_thread::yield();
  FetchedList list = fetch_one(*fetcher, "slow");
  for (int i = 0; i < 100 && list.has_failed(); ++i) list = fetch_one(*fetcher, "slow", milliseconds(50));
  CHECK(list.list.hits.size() == 3);
}

TEST_CASE("An engine that keeps failing is not asked unless it is the only one", "[fetchers][breaker]") {
  const ChaosServer server;
  const std::string bad = block("bad", server.url("status-500"));
  const auto both = fetcher_of(bad + block("good", server.url("ok")));
  const Clock& clock = machine_clock();
  const std::vector<ExpandedQuery> queries = {{"a", "bad", "x"}, {"a", "good", "x"}};
  std::vector<FetchedList> lists;
  for (int i = 0; i < 6; ++i) lists = both->fetch(queries, {.deadline = Deadline(clock, seconds(2))}, {});
  CHECK(lists[0].failure == Failure::breaker_open);
  CHECK(lists[1].failure == Failure::none);
  const int before = server.requests();
  both->fetch(queries, {.deadline = Deadline(clock, seconds(2))}, {});
  CHECK(server.requests() == before + 1);
  const auto alone = fetcher_of(bad);
  for (int i = 0; i < 7; ++i) CHECK(fetch_one(*alone, "bad").failure == Failure::http_status);
}

TEST_CASE("Pages are requested until the depth is reached", "[fetchers][paging]") {
  const ChaosServer server;
  const auto paged = [&](const std::string& more) {
    return fetcher_of(block("p", server.url("ok") + "&p={pageno}", "paging: true" + more));
  };
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "p", "x"};
  // Every page has the same three results, which are merged; a depth of 30 takes three pages of ten.
  const auto list =
      paged("")->fetch({&query, 1}, {.depth = 30, .deadline = Deadline(clock, seconds(2))}, {}).front();
  CHECK(list.list.hits.size() == 3);
  CHECK(server.requests() == 3);
  CHECK(server.last_request().find("p=3") != std::string::npos);
  const int before = server.requests();
  paged(", page_size: 10")->fetch({&query, 1}, {.depth = 20, .deadline = Deadline(clock, seconds(2))}, {});
  CHECK(server.requests() == before + 2);
}

TEST_CASE("The text of a query stays a value in the request", "[fetchers][request]") {
  const ChaosServer server;
  const auto fetcher = fetcher_of(block("e", server.url("ok")));
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "e", "a&b=c d#e\r\nX-Evil: 1/ä"};
  fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(2))}, {});
  CHECK(
      server.last_request().starts_with("GET /ok?q=a%26b%3Dc+d%23e%0D%0AX-Evil%3A+1%2F%C3%A4 HTTP/1.1\r\n"));
}

TEST_CASE("An engine reaches only the private address of its own definition", "[fetchers][ssrf]") {
  const ChaosServer server, other;
  CHECK(fetch_one(*fetcher_of(block("own", server.url("ok"))), "own").failure == Failure::none);
  const auto redirected = fetcher_of(block("r", "http://" + server.origin() + "/redirect-private?q={query}"));
  CHECK(fetch_one(*redirected, "r").failure == Failure::not_allowed);
  CHECK(other.requests() == 0);
}

TEST_CASE("Federation counts hops and never reaches this server itself", "[fetchers][federation]") {
  const ChaosServer server;
  const std::string blocks =
      "  - {name: f, engine: searx_engine, base_url: \"http://" + server.origin() + "/ok\"}\n";
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "f", "x"};
  const auto fetcher = fetcher_of(blocks);
  FetchOptions options{.deadline = Deadline(clock, seconds(2))};
  options.hops = 1;
  fetcher->fetch({&query, 1}, options, {});
  CHECK(server.last_request().find("X-Metafuse-Hops: 2\r\n") != std::string::npos);
  options.hops = 2;
  CHECK(fetcher->fetch({&query, 1}, options, {}).front().failure == Failure::not_allowed);
  const auto looped = fetcher_of(blocks, {.own_addresses = {server.origin()}});
  CHECK(fetch_one(*looped, "f").failure == Failure::not_allowed);
}

TEST_CASE("A replay answers as recorded and reports requests that were not", "[fetchers][har]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("archive.har");
  std::string blocks;
  FetchedList live, fault;
  {
    const ChaosServer server;
    blocks =
        block("e", server.url("ok"), "headers: {X-Key: \"${KEY}\"}") + block("f", server.url("status-500"));
    FetcherOptions options;
    options.recording = FetcherOptions::Recording::record;
    options.recording_file = path;
    options.secret_of = [](std::string_view) { return std::optional<std::string>("s3cret"); };
    const auto fetcher = fetcher_of(blocks, options);
    live = fetch_one(*fetcher, "e");
    fault = fetch_one(*fetcher, "f");
    CHECK(server.requests() == 2);
    CHECK(live.requests == 1);
  }
  FetcherOptions options;
  options.recording = FetcherOptions::Recording::replay;
  options.recording_file = path;
  const auto replay = fetcher_of(blocks, options);
  for (int i = 0; i < 2; ++i) {
    const FetchedList again = fetch_one(*replay, "e");
    CHECK(again.list == live.list);
    CHECK(again.requests == 0);
    CHECK(fetch_one(*replay, "f").message == fault.message);
  }
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "e", "never asked"};
  const auto missing = replay->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(2))}, {}).front();
  CHECK(missing.failure == Failure::not_recorded);
  CHECK(missing.message.find("/ok?q=never+asked") != std::string::npos);
}

TEST_CASE("A missing secret is named before anything is sent", "[fetchers][secrets]") {
  auto fetcher = make_fetcher(engines_of(block("e", "http://e.example/?q={query}&key=${SEARCH_KEY}")));
  REQUIRE_FALSE(fetcher.has_value());
  CHECK(fetcher.error().text.find("SEARCH_KEY") != std::string::npos);
}
