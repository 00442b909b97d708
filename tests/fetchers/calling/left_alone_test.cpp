// When an engine is asked, waited for and left alone, tested with scripted answers: which failures count
// against it, for how long it is then not asked, and what a probe, a late answer and the time left decide.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/calling/earlier_fetchers.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// An engine `e` with scripted answers beside one that always answers, because the breaker never blocks the
/// only engine of a search.
struct Pair {
  explicit Pair(const std::string& more = "") {
    script.answer = [this](const EngineRequest& request) {
      if (request.engine != "e") return answer_of(kOneResult);
      ++asked;
      return answer;
    };
    FetcherOptions options = scripted_options(script);
    options.clock = &clock;
    fetcher = fetcher_of(
        block("e", "http://e.example/?q={query}", more) + block("good", "http://good.example/?q={query}"),
        options);
  }

  FetchedList ask() {
    const std::vector<ExpandedQuery> queries = {{"t", "e", "x"}, {"t", "good", "x"}};
    return fetcher->fetch(queries, {.deadline = Deadline(clock, seconds(5))}, {}).front();
  }

  /// Whether engine `e` is asked, possibly by a probe.
  bool is_asked() {
    const int before = asked;
    ask();
    return asked > before;
  }

  /// The same for a fetch that names no other engine.
  bool ask_it_alone() {
    const int before = asked;
    const ExpandedQuery query{"t", "e", "x"};
    fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {});
    return asked > before;
  }

  ManualClock clock;
  Script script;
  HttpAnswer answer;
  int asked = 0;
  std::shared_ptr<Fetcher> fetcher;
};

}  // namespace

TEST_CASE("An engine is not asked for as long as its 429 or 503 requests", "[fetchers][security][breaker]") {
  struct Row {
    int status;
    std::string retry_after, date;
    int seconds;  // 0: the engine is asked again at once
  };
  const std::string ten = "Sun, 22 Nov 2026 10:00:00 GMT";
  const std::vector<Row> rows = {
      {429, "120", "", 120},
      {503, "120", "", 120},
      {500, "120", "", 0},
      {502, "120", "", 0},
      {404, "120", "", 0},
      {403, "120", "", 0},
      {429, "", "", 0},
      {429, "0", "", 2},  // the usual pause of an open breaker
      {429, "2.5", "", 2},
      {429, "3", "", 3},
      {429, "3600", "", 3600},
      {429, "3601", "", 3600},
      {429, "9999999", "", 3600},
      {429, "-5", "", 0},
      {429, "soon", "", 0},
      {429, "Sun, 22 Nov 2026 10:02:00 GMT", ten, 120},
      {503, "Sun, 22 Nov 2026 10:02:00 GMT", ten, 120},
      {429, ten, ten, 2},
      {429, "Sun, 22 Nov 2026 09:59:59 GMT", ten, 0},
      {429, "Sun, 22 Nov 2026 10:02:00 GMT", "", 0},
  };
  for (const Row& row : rows) {
    INFO(row.status << ", Retry-After: " << row.retry_after << ", Date: " << row.date);
    Pair pair;
    StringPairs headers;
    if (!row.retry_after.empty()) headers.emplace_back("retry-after", row.retry_after);
    if (!row.date.empty()) headers.emplace_back("date", row.date);
    pair.answer = status_answer(row.status, headers);
    REQUIRE(pair.is_asked());
    if (row.seconds == 0) {
      CHECK(pair.is_asked());
      continue;
    }
    pair.clock.advance(seconds(row.seconds) - milliseconds(1));
    CHECK_FALSE(pair.is_asked());
    pair.clock.advance(seconds(row.retry_after == "2.5" ? 1 : 0) + milliseconds(1));
    CHECK(pair.is_asked());
  }
}

