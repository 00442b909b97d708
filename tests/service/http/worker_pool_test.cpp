#include "service/http/worker_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "service/http/load_control.h"
#include "tests/support/manual_clock.h"
#include "tests/support/skip.h"

using metafuse::machine_clock;
using metafuse::service::AdmissionControl;
using metafuse::service::ConcurrencyLimit;
using metafuse::service::CoreTime;
using metafuse::service::CoreTimeMeter;
using metafuse::service::FairLine;
using metafuse::service::QueueLimits;
using metafuse::service::Room;
using metafuse::service::UsualWork;
using metafuse::service::WorkerPool;
using metafuse::test::ManualClock;
using metafuse::test::skip;
using std::chrono::milliseconds;

TEST_CASE("Each piece of work is done or given up exactly once", "[service][pool]") {
  std::atomic<int> done{0};
  std::atomic<int> given_up{0};
  int refused = 0;
  {
    WorkerPool pool(3, {8, milliseconds(1), 2}, machine_clock());
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

TEST_CASE("Work that waits too long is given up while all threads are busy", "[service][pool]") {
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
  gave_up.get_future().wait();  // would never return if it were not given up
  CHECK(pool.queued() == 0);
  may_end.set_value();
  pool.stop();
  CHECK_FALSE(was_run);
}

TEST_CASE("A queue is full at its maximum length which may be changed", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  WorkerPool pool(1, {2, milliseconds(0), 0}, machine_clock());
  CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  while (pool.running() == 0) std::this_thread::yield();
  CHECK(pool.try_run([] {}, [] {}));
  CHECK(pool.try_run([] {}, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  pool.set_limits({3, milliseconds(0), 0});
  CHECK(pool.try_run([] {}, [] {}));
  may_end.set_value();
}

TEST_CASE("Concurrency shrinks while the cores are busy and grows while they are idle", "[service][pool]") {
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
  // engines take most of the time, however busy the cores are
  for (const std::size_t expected : {31, 47, 64, 64})
    CHECK(after(milliseconds(20), is_pressed, milliseconds(600)) == expected);
}

TEST_CASE("Concurrency grows with the share of time spent waiting for engines", "[service][pool]") {
  UsualWork usual;
  CHECK(usual.took() == milliseconds(0));
  CHECK(usual.running_for(6, 80) == 6);  // nothing is known yet
  for (int i = 0; i < 200; ++i) usual.note({milliseconds(2), milliseconds(3)}, milliseconds(20), false);
  CHECK(usual.took() > milliseconds(19));
  CHECK(usual.running_for(6, 80) == 24);  // each uses a core for a quarter of its time
  CHECK(usual.running_for(6, 10) == 10);
  CHECK(usual.running_for(6, 4) == 4);
  // engines on busy cores are slow too: running more at once would slow them further
  for (int i = 0; i < 200; ++i) usual.note({milliseconds(1), milliseconds(1)}, milliseconds(400), true);
  CHECK(usual.took() > milliseconds(390));
  CHECK(usual.running_for(6, 80) == 24);
  for (int i = 0; i < 200; ++i) usual.note({milliseconds(15), milliseconds(5)}, milliseconds(20), false);
  CHECK(usual.running_for(6, 80) == 6);
  for (int i = 0; i < 200; ++i) usual.note({}, milliseconds(20), false);  // no core time is measured
  CHECK(usual.running_for(6, 80) == 80);
}

TEST_CASE("A thread's time on a core and its wait for a core are measured separately", "[service][pool]") {
  const CoreTimeMeter meter;
  const CoreTime before = meter.read();
  if (before.ran.count() == 0) {
    skip("run it on a kernel that measures how long threads wait (CONFIG_SCHED_INFO)");
    return;
  }
  CoreTime spent;
  while (spent.ran < milliseconds(20)) spent = meter.read() - before;  // endless if not counted
  CHECK(spent.waited >= milliseconds(0));
}

TEST_CASE("After a refusal the allowed wait drops to half the work time and doubles when quiet",
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

TEST_CASE("No work may wait while more is refused than admitted", "[service][pool]") {
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

TEST_CASE("The longest wait is allowed again at times even if refused clients keep retrying",
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

TEST_CASE("Work that would wait too long is refused at once", "[service][pool]") {
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
  // three wait 10, 20 and 30 ms, up to three quarters of the limit; a fourth would wait longer
  for (int i = 0; i < 3; ++i) CHECK(pool.try_run([] {}, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  pool.set_limits({100, milliseconds(54), 0});
  CHECK(pool.try_run([] {}, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  may_end.set_value();
}

TEST_CASE("Work with a free thread does not count as waiting", "[service][pool]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  WorkerPool pool(8, {1, milliseconds(0), 0}, machine_clock());
  for (int i = 0; i < 9; ++i) CHECK(pool.try_run([&] { end.wait(); }, [] {}));
  CHECK_FALSE(pool.try_run([] {}, [] {}));
  may_end.set_value();
}

namespace {

constexpr Room kWide{100, 100, 100};

void push_some(FairLine& line, const std::string& owner, int count) {
  for (int i = 0; i < count; ++i) line.push({[] {}, [] {}, {}, owner});
}

/// Has work of this owner refused until most of it was refused; the owner must have work in the line.
void make_crowd(FairLine& line, const std::string& owner, metafuse::TimePoint& now) {
  const auto refuse = [&] {
    CHECK_FALSE(line.admission(owner)->admits(milliseconds(2), milliseconds(1), milliseconds(1), now));
  };
  refuse();
  now += milliseconds(20);
  refuse();
}

/// A pool with one thread per owner that has measured 10 ms per piece of work; the test decides when it ends.
struct HeldPool {
  HeldPool() : pool(1, {100, milliseconds(40), 0}, clock) {
    std::promise<void> is_done;
    CHECK(pool.try_run(
        [&] {
          clock.advance(milliseconds(80));  // a mean over eight of 10 ms
          is_done.set_value();
        },
        [] {}));
    is_done.get_future().wait();
    while (pool.running() > 0) std::this_thread::yield();
  }
  ~HeldPool() { may_end = 1000; }

  bool send(const std::string& owner) {
    return pool.try_run(
        [this] {
          ++begun;
          while (may_end <= 0) std::this_thread::yield();
          --may_end;
        },
        [] {}, owner);
  }
  void wait_for_begun(int count) const {
    while (begun < count) std::this_thread::yield();  // would never end if they did not run
  }

  std::atomic<int> begun{0};
  std::atomic<int> may_end{0};
  ManualClock clock;
  WorkerPool pool;
};

}  // namespace

TEST_CASE("The owners of waiting work take turns", "[service][pool]") {
  FairLine line;
  metafuse::TimePoint now{};
  const auto push = [&](const std::string& owner) {
    now += milliseconds(1);
    line.push({[] {}, [] {}, now, owner});
  };
  const auto taken = [&] { return line.take(kWide, now).owner; };
  for (int i = 0; i < 4; ++i) push("crowd");
  push("first");
  push("second");
  CHECK(line.size() == 6);
  CHECK(taken() == "crowd");  // the oldest work of the owners that had no turn yet
  CHECK(taken() == "first");
  CHECK(taken() == "second");  // before the crowd's second piece, although that came earlier
  CHECK(taken() == "crowd");
  push("first");
  CHECK(taken() == "first");  // one of its own is running and two of the crowd's
  line.note_end("crowd");
  line.note_end("crowd");
  CHECK(line.take_oldest().owner == "crowd");
  CHECK(line.size() == 1);
  CHECK(taken() == "crowd");
  CHECK(line.size() == 0);
}

TEST_CASE("An owner waits for at most as much of another's work as it has itself", "[service][pool]") {
  FairLine line;
  CHECK(line.turns_for("new", {}) == 1);
  push_some(line, "crowd", 10);
  push_some(line, "few", 2);
  CHECK(line.turns_for("new", {}) == 3);     // its own and one of each other owner
  CHECK(line.turns_for("few", {}) == 6);     // its own three and three of the crowd's
  CHECK(line.turns_for("crowd", {}) == 13);  // its own eleven and both of the other owner's
  line.take(kWide, {});
  CHECK(line.turns_for("crowd", {}) == 13);  // running work counts like waiting work
}

TEST_CASE("No owner takes more places than one owner may have", "[service][pool]") {
  FairLine line;
  const Room room{2, 3, 0};
  push_some(line, "crowd", 5);
  CHECK(line.ready(room, {}) == 2);
  line.take(room, {});
  line.take(room, {});
  CHECK(line.ready(room, {}) == 0);
  push_some(line, "other", 2);
  CHECK(line.ready(room, {}) == 1);
  CHECK(line.take(room, {}).owner == "other");
  line.note_end("crowd");
  CHECK(line.ready(room, {}) == 1);
  CHECK(line.take(room, {}).owner == "crowd");  // each has one running
  line.note_end("crowd");
  line.note_end("other");
  CHECK(line.ready(room, {}) == 2);
  CHECK(line.take(room, {}).owner == "other");  // none of its own is running
}

TEST_CASE("An owner that makes a crowd has separate places and turns", "[service][pool]") {
  FairLine line;
  metafuse::TimePoint now{std::chrono::hours(1)};
  const Room room{100, 3, 1};
  push_some(line, "crowd", 6);
  CHECK(line.admission("few") == nullptr);
  line.take(room, now);
  line.take(room, now);
  CHECK_FALSE(line.is_crowd("crowd", now));
  make_crowd(line, "crowd", now);
  CHECK(line.is_crowd("crowd", now));
  CHECK(line.ready(room, now) == 0);  // two are running and only one may
  push_some(line, "few", 4);
  CHECK_FALSE(line.is_crowd("few", now));
  CHECK(line.turns_for("few", now) == 5);
  CHECK(line.turns_for("crowd", now) == 7);
  CHECK(line.ready(room, now) == 3);
  for (int i = 0; i < 3; ++i) CHECK(line.take(room, now).owner == "few");
  CHECK(line.ready(room, now) == 0);
  line.note_end("crowd");
  CHECK(line.ready(room, now) == 0);
  line.note_end("crowd");
  CHECK(line.ready(room, now) == 1);
  CHECK(line.take(room, now).owner == "crowd");
  const auto later = now + milliseconds(100);  // nothing was refused for that long
  CHECK_FALSE(line.is_crowd("crowd", later));
  CHECK(line.turns_for("few", later) == 9);
}

TEST_CASE("A refused owner is remembered when it comes back unless there were too many", "[service][pool]") {
  FairLine line;
  metafuse::TimePoint now{std::chrono::hours(1)};
  const auto come_and_go = [&](const std::string& owner) {
    line.push({[] {}, [] {}, now, owner});
    line.take(kWide, now);
  };
  const auto refused = [&](int number) {
    const std::string owner = "refused " + std::to_string(number);
    come_and_go(owner);
    make_crowd(line, owner, now);
    line.note_end(owner);
  };
  refused(0);
  come_and_go("another");
  CHECK(line.is_crowd("refused 0", now));
  CHECK(line.admission("refused 0") == nullptr);  // judged like a newcomer: it has no work here
  now += std::chrono::seconds(10);
  come_and_go("a third");
  refused(1);
  SECTION("As many refused owners as are remembered") {
    for (int i = 2; i <= 128; ++i) {
      now -= milliseconds(20);  // so that all are refused at the same time
      refused(i);
    }
    come_and_go("last");
    CHECK(line.is_crowd("refused 1", now));
  }
  SECTION("One refused owner more than are remembered") {
    for (int i = 2; i <= 129; ++i) {
      now -= milliseconds(20);
      refused(i);
    }
    come_and_go("last");
    CHECK_FALSE(line.is_crowd("refused 1", now));
  }
  CHECK(line.turns_for("last", now) == 4);  // owners that have work are never forgotten
}

TEST_CASE("A crowd of one owner does not get the work of others refused", "[service][pool]") {
  HeldPool held;
  CHECK(held.send("crowd"));
  held.wait_for_begun(1);
  for (int i = 0; i < 3; ++i) CHECK(held.send("crowd"));  // 10, 20 and 30 ms
  for (int i = 0; i < 20; ++i) CHECK_FALSE(held.send("crowd"));
  held.clock.advance(milliseconds(20));
  for (int i = 0; i < 20; ++i) CHECK_FALSE(held.send("crowd"));
  CHECK(held.send("other"));  // in another thread than the crowd's
  held.wait_for_begun(2);
  // its own work waits 10, 20 and 30 ms, however long the crowd's would: more than half of one piece's time
  for (int i = 0; i < 3; ++i) CHECK(held.send("other"));
  CHECK_FALSE(held.send("other"));
}

TEST_CASE("Many owners with one piece of work each are refused as fast as one owner", "[service][pool]") {
  HeldPool held;
  for (int i = 1; i <= 4; ++i) {  // 0, 10, 20 and 30 ms
    CHECK(held.send("owner " + std::to_string(i)));
    if (i <= 2) held.wait_for_begun(i);
  }
  CHECK_FALSE(held.send("owner 5"));
  held.may_end = 2;
  held.wait_for_begun(4);
  // two turns of less than 10 ms are before it: it would fit if one like it had not just been refused
  CHECK_FALSE(held.send("owner 6"));
  held.may_end = 2;
  while (held.pool.running() > 0) std::this_thread::yield();
  CHECK(held.send("owner 7"));
}
