// When an engine is asked, waited for and left alone, by scripted answers: which failures are its own, for
// how long they keep it from being asked, and what a probe, a late answer and the time left decide.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/fetchers/chaos_engines.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// An engine `e` that answers as told, beside one that always answers: the breaker leaves alone only what is
/// not the last.
struct Pair {
  explicit Pair(const std::string& more = "") {
    script.answer = [this](const HttpRequest& request) {
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

  /// Whether the engine itself is asked, be it as a probe.
  bool is_asked() {
    const int before = asked;
    ask();
    return asked > before;
  }

  /// The same of a fetch that names no other engine.
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

TEST_CASE("an engine is left alone for as long as it asks for, by 429 and 503 alone",
          "[fetchers][security][breaker]") {
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
      {429, "0", "", 2},  // as long as after any failure that opens the breaker
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

TEST_CASE("the fifth failure in a row that is the engine's own opens its breaker, and no other does",
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
  // an answer between them begins a new row
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    pair.answer = answer_of("no", 500);
    for (int i = 0; i < 4; ++i) CHECK(pair.is_asked());
    pair.answer = answer_of(kOneResult);
    CHECK(pair.is_asked());
  }
}

TEST_CASE("the outcome of a probe decides, forced or not, and each failing one doubles the pause",
          "[fetchers][breaker]") {
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
  pair.answer = answer_of("no", 404);  // it answers, whatever it says of the query
  CHECK(pair.is_asked());
  CHECK(pair.is_asked());
  // asked because no other engine is there
  fail_often();
  pair.answer = answer_of("no", 404);
  CHECK(pair.ask_it_alone());
  CHECK(pair.is_asked());
  fail_often();
  pair.clock.advance(seconds(1));
  CHECK(pair.ask_it_alone());  // fails too: open for twice as long from now on
  pair.clock.advance(seconds(4) - milliseconds(1));
  CHECK_FALSE(pair.is_asked());
  pair.clock.advance(milliseconds(1));
  CHECK(pair.is_asked());
}

TEST_CASE("of engines that are all left alone the one whose time is nearest is asked",
          "[fetchers][breaker]") {
  ManualClock clock;
  Script script{[](const HttpRequest& request) {
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
    for (const HttpRequest& request : script.requests) out.push_back(request.engine);
    return out;
  };
  CHECK(asked().size() == 3);
  CHECK(asked() == std::vector<std::string>{"near"});
}

TEST_CASE("an engine that owes an answer is left alone until it gives one, unless it is the only one",
          "[fetchers][breaker][deadline]") {
  struct Owing final : Transport {
    Owing(ManualClock& at, HoldingTransport::Held& into) : clock(at), held(into) {}
    void send(HttpRequest request, Done done) override {
      if (request.engine == "good") return done(answer_of(kOneResult));
      clock.advance(seconds(4));  // longer than its own time-out
      held.emplace_back(std::move(request), std::move(done));
    }
    ManualClock& clock;
    HoldingTransport::Held& held;
  };
  HoldingTransport::Held held;
  ManualClock clock;
  FetcherOptions options;
  options.clock = &clock;
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
  held[0].second(answer_of("no", 404));  // an answer, whatever it says
  CHECK(ask("c", false) == Failure::timeout);
  CHECK(held.size() == 2);
  CHECK(ask("d", false) == Failure::breaker_open);
  CHECK(ask("e", true) == Failure::timeout);
  CHECK(held.size() == 3);
  held[2].second(answer_of(kOneResult));  // one of the two that it owes
  CHECK(ask("f", false) == Failure::timeout);
  CHECK(held.size() == 4);
}

TEST_CASE("an engine is asked where half of its quickest answer's time is left, and not where less is",
          "[fetchers][deadline][security]") {
  ManualClock clock;
  Script script{[&](const HttpRequest&) {
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
  CHECK(is_asked(milliseconds(1)));  // too little is known of it
  CHECK(is_asked(seconds(5)));
  CHECK(is_asked(milliseconds(50)));
  CHECK_FALSE(is_asked(milliseconds(50) - std::chrono::microseconds(1)));
}

TEST_CASE("no engine is waited for beyond the deadline, however long it usually takes",
          "[fetchers][deadline]") {
  ManualClock clock;
  bool hangs = false;
  struct Slow final : Transport {
    Slow(ManualClock& at, const bool& is_hanging) : clock(at), hangs(is_hanging) {}
    void send(HttpRequest request, Done done) override {
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
