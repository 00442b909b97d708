#include "fetchers/calling/blocking_workers.h"

#include <atomic>
#include <cstdint>
#include <future>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

TEST_CASE("Up to 32 pieces of blocking work run and 256 wait and the next is refused", "[fetchers][limits]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  std::atomic<int> begun = 0;
  BlockingWorkers workers;
  const auto work = [&] {
    ++begun;
    end.wait();
  };
  for (int i = 0; i < 32; ++i) CHECK(workers.run(work));
  while (begun < 32) std::this_thread::yield();
  for (int i = 0; i < 256; ++i) CHECK(workers.run(work));
  CHECK_FALSE(workers.run(work));
  CHECK(begun == 32);
  may_end.set_value();
  while (begun < 288) std::this_thread::yield();
}

TEST_CASE("Workers that were stopped have done their running work and take no more", "[fetchers][limits]") {
  std::promise<void> may_end;
  std::promise<void> has_begun;
  std::atomic<int> ended = 0;
  BlockingWorkers workers(1, SIZE_MAX);
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

TEST_CASE("A blocking engine has at most as many simultaneous searches as it allows",
          "[fetchers][limits][command]") {
  const auto fetcher = fetcher_of(
      "  - {name: c, engine: command, command: [/bin/sleep, \"{{QUERY}}\"], max_connections: 2}\n");
  const SteadyClock clock;
  const auto fetched = [&](const std::vector<ExpandedQuery>& queries) {
    std::vector<Failure> out;
    for (const FetchedList& list :
         fetcher->fetch(queries, {.deadline = Deadline(clock, std::chrono::seconds(20))}, {}))
      out.push_back(list.failure);
    return out;
  };
  const std::vector<ExpandedQuery> three(3, {"t", "c", "0.2"});
  for (int round = 0; round < 3; ++round)  // the places are free again
    CHECK(fetched(three) == std::vector<Failure>{Failure::none, Failure::none, Failure::rate_limited});
}
