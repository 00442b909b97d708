#include "service/worker_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using metafuse::service::QueueLimits;
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
