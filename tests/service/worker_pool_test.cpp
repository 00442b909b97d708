#include "service/workers/worker_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "service/workers/queue_gate.h"
#include "service/workers/running_limit.h"

using metafuse::service::QueueGate;
using metafuse::service::QueueLimits;
using metafuse::service::RunningLimit;
using metafuse::service::WorkerPool;
using std::chrono::milliseconds;

TEST_CASE("Work is done or given up, each exactly once", "[service][pool]") {
  std::atomic<int> done{0};
  std::atomic<int> given_up{0};
  int refused = 0;
  {
    WorkerPool pool(3, {8, milliseconds(1), 2});
    for (int i = 0; i < 2000; ++i) {
      const bool is_taken = pool.try_run(
          [&] {
            std::this_thread::yield();
            ++done;
          },
          [&] { ++given_up; });
      if (!is_taken) ++refused;
    }
    pool.stop();
    CHECK_FALSE(pool.try_run([] {}, [] {}));
  }
  CHECK(done + given_up + refused == 2000);
  CHECK(done > 0);
}

TEST_CASE("What no thread comes to in time is given up while all threads are busy", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  std::promise<void> gave_up;
  WorkerPool pool(1, {4, milliseconds(5), 0});
  std::atomic<bool> was_run{false};
  CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  while (pool.running() == 0) std::this_thread::yield();
  CHECK(pool.try_run([&] { was_run = true; }, [&] { gave_up.set_value(); }));
  gave_up.get_future().wait();  // for ever, if it were not given up
  CHECK(pool.queued() == 0);
  may_end.set_value();
  pool.stop();
  CHECK_FALSE(was_run);
}

TEST_CASE("A queue is full at its length, which may be changed", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  WorkerPool pool(1, {2, milliseconds(0), 0});
  CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  while (pool.running() == 0) std::this_thread::yield();
  CHECK(pool.try_run([] {}, [] {}));
  CHECK(pool.try_run([] {}, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  pool.set_limits({3, milliseconds(0), 0});
  CHECK(pool.try_run([] {}, [] {}));
  may_end.set_value();
}

TEST_CASE("As few run at once as keep the cores busy, and all where they rest", "[service][pool]") {
  RunningLimit limit(2, 64);
  RunningLimit::Time now{};
  std::chrono::nanoseconds cpu{0};
  const auto after = [&](milliseconds passed, double cores) {
    now += passed;
    cpu += std::chrono::duration_cast<std::chrono::nanoseconds>(cores * passed);
    return limit.at(now, cpu, 3);
  };
  CHECK(after(milliseconds(100), 0.1) == 64);
  CHECK(after(milliseconds(20), 1.5) == 32);
  CHECK(after(milliseconds(5), 0.0) == 32);  // not yet
  for (const std::size_t expected : {16, 8, 4, 3, 3}) CHECK(after(milliseconds(20), 1.5) == expected);
  for (const std::size_t expected : {5, 8, 13, 20, 31, 47, 64, 64})
    CHECK(after(milliseconds(20), 0.2) == expected);
}

TEST_CASE("A queue that was full is cut short, and doubles while nobody is refused", "[service][pool]") {
  QueueGate gate;
  QueueGate::Time now{};
  now += std::chrono::hours(1);
  CHECK(gate.admits(15, 4, 16, now));
  CHECK_FALSE(gate.is_crowded(now));
  CHECK_FALSE(gate.admits(16, 4, 16, now));
  CHECK(gate.is_crowded(now));
  CHECK(gate.admits(1, 4, 16, now));
  CHECK(gate.admits(0, 0, 16, now));  // nothing runs, and yet one may wait
  CHECK_FALSE(gate.admits(1, 0, 16, now));
  for (int i = 0; i < 15; ++i) CHECK_FALSE(gate.admits(2, 4, 16, now += milliseconds(99)));
  CHECK_FALSE(gate.is_crowded(now + milliseconds(100)));
  for (const std::size_t places : {4, 8, 16}) {
    now += milliseconds(100);
    CHECK(gate.admits(places - 1, 4, 16, now));
  }
  CHECK_FALSE(gate.admits(16, 4, 16, now));
  CHECK_FALSE(gate.admits(2, 4, 16, now));
}

TEST_CASE("Those who ask again at once may all fit: the whole queue is tried now and then",
          "[service][pool]") {
  QueueGate gate;
  QueueGate::Time now{};
  now += std::chrono::hours(1);
  const auto end = now + std::chrono::seconds(10);
  CHECK_FALSE(gate.admits(16, 4, 16, now));
  while (now + milliseconds(50) < end) CHECK_FALSE(gate.admits(2, 4, 16, now += milliseconds(50)));
  CHECK(gate.admits(15, 4, 16, end));
}

TEST_CASE("What threads are free for does not count as waiting", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  WorkerPool pool(8, {1, milliseconds(0), 0});
  for (int i = 0; i < 9; ++i) CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  may_end.set_value();
}