TEST_CASE("Five failures in a row open the breaker if they are the engine's own",
          "[fetchers][security][breaker]") {
  std::vector<std::pair<HttpAnswer, bool>> rows;
  for (const auto& [status, is_own] : std::vector<std::pair<int, bool>>{
           {400, false}, {401, false}, {404, false}, {499, false}, {429, true}, {500, true}, {599, true}})
    rows.emplace_back(answer_of("no", status), is_own);
  for (const auto& [failure, is_own] : std::vector<std::pair<Failure, bool>>{{Failure::timeout, true},
                                                                             {Failure::refused, true},
                                                                             {Failure::tls, true},
                                                                             {Failure::bad_answer, false},
                                                                             {Failure::too_large, false},
                                                                             {Failure::rate_limited, false},
                                                                             {Failure::not_allowed, false}})
    rows.emplace_back(failed_answer(failure), is_own);
  for (const auto& [answer, is_own] : rows) {
    INFO(answer.status << ' ' << name_of(answer.failure));
    Pair pair;
    pair.answer = answer;
    for (int i = 0; i < 5; ++i) CHECK(pair.is_asked());
    CHECK(pair.is_asked() == !is_own);
  }
  // an answer in between starts the count again
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    pair.answer = answer_of("no", 500);
    for (int i = 0; i < 4; ++i) CHECK(pair.is_asked());
    pair.answer = answer_of(kOneResult);
    CHECK(pair.is_asked());
  }
}

TEST_CASE("A probe closes the breaker or doubles the pause even if it was forced", "[fetchers][breaker]") {
  Pair pair;
  const auto fail_often = [&] {
    pair.answer = answer_of("no", 500);
    for (int i = 0; i < 5; ++i) CHECK(pair.is_asked());
    CHECK_FALSE(pair.is_asked());
  };
  fail_often();
  for (const int pause : {2, 4, 8}) {
    pair.clock.advance(seconds(pause) - milliseconds(1));
    CHECK_FALSE(pair.is_asked());
    pair.clock.advance(milliseconds(1));
    CHECK(pair.is_asked());
  }
  pair.clock.advance(seconds(16));
  pair.answer = answer_of("no", 404);  // an answer, even though it refuses the query
  CHECK(pair.is_asked());
  CHECK(pair.is_asked());
  // asked because there is no other engine
  fail_often();
  pair.answer = answer_of("no", 404);
  CHECK(pair.ask_it_alone());
  CHECK(pair.is_asked());
  fail_often();
  pair.clock.advance(seconds(1));
  CHECK(pair.ask_it_alone());  // this probe fails too, so the pause is doubled from now on
  pair.clock.advance(seconds(4) - milliseconds(1));
  CHECK_FALSE(pair.is_asked());
  pair.clock.advance(milliseconds(1));
  CHECK(pair.is_asked());
}

TEST_CASE("If all engines are blocked the one that is due next is asked", "[fetchers][breaker]") {
  ManualClock clock;
  Script script{[](const EngineRequest& request) {
                  return status_answer(429, {{"retry-after", request.engine == "near" ? "50" : "100"}});
                },
                {}};
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  const auto fetcher =
      fetcher_of(block("far", "http://f.example/?q={query}") + block("near", "http://n.example/?q={query}") +
                     block("farther", "http://r.example/?q={query}"),
                 options);
  const std::vector<ExpandedQuery> queries = {{"t", "far", "x"}, {"t", "near", "x"}, {"t", "farther", "x"}};
  const auto asked = [&] {
    script.requests.clear();
    fetcher->fetch(queries, {.deadline = Deadline(clock, seconds(5))}, {});
    std::vector<std::string> out;
    for (const EngineRequest& request : script.requests) out.push_back(request.engine);
    return out;
  };
  CHECK(asked().size() == 3);
  CHECK(asked() == std::vector<std::string>{"near"});
}

