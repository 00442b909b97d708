// Bounds of memory, descriptors, threads and waiting time while engines fail, hang or send too much.

#include <chrono>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/fetchers/calling/holdings.h"
#include "tests/support/chaos_server.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

double milliseconds_of(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Faults that make an engine fail at once, each in a different way.
const std::vector<std::string> kQuickFaults = {
    "refuse",   "reset-at-once",    "close-after-request", "garbage",    "truncated",   "bad-chunk-size",
    "gzip-not", "redirect-loop",    "status-429",          "status-500", "captcha-200", "html-instead",
    "empty",    "json-other-shape", "json-error",          "nul-bytes"};

struct Failing {
  std::string blocks;
  std::vector<ExpandedQuery> queries;
};

Failing failing_engines(const ChaosServer& server) {
  Failing out;
  for (const std::string& fault : kQuickFaults) {
    out.blocks += block(fault, server.url(fault));
    out.queries.push_back({"t", fault, "q"});
  }
  return out;
}

/// Repeats the same query while every engine fails, with the breaker and without it.
void check_failing_queries(int rounds) {
  const Holdings before;
  for (const bool uses_breaker : {true, false}) {
    const ChaosServer server;
    const Failing failing = failing_engines(server);
    const auto fetcher = fetcher_of(failing.blocks, {.uses_breaker = uses_breaker});
    const Clock& clock = machine_clock();
    std::size_t heap_after_some = 0;
    for (int i = 0; i < rounds; ++i) {
      const auto lists = fetcher->fetch(failing.queries, {.deadline = Deadline(clock, seconds(2))}, {});
      REQUIRE(lists.size() == failing.queries.size());
      for (const FetchedList& list : lists) REQUIRE((list.has_failed() && !list.message.empty()));
      if (i == rounds / 5) heap_after_some = Holdings().heap_bytes;
    }
    const std::size_t heap = Holdings().heap_bytes;
    const long grown = static_cast<long>(heap) - static_cast<long>(heap_after_some);
    SUCCEED(rounds << " failing queries of 16 engines: heap grew by " << grown << " bytes");
    if (kMeasuresMemory) CHECK(grown < 256 << 10);
  }
  const Holdings after;
  // there may be fewer than before if something of an earlier test has ended only now
  CHECK(after.descriptors <= before.descriptors);
  CHECK(after.threads <= before.threads);
}

}  // namespace

TEST_CASE("Queries that fail at every engine leak nothing", "[fetchers][limits]") {
  check_failing_queries(40);
}

TEST_CASE("A run of 1000 queries that fail at every engine leaks nothing", "[fetchers][limits][full]") {
  check_failing_queries(1000);
}

TEST_CASE("A hung engine delays two searches by its usual time and later ones not at all",
          "[fetchers][limits]") {
  ChaosServer server;
  std::string blocks = block("hung", server.url("ok"), "", "60");  // longer than the test, even on busy cores
  std::vector<ExpandedQuery> queries = {{"t", "hung", "q"}};
  for (int i = 0; i < 15; ++i) {
    blocks += block("good" + std::to_string(i), server.url("ok"));
    queries.push_back({"t", "good" + std::to_string(i), "q"});
  }
  const auto fetcher =
      fetcher_of(blocks, {.learned_wait = {.floor = milliseconds(50), .ceiling = milliseconds(400)}});
  const Clock& clock = machine_clock();
  const auto ask = [&](Duration& took) {
    const TimePoint begin = clock.now();
    auto lists = fetcher->fetch(queries, {.deadline = Deadline(clock, seconds(20))}, {});
    took = clock.now() - begin;
    for (std::size_t i = 1; i < lists.size(); ++i) CHECK(lists[i].failure == Failure::none);
    return lists.front();
  };
  Duration usual{}, twice{}, later{};
  for (int i = 0; i < 20; ++i) REQUIRE(ask(usual).failure == Failure::none);
  server.hang_requests_of("hung");
  queries.front().text = "hung";
  for (int i = 0; i < 2; ++i) {
    const FetchedList waited = ask(twice);
    CHECK(waited.failure == Failure::timeout);
    CHECK(waited.elapsed <= twice);
    CHECK(waited.elapsed < seconds(10));  // neither the engine's timeout nor the deadline of the search
  }
  const int asked = server.hung_requests();
  CHECK(asked == 2);
  for (int i = 0; i < 20; ++i) {
    CHECK(ask(later).failure == Failure::breaker_open);
    CHECK(server.hung_requests() == asked);
  }
  SUCCEED("usual " << milliseconds_of(usual) << " ms, hung " << milliseconds_of(twice) << " ms, afterwards "
                   << milliseconds_of(later) << " ms");
}

TEST_CASE("A body of 200 MB increases memory by at most 2 MiB", "[fetchers][limits]") {
  const ChaosServer server;
  const auto fetcher =
      fetcher_of(block("ok", server.url("ok")) + block("big", server.url("200-mb"), "", "5"));
  REQUIRE(fetch_one(*fetcher, "ok").failure == Failure::none);
  reset_peak();
  const long before = peak_kilobytes();
  CHECK(fetch_one(*fetcher, "big", seconds(6)).failure == Failure::too_large);
  const long grown = peak_kilobytes() - before;
  SUCCEED("resident memory grew by " << grown << " KB");
  if (kMeasuresMemory) CHECK(grown <= 2048);
}
