#include "fetchers/calling/blocking_workers.h"

#include <atomic>
#include <future>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

TEST_CASE("Up to 32 pieces of blocking work run and the others wait", "[fetchers][limits]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  std::atomic<int> begun = 0;
  BlockingWorkers workers;
  const auto work = [&] {
    ++begun;
    end.wait();
  };
  for (int i = 0; i < 300; ++i) CHECK(workers.run(work));
  while (begun < 32) std::this_thread::yield();
  CHECK(workers.waiting() == 268);
  may_end.set_value();
  while (begun < 300) std::this_thread::yield();
}

TEST_CASE("Workers that were stopped have done their running work and take no more", "[fetchers][limits]") {
  std::promise<void> may_end;
  std::promise<void> has_begun;
  std::atomic<int> ended = 0;
  BlockingWorkers workers(1);
  CHECK(workers.run([&] {
    has_begun.set_value();
    may_end.get_future().wait();
    ++ended;
  }));
  has_begun.get_future().wait();
  for (int i = 0; i < 300; ++i) CHECK(workers.run([&] { ++ended; }));
  CHECK(workers.waiting() == 300);
  std::thread stopping([&] { workers.stop(); });
  while (workers.waiting() > 0) std::this_thread::yield();
  may_end.set_value();
  stopping.join();
  CHECK(ended == 1);
  CHECK_FALSE(workers.run([&] { ++ended; }));
  workers.stop();
}

TEST_CASE("Searches of a blocking engine take turns at its connections", "[fetchers][limits][command]") {
  const Clock& clock = machine_clock();
  const auto fetcher = fetcher_of(
      "  - {name: c, engine: command, command: [/bin/sleep, \"{{QUERY}}\"], max_connections: 2}\n");
  const auto fetched = [&](const std::string& sender, const std::string& seconds, std::size_t searches,
                           Duration deadline) {
    const std::vector<ExpandedQuery> queries(searches, {"t", "c", seconds});
    FetchOptions options{.deadline = Deadline(clock, deadline)};
    options.sender = sender;
    std::vector<Failure> out;
    for (const FetchedList& list : fetcher->fetch(queries, options, {})) out.push_back(list.failure);
    return out;
  };
  const TimePoint begin = clock.now();
  CHECK(fetched("a", "0.2", 3, std::chrono::seconds(20)) == std::vector<Failure>(3, Failure::none));
  CHECK(clock.now() - begin >= std::chrono::milliseconds(400));
  // Those that wait for their turn until the end are late, and are not begun afterwards.
  CHECK(fetched("a", "9", 40, std::chrono::milliseconds(300)) == std::vector<Failure>(40, Failure::timeout));
  CHECK(fetched("a", "0.1", 2, std::chrono::seconds(20)) == std::vector<Failure>(2, Failure::none));
  // A sender with many searches does not make another one wait for all of them.
  std::atomic<bool> has_ended = false;
  std::thread many([&] {
    CHECK(fetched("a", "0.3", 12, std::chrono::seconds(20)) == std::vector<Failure>(12, Failure::none));
    has_ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(fetched("b", "0.1", 1, std::chrono::seconds(20)) == std::vector<Failure>(1, Failure::none));
  CHECK_FALSE(has_ended);
  many.join();
  CHECK(fetched("a", "0.1", 300, std::chrono::milliseconds(100)).back() == Failure::rate_limited);
}