TEST_CASE("An engine with overdue answers is not asked until one arrives unless it is the only one",
          "[fetchers][breaker][deadline]") {
  struct Owing final : Transport {
    Owing(ManualClock& at, HoldingTransport::Held& into) : clock(at), held(into) {}
    void send(EngineRequest request, Done done) override {
      if (request.engine == "good") return done(answer_of(kOneResult));
      clock.advance(seconds(4));  // longer than the engine's own timeout
      held.emplace_back(std::move(request), std::move(done));
    }
    ManualClock& clock;
    HoldingTransport::Held& held;
  };
  HoldingTransport::Held held;
  ManualClock clock;
  FetcherOptions options;
  options.clock = &clock;
  options.run_late = run_at_once;
  options.wrap_transport = [&](std::unique_ptr<Transport>) { return std::make_unique<Owing>(clock, held); };
  const auto fetcher = fetcher_of(
      block("e", "http://e.example/?q={query}", "", "3") + block("good", "http://good.example/?q={query}"),
      options);
  const auto ask = [&](const std::string& text, bool is_alone) {
    std::vector<ExpandedQuery> queries = {{"t", "e", text}};
    if (!is_alone) queries.push_back({"t", "good", text});
    return fetcher->fetch(queries, {.deadline = Deadline(clock, seconds(2))}, {}).front().failure;
  };
  CHECK(ask("a", false) == Failure::timeout);
  CHECK(ask("b", false) == Failure::breaker_open);
  CHECK(held.size() == 1);
  held[0].second(answer_of("no", 404));  // any answer counts
  CHECK(ask("c", false) == Failure::timeout);
  CHECK(held.size() == 2);
  CHECK(ask("d", false) == Failure::breaker_open);
  CHECK(ask("e", true) == Failure::timeout);
  CHECK(held.size() == 3);
  held[2].second(answer_of(kOneResult));  // one of its two overdue answers
  CHECK(ask("f", false) == Failure::timeout);
  CHECK(held.size() == 4);
}

TEST_CASE("An engine is asked only if at least half of its quickest time is left",
          "[fetchers][deadline][security]") {
  ManualClock clock;
  Script script{[&](const EngineRequest&) {
                  clock.advance(milliseconds(100));
                  return answer_of(kOneResult);
                },
                {}};
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  const auto fetcher = fetcher_of(block("e", "http://e.example/?q={query}"), options);
  const auto is_asked = [&](Duration wait) {
    const std::size_t before = script.requests.size();
    const ExpandedQuery query{"t", "e", std::to_string(before)};
    fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, wait)}, {});
    return script.requests.size() > before;
  };
  for (int i = 0; i < 15; ++i) CHECK(is_asked(seconds(5)));
  CHECK(is_asked(milliseconds(1)));  // its times are not known yet
  CHECK(is_asked(seconds(5)));
  CHECK(is_asked(milliseconds(50)));
  CHECK_FALSE(is_asked(milliseconds(50) - std::chrono::microseconds(1)));
}

TEST_CASE("No engine is waited for beyond the deadline however slow it usually is", "[fetchers][deadline]") {
  ManualClock clock;
  bool hangs = false;
  struct Slow final : Transport {
    Slow(ManualClock& at, const bool& is_hanging) : clock(at), hangs(is_hanging) {}
    void send(EngineRequest request, Done done) override {
      if (!hangs || request.engine == "good") return done(answer_of(kOneResult));
      clock.advance(seconds(2));
    }
    ManualClock& clock;
    const bool& hangs;
  };
  FetcherOptions options;
  options.clock = &clock;
  options.learned_wait = {.floor = seconds(10), .ceiling = seconds(20)};
  options.wrap_transport = [&](std::unique_ptr<Transport>) { return std::make_unique<Slow>(clock, hangs); };
  const auto fetcher = fetcher_of(
      block("good", "http://good.example/?q={query}") + block("e", "http://e.example/?q={query}", "", "60"),
      options);
  const std::vector<ExpandedQuery> queries = {{"t", "good", "x"}, {"t", "e", "x"}};
  const auto ask = [&] { return fetcher->fetch(queries, {.deadline = Deadline(clock, seconds(1))}, {}); };
  for (int i = 0; i < 16; ++i) CHECK(ask()[1].failure == Failure::none);
  hangs = true;
  const auto lists = ask();
  CHECK(lists[0].failure == Failure::none);
  CHECK(lists[1].failure == Failure::timeout);
  CHECK(lists[1].message.find("the deadline of the search") != std::string::npos);
}

