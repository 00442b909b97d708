#include "fetchers/calling/learned_wait.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/paced_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const LearnedWaitOptions wide{.floor = milliseconds(10), .ceiling = seconds(3)};

/// Engine `e` answers "quick" after 5 ms and anything else after 400 ms; the others answer at once.
struct Paced {
  Paced() {
    const auto pace = [](const EngineRequest& request) -> Duration {
      if (request.engine != "e") return Duration(0);
      return milliseconds(request.url.find("q=quick") != std::string::npos ? 5 : 400);
    };
    fetcher = fetcher_of(
        block("e", "http://e.example/?q={query}", "", "60") + block("good", "http://good.example/?q={query}"),
        paced_options(clock, pace));
  }
  Failure ask(const std::string& sender, const std::string& text) {
    const std::vector<ExpandedQuery> queries = {{"t", "e", text}, {"t", "good", text}};
    return fetcher->fetch(queries, {.deadline = Deadline(clock, seconds(5)), .sender = sender}, {})
        .front()
        .failure;
  }

  ManualClock clock;
  std::shared_ptr<Fetcher> fetcher;
};

}  // namespace

TEST_CASE("The learned wait is 1.5 times the 95th percentile within its bounds", "[fetchers][breaker]") {
  LearnedWait wait;
  CHECK_FALSE(wait.limit("a", wide).has_value());
  for (int i = 1; i <= 20; ++i) wait.add("a", milliseconds(i * 10));
  CHECK(wait.limit("a", wide) == milliseconds(285));  // 19th of 20: 190 ms
  CHECK(wait.limit("a", {.floor = milliseconds(10), .ceiling = milliseconds(200)}) == milliseconds(200));
  LearnedWait quick;
  for (int i = 0; i < 100; ++i) quick.add("a", milliseconds(1));
  CHECK(quick.limit("a", wide) == milliseconds(10));
  CHECK(quick.limit("a") == milliseconds(150));
  LearnedWait new_one;
  for (int i = 0; i < 15; ++i) new_one.add("a", milliseconds(100));
  CHECK_FALSE(new_one.limit("a", wide).has_value());
  CHECK_FALSE(new_one.quickest("a").has_value());
  new_one.add("a", milliseconds(90));
  CHECK(new_one.limit("a", wide) == milliseconds(150));
  CHECK(new_one.quickest("a") == milliseconds(90));
  for (int i = 0; i < 63; ++i) new_one.add("a", milliseconds(100));
  CHECK(new_one.quickest("a") == milliseconds(90));
  new_one.add("a", milliseconds(100));  // only the 64 latest count
  CHECK(new_one.quickest("a") == milliseconds(100));
}

TEST_CASE("One sender's response times do not decide how long others wait", "[fetchers][breaker][security]") {
  for (const Duration chosen : {Duration(milliseconds(1)), Duration(seconds(2))}) {
    LearnedWait wait;
    for (int i = 0; i < 100; ++i) wait.add("hostile", chosen);
    CHECK_FALSE(wait.limit("new", wide).has_value());
    CHECK_FALSE(wait.quickest("new").has_value());
    CHECK(wait.limit("hostile", wide) == std::max(chosen * 3 / 2, wide.floor));
    for (int i = 0; i < 14; ++i) wait.add("sender " + std::to_string(i), milliseconds(100));
    CHECK(wait.limit("new", wide) == milliseconds(150));
    for (int i = 0; i < 62; ++i) wait.add("later sender " + std::to_string(i), milliseconds(200));
    for (int i = 0; i < 100; ++i) wait.add("hostile", chosen);
    CHECK(wait.limit("new", wide) == milliseconds(300));
    CHECK(wait.quickest("new") == std::min(chosen, Duration(milliseconds(200))));
  }
}

TEST_CASE("Two response times of a sender count for others and only the 64 latest",
          "[fetchers][breaker][security]") {
  LearnedWait wait;
  for (int i = 0; i < 5; ++i)
    for (int sender = 0; sender < 8; ++sender) wait.add(std::to_string(sender), milliseconds(10 * (i + 1)));
  CHECK(wait.quickest("new") == milliseconds(40));
  CHECK(wait.limit("new", wide) == milliseconds(75));
  wait.add("0", milliseconds(20));  // replaces its older one
  CHECK(wait.quickest("new") == milliseconds(20));
  for (int i = 0; i < 63; ++i) wait.add("later " + std::to_string(i), milliseconds(100));
  CHECK(wait.quickest("new") == milliseconds(20));
  wait.add("latest", milliseconds(100));
  CHECK(wait.quickest("new") == milliseconds(100));
}

TEST_CASE("The own response times of the 16 latest senders are known", "[fetchers][breaker]") {
  LearnedWait wait;
  for (int sender = 0; sender < 17; ++sender)
    for (int i = 0; i < 16; ++i) wait.add(std::to_string(sender), milliseconds(100 * (sender == 1 ? 3 : 1)));
  CHECK(wait.limit("1", wide) == milliseconds(450));
  CHECK(wait.limit("0", wide) == milliseconds(150));
  wait.add("18", milliseconds(1));  // "1" was used longest ago
  CHECK(wait.limit("1", wide) == milliseconds(450 - 300));
}

