#include <algorithm>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fetchers/calling/engine_state.h"
#include "fetchers/calling/make_fetcher.h"
#include "tests/support/manual_clock.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A second implementation of the rules as a table of states with times in whole milliseconds. It shares no
/// code with the breaker.
struct Model {
  enum State { closed, open, half_open } state = closed;
  long until = 0;
  int failures = 0, openings = 0;

  Breaker::Verdict ask(long now) {
    if (state == closed) return Breaker::Verdict::go;
    if (state == half_open || now < until) return Breaker::Verdict::stay;
    state = half_open;
    return Breaker::Verdict::probe;
  }
  void succeed() { *this = Model{}; }
  void trip(long now, long retry_after) {
    const long backoff[] = {2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 300000};
    long pause = backoff[std::min(openings, 8)];
    if (retry_after >= 0) pause = std::max(pause, std::min(retry_after, 3600000L));
    ++openings;
    state = open;
    until = now + pause;
  }
  void fail(long now, bool is_probe, long retry_after) {
    if (state == closed) {
      if (++failures >= 5 || retry_after >= 0) trip(now, retry_after);
    } else if (is_probe) {
      trip(now, retry_after);
    } else if (retry_after >= 0) {
      until = std::max(until, now + std::min(retry_after, 3600000L));
    }
  }
};

}  // namespace

TEST_CASE("The breaker agrees with its model over 10000 random event sequences", "[fetchers][breaker]") {
  Random random(4);
  for (int sequence = 0; sequence < 10000; ++sequence) {
    test::ManualClock clock;
    const TimePoint origin = clock.now();
    Breaker breaker;
    Model model;
    bool has_probe = false;
    for (int event = 0; event < 40; ++event) {
      const auto now = [&] {
        return static_cast<long>(std::chrono::duration_cast<milliseconds>(clock.now() - origin).count());
      };
      switch (random.below(5)) {
        case 0:
          clock.advance(milliseconds(static_cast<long>(random.below(random.below(2) == 0 ? 3000 : 400000))));
          break;
        case 1: {
          const auto verdict = breaker.ask(clock.now());
          REQUIRE(verdict == model.ask(now()));
          has_probe = has_probe || verdict == Breaker::Verdict::probe;
          break;
        }
        case 2: {
          // Successes are rarer than failures, because otherwise the breaker would never open.
          if (random.below(4) != 0) break;
          breaker.succeeded();
          model.succeed();
          has_probe = false;
          break;
        }
        default: {
          const bool is_probe = has_probe && random.below(2) == 0;
          const long retry_after = random.below(8) == 0 ? static_cast<long>(random.below(7200000)) : -1;
          breaker.failed(clock.now(), is_probe,
                         retry_after < 0 ? std::nullopt : std::optional<Duration>(milliseconds(retry_after)));
          model.fail(now(), is_probe, retry_after);
          has_probe = has_probe && !is_probe;
        }
      }
      REQUIRE(breaker.is_closed() == (model.state == Model::closed));
      if (!breaker.is_closed()) REQUIRE(breaker.open_until() == origin + milliseconds(model.until));
    }
  }
}

TEST_CASE("A breaker opens after five failures in a row and lets one probe through", "[fetchers][breaker]") {
  test::ManualClock clock;
  Breaker breaker;
  for (int i = 0; i < 4; ++i) breaker.failed(clock.now(), false);
  CHECK(breaker.ask(clock.now()) == Breaker::Verdict::go);
  breaker.failed(clock.now(), false);
  CHECK(breaker.ask(clock.now()) == Breaker::Verdict::stay);
  clock.advance(seconds(2));
  CHECK(breaker.ask(clock.now()) == Breaker::Verdict::probe);
  CHECK(breaker.ask(clock.now()) == Breaker::Verdict::stay);
  breaker.failed(clock.now(), true);
  clock.advance(seconds(3));
  CHECK(breaker.ask(clock.now()) == Breaker::Verdict::stay);
  clock.advance(seconds(1));
  CHECK(breaker.ask(clock.now()) == Breaker::Verdict::probe);
  breaker.succeeded();
  CHECK(breaker.ask(clock.now()) == Breaker::Verdict::go);
}

TEST_CASE("Late lists are kept for a minute and the oldest of 256 is removed first", "[fetchers][deadline]") {
  test::ManualClock clock;
  LateLists late;
  CHECK(late.is_empty());
  late.put("a", {}, clock.now());
  CHECK_FALSE(late.is_empty());
  clock.advance(seconds(60));
  CHECK(late.find("a", clock.now()).has_value());
  clock.advance(milliseconds(1));
  CHECK_FALSE(late.find("a", clock.now()).has_value());
  CHECK_FALSE(late.find("b", clock.now()).has_value());
  for (int i = 0; i < 256; ++i) {
    clock.advance(milliseconds(1));
    late.put(std::to_string(i), {}, clock.now());
  }
  CHECK(late.find("0", clock.now()).has_value());
  late.put("one more", {}, clock.now());
  CHECK_FALSE(late.find("0", clock.now()).has_value());
  CHECK(late.find("1", clock.now()).has_value());
  CHECK(late.find("one more", clock.now()).has_value());
}

TEST_CASE("Two requests may be repeated and then one in five and at most ten", "[fetchers][limits]") {
  FetcherState state;
  const auto retries = [&] {
    int count = 0;
    while (state.retries.take()) ++count;
    return count;
  };
  CHECK(retries() == 2);
  for (int i = 0; i < 4; ++i) state.retries.earn();
  CHECK(retries() == 0);
  for (int i = 0; i < 2; ++i) state.retries.earn();
  CHECK(retries() == 1);
  for (int i = 0; i < 1000; ++i) state.retries.earn();
  CHECK(retries() == 10);
}