TEST_CASE("A probe that our own limits kept back leaves the breaker open", "[fetchers][breaker]") {
  for (const Failure failure : {Failure::rate_limited, Failure::not_allowed}) {
    Pair pair;
    pair.answer = answer_of("no", 500);
    for (int i = 0; i < 5; ++i) CHECK(pair.is_asked());
    pair.clock.advance(seconds(2));
    pair.answer = failed_answer(failure);
    CHECK(pair.ask().failure == Failure::breaker_open);
    CHECK(pair.ask().failure == Failure::breaker_open);
    pair.answer = answer_of(kOneResult);
    CHECK(pair.is_asked());  // the next probe is due at once
    CHECK(pair.ask().failure == Failure::none);
  }
}

TEST_CASE("A query that is none for an engine says nothing about it", "[fetchers][breaker]") {
  Pair pair("query_pattern: '^([a-z])$'");
  pair.answer = answer_of("no", 500);
  for (int i = 0; i < 5; ++i) CHECK(pair.is_asked());
  pair.clock.advance(seconds(2));
  const std::vector<ExpandedQuery> queries = {{"t", "e", "no letter"}, {"t", "good", "x"}};
  pair.fetcher->fetch(queries, {.deadline = Deadline(pair.clock, seconds(5))}, {});
  CHECK(pair.ask().failure == Failure::breaker_open);
}

TEST_CASE("A fetcher takes over what earlier ones know of the same engines", "[fetchers][breaker]") {
  ManualClock clock;
  HoldingTransport::Held held;
  bool holds = false;
  struct Sometimes final : Transport {
    Sometimes(HoldingTransport::Held& into, const bool& is_holding) : held(into), holds(is_holding) {}
    void send(EngineRequest request, Done done) override {
      if (request.engine == "good") return done(answer_of(kOneResult));
      if (!holds) return done(status_answer(429, {{"retry-after", "100"}}));
      held.emplace_back(std::move(request), std::move(done));
    }
    HoldingTransport::Held& held;
    const bool& holds;
  };
  const auto earlier = std::make_shared<EarlierFetchers>();
  const auto made = [&](const std::string& more = "") {
    FetcherOptions options;
    options.clock = &clock;
    options.run_late = run_at_once;
    options.earlier = earlier;
    options.wrap_transport = [&](std::unique_ptr<Transport>) {
      return std::make_unique<Sometimes>(held, holds);
    };
    return fetcher_of(
        block("e", "http://e.example/?q={query}", more) + block("good", "http://good.example/?q={query}"),
        options);
  };
  const auto ask = [&](Fetcher& fetcher) {
    const std::vector<ExpandedQuery> queries = {{"t", "e", "x"}, {"t", "good", "x"}};
    return fetcher.fetch(queries, {.deadline = Deadline(clock, seconds(5))}, {}).front().failure;
  };
  auto first = made();
  CHECK(ask(*first) == Failure::rate_limited);
  CHECK(ask(*made("weight: 2")) == Failure::rate_limited);  // another definition, and one that is not used
  auto second = made();
  CHECK(ask(*second) == Failure::breaker_open);
  first.reset();
  clock.advance(seconds(100));
  holds = true;
  CHECK(ask(*second) == Failure::breaker_open);
  CHECK(held.size() == 1);  // a probe, whose outcome only the fetcher learns that sent it
  const auto third = made();
  CHECK(ask(*third) == Failure::breaker_open);
  CHECK(held.size() == 2);
  held[1].second(answer_of(R"({"results":[]})"));
  holds = false;
  CHECK(ask(*third) == Failure::rate_limited);
}
