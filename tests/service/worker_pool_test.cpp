#include "service/workers/worker_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "service/workers/fair_line.h"
#include "service/workers/load_control.h"
#include "tests/support/manual_clock.h"

using metafuse::SteadyClock;
using metafuse::service::AdmissionControl;
using metafuse::service::ConcurrencyLimit;
using metafuse::service::CoreTime;
using metafuse::service::CoreTimeMeter;
using metafuse::service::FairLine;
using metafuse::service::QueueLimits;
using metafuse::service::WorkerPool;
using metafuse::test::ManualClock;
using std::chrono::milliseconds;

namespace {

const SteadyClock kSteady;

}  // namespace

TEST_CASE("Work is done or given up, each exactly once", "[service][pool]") {
  std::atomic<int> done{0};
  std::atomic<int> given_up{0};
  int refused = 0;
  {
    WorkerPool pool(3, {8, milliseconds(1), 2}, kSteady);
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
  ManualClock clock;
  WorkerPool pool(1, {4, milliseconds(5), 0}, clock);
  std::atomic<bool> was_run{false};
  CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  while (pool.running() == 0) std::this_thread::yield();
  CHECK(pool.try_run([&] { was_run = true; }, [&] { gave_up.set_value(); }));
  clock.advance(milliseconds(5));
  gave_up.get_future().wait();  // for ever, if it were not given up
  CHECK(pool.queued() == 0);
  may_end.set_value();
  pool.stop();
  CHECK_FALSE(was_run);
}

TEST_CASE("A queue is full at its length, which may be changed", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  WorkerPool pool(1, {2, milliseconds(0), 0}, kSteady);
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
  ConcurrencyLimit limit(64);
  ConcurrencyLimit::Time now{};
  const auto after = [&](milliseconds passed, CoreTime spent, milliseconds took) {
    now += passed;
    limit.note(spent, took);
    return limit.at(now, 3);
  };
  const CoreTime rests{milliseconds(10), milliseconds(4)};
  const CoreTime is_pressed{milliseconds(10), milliseconds(6)};
  CHECK(after(milliseconds(100), rests, milliseconds(20)) == 64);
  CHECK(after(milliseconds(20), is_pressed, milliseconds(20)) == 32);
  CHECK(after(milliseconds(5), is_pressed, milliseconds(20)) == 32);  // not yet
  CHECK(after(milliseconds(15), is_pressed, milliseconds(20)) == 16);
  for (const std::size_t expected : {8, 4, 3, 3})
    CHECK(after(milliseconds(20), is_pressed, milliseconds(20)) == expected);
  for (const std::size_t expected : {5, 8, 13, 20})
    CHECK(after(milliseconds(20), rests, milliseconds(20)) == expected);
  // engines take most of the time, whatever else the machine does
  for (const std::size_t expected : {31, 47, 64, 64})
    CHECK(after(milliseconds(20), is_pressed, milliseconds(600)) == expected);
}

TEST_CASE("A thread's time on a core and its wait for one are told apart", "[service][pool]") {
  const CoreTimeMeter meter;
  const CoreTime before = meter.read();
  if (before.ran.count() == 0) {
    std::cout << "SKIPPED: this kernel keeps no account of threads\n";
    return;
  }
  CoreTime spent;
  while (spent.ran < milliseconds(20)) spent = meter.read() - before;  // for ever, if it were not counted
  CHECK(spent.waited >= milliseconds(0));
}

TEST_CASE(
    "Once something was refused, work may wait half of its time, and twice as long with each quiet moment",
    "[service][pool]") {
  AdmissionControl gate;
  AdmissionControl::Time now{};
  now += std::chrono::hours(1);
  const milliseconds took(4);
  const milliseconds longest(16);
  const auto admits = [&](int wait) { return gate.admits(milliseconds(wait), took, longest, now); };
  CHECK(admits(16));
  CHECK_FALSE(admits(17));
  CHECK(admits(2));
  CHECK_FALSE(admits(3));
  for (int i = 0; i < 15; ++i) {
    now += milliseconds(99);
    CHECK_FALSE(admits(3));
  }
  CHECK_FALSE(gate.is_crowded(now + milliseconds(100)));
  for (const int wait : {4, 8, 16}) {
    now += milliseconds(100);
    CHECK(admits(wait));
  }
  CHECK_FALSE(admits(17));
  CHECK_FALSE(admits(3));
}

TEST_CASE("Nothing waits while more is refused than admitted", "[service][pool]") {
  AdmissionControl gate;
  AdmissionControl::Time now{};
  now += std::chrono::hours(1);
  const auto admits = [&](int wait) {
    return gate.admits(milliseconds(wait), milliseconds(4), milliseconds(16), now);
  };
  CHECK(admits(0));
  CHECK_FALSE(admits(17));
  CHECK_FALSE(admits(17));
  CHECK_FALSE(gate.is_crowded(now));
  CHECK(admits(2));
  CHECK_FALSE(admits(17));
  now += milliseconds(20);
  CHECK(admits(0));
  CHECK(gate.is_crowded(now));
  CHECK_FALSE(gate.is_crowded(now + milliseconds(100)));
  CHECK_FALSE(admits(1));
  now += milliseconds(20);  // as many admitted as refused
  CHECK(admits(2));
  CHECK_FALSE(gate.is_crowded(now));
}

TEST_CASE("Those who ask again at once may all fit: the longest wait is allowed now and then",
          "[service][pool]") {
  AdmissionControl gate;
  AdmissionControl::Time now{};
  now += std::chrono::hours(1);
  const auto end = now + std::chrono::seconds(10);
  const auto admits = [&](int wait) {
    return gate.admits(milliseconds(wait), milliseconds(4), milliseconds(16), now);
  };
  CHECK_FALSE(admits(17));
  while (now + milliseconds(50) < end) {
    now += milliseconds(50);
    CHECK_FALSE(admits(3));
  }
  now = end;
  CHECK(admits(16));
}

TEST_CASE("What would wait longer than it may is refused before it waits", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  ManualClock clock;
  WorkerPool pool(1, {100, milliseconds(40), 0}, clock);
  std::promise<void> is_done;
  CHECK(pool.try_run(  // from its time the next ones' is expected: an eighth of it, as the first of eight
      [&] {
        clock.advance(milliseconds(80));
        is_done.set_value();
      },
      [] {}));
  is_done.get_future().wait();
  while (pool.running() > 0) std::this_thread::yield();
  CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  while (pool.running() == 0) std::this_thread::yield();
  // three wait 10, 20 and 30 ms, three quarters of what they may; a fourth would wait longer
  for (int i = 0; i < 3; ++i) CHECK(pool.try_run([] {}, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  pool.set_limits({100, milliseconds(54), 0});
  CHECK(pool.try_run([] {}, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  may_end.set_value();
}

TEST_CASE("What threads are free for does not count as waiting", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  WorkerPool pool(8, {1, milliseconds(0), 0}, kSteady);
  for (int i = 0; i < 9; ++i) CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  may_end.set_value();
}

TEST_CASE("Waiting work is taken in turns by its owner", "[service][pool]") {
  FairLine line;
  metafuse::TimePoint now{};
  const auto push = [&](const std::string& owner) {
    now += milliseconds(1);
    line.push({[] {}, [] {}, now, owner});
  };
  const auto taken = [&] { return line.take().owner; };
  for (int i = 0; i < 4; ++i) push("crowd");
  push("first");
  push("second");
  CHECK(line.size() == 6);
  CHECK(taken() == "crowd");  // the oldest of those that had no turn
  CHECK(taken() == "first");
  CHECK(taken() == "second");  // before the crowd's second, which came earlier
  CHECK(taken() == "crowd");
  push("first");
  CHECK(taken() == "first");  // one runs, two of the crowd's
  line.note_end("crowd");
  line.note_end("crowd");
  CHECK(line.take_oldest().owner == "crowd");
  CHECK(line.size() == 1);
  CHECK(taken() == "crowd");
  CHECK(line.empty());
}

TEST_CASE("An owner waits behind no more of another's work than it has itself", "[service][pool]") {
  FairLine line;
  const auto push = [&](const std::string& owner, int count) {
    for (int i = 0; i < count; ++i) line.push({[] {}, [] {}, {}, owner});
  };
  CHECK(line.turns_for("new") == 1);
  push("crowd", 10);
  push("few", 2);
  CHECK(line.turns_for("new") == 3);     // itself and one of each
  CHECK(line.turns_for("few") == 6);     // its three and three of the crowd's
  CHECK(line.turns_for("crowd") == 13);  // its eleven and both of the few
  line.take();
  CHECK(line.turns_for("crowd") == 13);  // what runs counts as what waits
}

TEST_CASE("A crowd of one owner's work refuses nobody else's", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  WorkerPool pool(1, {2, milliseconds(0), 0}, kSteady);
  CHECK(pool.try_run([&] { end.wait(); }, [] {}, "crowd"));
  while (pool.running() == 0) std::this_thread::yield();
  std::vector<std::string> order;
  const auto send = [&](const std::string& owner) {
    return pool.try_run([&order, owner] { order.push_back(owner); }, [] {}, owner);
  };
  CHECK(send("crowd"));
  CHECK(send("crowd"));
  CHECK_FALSE(send("crowd"));
  CHECK(send("other"));
  may_end.set_value();
  pool.stop();
  CHECK(order == std::vector<std::string>{"other", "crowd", "crowd"});
}