TEST_CASE("Quick queries of one sender take no engine from the others", "[fetchers][deadline][security]") {
  Paced paced;
  for (int i = 0; i < 20; ++i) REQUIRE(paced.ask("user " + std::to_string(i), "x") == Failure::none);
  for (int i = 0; i < 64; ++i) REQUIRE(paced.ask("hostile", "quick") == Failure::none);
  for (int i = 0; i < 24; ++i) CHECK(paced.ask("other " + std::to_string(i), "y") == Failure::none);
}

TEST_CASE("An overdue answer to one sender takes no engine from the others",
          "[fetchers][breaker][security]") {
  Paced paced;
  for (int i = 0; i < 16; ++i) REQUIRE(paced.ask("hostile", "quick") == Failure::none);
  CHECK(paced.ask("hostile", "x") == Failure::timeout);
  CHECK(paced.ask("hostile", "x") == Failure::timeout);  // one late answer may have no cause
  CHECK(paced.ask("hostile", "quick") == Failure::breaker_open);
  CHECK(paced.ask("other", "quick") == Failure::none);
}

TEST_CASE("An engine that owes answers to two senders is left alone by all until it answers",
          "[fetchers][breaker]") {
  OverdueRequests overdue;
  const TimePoint start{seconds(10)};
  CHECK_FALSE(overdue.keep_away("a", {}));
  overdue.add("a", start, true);
  CHECK(overdue.keep_away("a", {}));
  CHECK(overdue.keep_away("a", start - milliseconds(1)));
  CHECK_FALSE(overdue.keep_away("a", start));
  CHECK_FALSE(overdue.keep_away("c", {}));
  overdue.add("a", start, true);
  CHECK_FALSE(overdue.keep_away("c", {}));
  overdue.add("b", start + seconds(1), true);
  CHECK(overdue.keep_away("c", {}));
  CHECK_FALSE(overdue.keep_away("c", start));  // it has answered somebody since
  CHECK(overdue.keep_away("b", start));
  overdue.remove("a");
  CHECK(overdue.keep_away("c", {}));
  overdue.remove("a");
  CHECK_FALSE(overdue.keep_away("c", {}));
  CHECK(overdue.keep_away("b", {}));
  overdue.remove("b");
  overdue.remove("b");
  CHECK_FALSE(overdue.keep_away("b", {}));
}

TEST_CASE("An engine is left alone after two answers later than usual or one beyond its time-out",
          "[fetchers][breaker][patience]") {
  OverdueRequests overdue;
  const TimePoint start{seconds(10)};
  overdue.add("a", start, false);
  CHECK_FALSE(overdue.keep_away("a", {}));
  overdue.add("a", start, false);
  CHECK(overdue.keep_away("a", {}));
  CHECK_FALSE(overdue.keep_away("c", {}));
  overdue.remove("a");
  CHECK_FALSE(overdue.keep_away("a", {}));
  overdue.add("a", start + seconds(1), true);
  CHECK(overdue.keep_away("a", start));  // of the two, only the second has not been followed by an answer
}

TEST_CASE("The usual response times are without outliers", "[fetchers][breaker][patience]") {
  LearnedWait wait;
  for (int i = 15; i >= 1; --i) {
    CHECK(wait.usual("a").empty());
    wait.add("a", milliseconds(i * 10));
  }
  CHECK(wait.usual("a").empty());
  wait.add("a", milliseconds(300));  // 2.5 times the 12th of 16, 120 ms
  REQUIRE(wait.usual("a").size() == 16);
  CHECK(wait.usual("a").front() == milliseconds(10));
  CHECK(wait.usual("a").back() == milliseconds(300));
  LearnedWait slow;
  for (int i = 1; i <= 15; ++i) slow.add("a", milliseconds(i * 10));
  slow.add("a", milliseconds(300) + Duration(1));
  CHECK(slow.usual("a").size() == 15);
  CHECK(slow.usual("a").back() == milliseconds(150));
}

TEST_CASE("Half of the searches have all answers by the usual time of the slowest",
          "[fetchers][breaker][patience]") {
  const auto times = [](std::initializer_list<int> in) {
    std::vector<Duration> out;
    for (const int time : in) out.emplace_back(milliseconds(time));
    return out;
  };
  const std::vector<std::vector<Duration>> one = {times({1, 2, 3, 4})};
  CHECK(usual_of_slowest(one) == milliseconds(2));
  // at 2 both have answered in a quarter of the cases, at 3 in nine of sixteen
  const std::vector<std::vector<Duration>> two = {times({1, 2, 3, 4}), times({1, 2, 3, 4})};
  CHECK(usual_of_slowest(two) == milliseconds(3));
  const std::vector<std::vector<Duration>> unlike = {times({1, 2, 3, 4}), times({10, 20, 30, 40})};
  CHECK(usual_of_slowest(unlike) == milliseconds(20));
}
