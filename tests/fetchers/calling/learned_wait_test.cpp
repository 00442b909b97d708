#include "fetchers/calling/learned_wait.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const LearnedWaitOptions wide{.floor = milliseconds(10), .ceiling = seconds(3)};

/// Engine `e` answers "quick" after 5 ms and anything else after 400 ms; the others answer at once. Time
/// passes only while somebody waits.
class PacedTransport final : public Transport {
 public:
  explicit PacedTransport(ManualClock& clock) : clock_(clock) {}
  void send(EngineRequest request, Done done) override {
    if (request.engine != "e") return done(answer_of(kOneResult));
    const bool is_quick = request.url.find("q=quick") != std::string::npos;
    owed_.emplace_back(clock_.now() + milliseconds(is_quick ? 5 : 400), std::move(done));
  }
  bool begin_wait(bool) override { return true; }
  bool work(TimePoint until, const std::function<bool()>& has_news) override {
    if (has_news()) return true;
    const auto next = std::min_element(owed_.begin(), owed_.end(),
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool is_answer = next != owed_.end() && next->first <= until;
    clock_.advance(std::max(Duration(0), (is_answer ? next->first : until) - clock_.now()));
    if (!is_answer) return true;
    const Done done = std::move(next->second);
    owed_.erase(next);
    done(answer_of(kOneResult));
    return true;
  }

 private:
  ManualClock& clock_;
  std::vector<std::pair<TimePoint, Done>> owed_;
};

struct Paced {
  Paced() {
    FetcherOptions options;
    options.clock = &clock;
    options.run_late = run_at_once;
    options.reach_of_name = [](const std::string&) { return Reach::everyone; };
    options.wrap_transport = [this](std::unique_ptr<Transport>) {
      return std::make_unique<PacedTransport>(clock);
    };
    fetcher = fetcher_of(
        block("e", "http://e.example/?q={query}", "", "60") + block("good", "http://good.example/?q={query}"),
        options);
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
  CHECK(paced.ask("hostile", "quick") == Failure::breaker_open);
  CHECK(paced.ask("other", "quick") == Failure::none);
}

TEST_CASE("An engine that owes answers to two senders is left alone by all until it answers",
          "[fetchers][breaker]") {
  OverdueRequests overdue;
  const TimePoint start{seconds(10)};
  CHECK_FALSE(overdue.keep_away("a", {}));
  overdue.add("a", start);
  CHECK(overdue.keep_away("a", {}));
  CHECK(overdue.keep_away("a", start - milliseconds(1)));
  CHECK_FALSE(overdue.keep_away("a", start));
  CHECK_FALSE(overdue.keep_away("c", {}));
  overdue.add("a", start);
  CHECK_FALSE(overdue.keep_away("c", {}));
  overdue.add("b", start + seconds(1));
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
