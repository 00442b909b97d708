// How long a search waits for what is missing, and when it asks another instance of an engine. Time passes
// by a manual clock, so every limit is tried at its last moment and just beyond it.

#include "fetchers/calling/patience.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/paced_transport.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Duration kUsual = milliseconds(200);
const std::string kSecond = "instances: [\"http://second.example\"]";

/// Engines named by letters; each takes 200 ms unless the test says otherwise.
struct Search {
  explicit Search(std::string letters, const std::string& more = "", const LearnedWaitOptions& wait = {})
      : names(std::move(letters)) {
    std::string blocks;
    for (const char name : names)
      blocks +=
          block(std::string(1, name), "http://" + std::string(1, name) + ".example/?q={query}", more, "60");
    const auto pace = [this](const EngineRequest& request) {
      ++asked[request.engine];
      const auto at = takes.find(request.engine);
      return at == takes.end() ? std::optional<Duration>(kUsual) : at->second;
    };
    FetcherOptions options = paced_options(clock, pace, [this](const EngineRequest& request) {
      return failing.contains(request.engine) ? answer_of("no", 500) : answer_of(kOneResult);
    });
    options.learned_wait = wait;
    fetcher = fetcher_of(blocks, std::move(options));
  }

  std::vector<FetchedList> ask(const std::string& text = "x", const std::string& sender = "me") {
    std::vector<ExpandedQuery> queries;
    for (const char name : names) queries.push_back({"t", std::string(1, name), text});
    const TimePoint start = clock.now();
    auto lists = fetcher->fetch(queries, {.deadline = Deadline(clock, seconds(30)), .sender = sender}, {});
    took = clock.now() - start;
    return lists;
  }

  void ask_often(int times = 16) {
    for (int i = 0; i < times; ++i)
      for (const FetchedList& list : ask("usual")) REQUIRE_FALSE(list.has_failed());
  }

  std::string names;
  ManualClock clock;
  std::map<std::string, std::optional<Duration>> takes;
  std::set<std::string> failing;
  std::map<std::string, int> asked;
  Duration took{};
  std::shared_ptr<Fetcher> fetcher;
};

}  // namespace

TEST_CASE("Once three quarters of the lists are there the rest has 1.05 times the usual",
          "[fetchers][deadline][patience]") {
  for (const auto& [late, is_there] : std::vector<std::pair<Duration, bool>>{
           {milliseconds(210), true}, {milliseconds(210) + Duration(1), false}, {seconds(20), false}}) {
    Search search("abcd");
    search.ask_often();
    search.takes["d"] = late;
    CHECK(search.ask()[3].has_failed() == !is_there);
    CHECK(search.took == milliseconds(210));
  }
  // two of four: as long as the engines' own learned waits
  Search search("abcd");
  search.ask_often();
  search.takes["c"] = search.takes["d"] = std::nullopt;
  const auto lists = search.ask();
  CHECK(lists[3].failure == Failure::timeout);
  CHECK(lists[3].message.find("longer than it usually takes") != std::string::npos);
  CHECK(search.took == milliseconds(300));
}

TEST_CASE("An engine that is usually slow is waited for", "[fetchers][deadline][patience]") {
  Search search("abcd");
  search.takes["d"] = seconds(1);
  search.ask_often();
  CHECK_FALSE(search.ask()[3].has_failed());
  search.takes["a"] = milliseconds(900);  // costs nothing while d is waited for, however unusual
  CHECK_FALSE(search.ask()[0].has_failed());
  search.takes["d"] = milliseconds(1051);
  CHECK(search.ask()[3].failure == Failure::timeout);
  CHECK(search.took == milliseconds(1050));
}

TEST_CASE("An engine's own usual time counts where the slowest of all usually come sooner",
          "[fetchers][deadline][patience]") {
  // a quarter of d's answers take 280 ms, and those of the others 200
  Search search("abcd");
  for (int i = 0; i < 16; ++i) {
    search.takes["d"] = milliseconds(i % 4 == 0 ? 280 : 200);
    for (const FetchedList& list : search.ask("usual")) REQUIRE_FALSE(list.has_failed());
  }
  search.takes["d"] = std::nullopt;
  search.ask();
  CHECK(search.took == milliseconds(294));
}

TEST_CASE("The floor of learned waits holds and without them the deadline",
          "[fetchers][deadline][patience]") {
  Search search("abcd", "", {.floor = milliseconds(280)});
  search.ask_often();
  search.takes["d"] = milliseconds(280);
  CHECK_FALSE(search.ask()[3].has_failed());
  search.takes["d"] = milliseconds(281);
  CHECK(search.ask()[3].has_failed());
  Search patient("abcd", "", {.is_on = false});
  patient.ask_often();
  patient.takes["d"] = seconds(29);
  CHECK_FALSE(patient.ask()[3].has_failed());
}

TEST_CASE("An engine whose times are not known is waited for as before", "[fetchers][deadline][patience]") {
  Search search("abcd");
  search.ask_often(15);
  search.takes["d"] = seconds(29);
  CHECK_FALSE(search.ask()[3].has_failed());
}

TEST_CASE("What one sender learned does not shorten another's wait", "[fetchers][security][patience]") {
  Search search("abcd");
  for (const char* engine : {"a", "b", "c", "d"}) search.takes[engine] = milliseconds(1);
  for (int i = 0; i < 64; ++i) search.ask("quick", "hostile");
  search.takes["d"] = milliseconds(400);
  CHECK_FALSE(search.ask("x", "other")[3].has_failed());
  CHECK(search.ask("x", "hostile")[3].has_failed());
}

TEST_CASE("A late list is there for the next query and one late answer does not keep the engine away",
          "[fetchers][deadline][patience]") {
  Search search("abcd");
  search.ask_often();
  search.takes["d"] = milliseconds(300);
  CHECK(search.ask("late")[3].has_failed());
  const int before = search.asked["d"];
  search.takes["d"] = std::nullopt;
  CHECK(search.ask("other")[3].failure == Failure::timeout);
  CHECK(search.asked["d"] == before + 1);
  CHECK_FALSE(search.ask("late")[3].has_failed());  // came meanwhile
  CHECK(search.ask("third")[3].failure == Failure::timeout);
  CHECK(search.ask("fourth")[3].failure == Failure::breaker_open);
}

TEST_CASE("A search that left early has nothing asked twice by the next for the same",
          "[fetchers][deadline][patience]") {
  Search search("abcd");
  search.ask_often();
  search.takes["d"] = milliseconds(300);
  const auto lists = search.ask("again");
  CHECK(lists[3].is_left_early);
  const auto before = search.asked;
  search.clock.advance(seconds(1));
  search.ask("other");  // d's answer for the first arrives
  for (const FetchedList& list : search.ask("again")) CHECK_FALSE(list.has_failed());
  for (const char* engine : {"a", "b", "c", "d"}) CHECK(search.asked[engine] == before.at(engine) + 1);
}

TEST_CASE("A late answer is asked for at a second instance whose answer may win",
          "[fetchers][deadline][hedge]") {
  Search search("e", kSecond);
  search.ask_often(55);  // 2 % of which is one request and a bit
  CHECK(search.asked["e (2)"] == 0);
  search.takes["e"] = milliseconds(240) - Duration(1);  // 1.2 times the usual
  CHECK(search.ask()[0].hedge == Hedge::none);
  search.takes["e"] = seconds(2);
  search.takes["e (2)"] = milliseconds(50);
  const FetchedList won = search.ask()[0];
  CHECK(won.hedge == Hedge::won);
  CHECK(won.requests == 2);
  CHECK(won.elapsed == milliseconds(290));
  CHECK(search.took == milliseconds(290));
  CHECK(search.asked["e (2)"] == 1);
  CHECK(search.ask("y")[0].hedge == Hedge::none);  // nothing is left of the 2 %
  CHECK(search.took == seconds(2));
  // the first's answer has come meanwhile: another had brought the list, so it serves nobody
  search.takes["e"] = kUsual;
  const int asked = search.asked["e"];
  search.ask();
  CHECK(search.asked["e"] == asked + 1);
  search.ask_often(48);
  search.takes["e"] = milliseconds(260);
  search.takes["e (2)"] = milliseconds(50);
  const FetchedList lost = search.ask("z")[0];
  CHECK(lost.hedge == Hedge::lost);
  CHECK(search.took == milliseconds(260));
  CHECK(search.asked["e (2)"] == 2);
  // requests to second instances earn none: of 149 searches two per cent are not three
  search.takes["e"] = kUsual;
  search.ask_often(148 - search.asked["e"]);
  search.takes["e"] = milliseconds(260);
  CHECK(search.ask("v")[0].hedge == Hedge::none);
}

TEST_CASE("A failure of one instance leaves the list to another that was asked", "[fetchers][hedge]") {
  Search search("e", kSecond);
  search.ask_often(55);
  search.takes["e"] = milliseconds(260);
  search.takes["e (2)"] = milliseconds(50);
  search.failing = {"e"};
  const FetchedList list = search.ask()[0];
  CHECK_FALSE(list.has_failed());
  CHECK(list.hedge == Hedge::won);
  CHECK(search.took == milliseconds(290));
}

TEST_CASE("Within the floor of waits a second instance is worth asking however quick the engines are",
          "[fetchers][hedge]") {
  Search search("abcd", kSecond, {.floor = milliseconds(280)});
  for (const char* engine : {"a", "b", "c", "d", "d (2)"}) search.takes[engine] = milliseconds(50);
  search.ask_often(60);
  search.takes["d"] = std::nullopt;
  CHECK(search.ask()[3].hedge == Hedge::won);
  CHECK(search.took == milliseconds(110));  // 1.2 times the usual, and the other's answer
}

TEST_CASE("Of engines that are all left alone the one is asked whose pause ends", "[fetchers][breaker]") {
  Search search("ba");
  search.ask_often();
  search.takes["a"] = std::nullopt;  // its answers are overdue, and its breaker is closed
  search.failing = {"b"};
  for (int i = 0; i < 5; ++i) search.ask();
  const auto before = search.asked;
  search.ask();
  CHECK(search.asked["a"] == before.at("a"));
  CHECK(search.asked["b"] == before.at("b") + 1);
}

TEST_CASE("Only engines with instances are hedged unless they refuse it", "[fetchers][hedge]") {
  for (const std::string& more : {std::string(), kSecond + ", hedge: false"}) {
    Search search("e", more);
    search.ask_often(60);
    search.takes["e"] = seconds(2);
    CHECK(search.ask()[0].hedge == Hedge::none);
    CHECK(search.asked["e (2)"] == 0);
  }
  Search search("e", kSecond, {.is_on = false});
  search.ask_often(60);
  search.takes["e"] = seconds(2);
  CHECK(search.ask()[0].hedge == Hedge::none);
}

TEST_CASE("No second instance is asked that usually answers after the search has left", "[fetchers][hedge]") {
  Search search("abcd", kSecond);
  search.ask_often(60);
  search.takes["d"] = std::nullopt;
  CHECK(search.ask()[3].has_failed());  // at 220 ms, which is before 240
  CHECK(search.asked["d (2)"] == 0);
  // a is waited for until 1100 ms: time enough for d, whose list is late from 240 ms on
  Search unlike("abcd", kSecond);
  unlike.takes["a"] = seconds(1);
  unlike.ask_often(60);
  unlike.takes["d"] = std::nullopt;
  CHECK(unlike.ask()[3].hedge == Hedge::won);
  CHECK(unlike.took == seconds(1));
  // d's list is late only from 951.6 ms on, and another would usually come at 1744 ms
  Search late("abcd", kSecond);
  late.takes["a"] = seconds(1);
  late.takes["d"] = milliseconds(793);
  late.ask_often(60);
  late.takes["d"] = std::nullopt;
  CHECK(late.ask()[3].hedge == Hedge::none);
}

TEST_CASE("A list that neither instance answers says so once and is late for neither", "[fetchers][hedge]") {
  Search search("abcd", kSecond);
  search.takes["a"] = seconds(1);
  search.ask_often(60);
  search.takes["d"] = search.takes["d (2)"] = std::nullopt;
  const FetchedList list = search.ask()[3];
  CHECK(list.failure == Failure::timeout);
  CHECK(list.hedge == Hedge::lost);
  CHECK(search.took == seconds(1));
}

TEST_CASE("An engine that fails or hangs is replaced by its second instance and probed in the background",
          "[fetchers][breaker][hedge]") {
  ManualClock clock;
  std::map<std::string, int> asked;
  Script script{[&](const EngineRequest& request) {
                  ++asked[request.engine];
                  if (request.engine == "e (2)") CHECK(request.url == "https://second.example:8443/a?q=x");
                  return request.engine == "e" ? answer_of("no", 500) : answer_of(kOneResult);
                },
                {}};
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  const auto fetcher = fetcher_of(
      block("e", "http://e.example/a?q={query}", "instances: [\"https://second.example:8443/\"]"), options);
  const auto ask = [&] {
    const ExpandedQuery query{"t", "e", "x"};
    return fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {}).front().failure;
  };
  for (int i = 0; i < 5; ++i) CHECK(ask() == Failure::http_status);
  CHECK(ask() == Failure::none);
  CHECK(asked["e"] == 5);
  clock.advance(seconds(2));
  CHECK(ask() == Failure::none);
  CHECK(asked["e"] == 6);
  CHECK(asked["e (2)"] == 2);
}

TEST_CASE("An instance that failed is asked again when its pause is over", "[fetchers][breaker][hedge]") {
  ManualClock clock;
  std::map<std::string, int> asked;
  bool is_second_well = false;
  Script script{[&](const EngineRequest& request) {
                  ++asked[request.engine];
                  if (request.engine == "e (2)" && is_second_well) return answer_of(kOneResult);
                  return answer_of("no", 500);
                },
                {}};
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  const auto fetcher = fetcher_of(block("e", "http://e.example/?q={query}", kSecond), options);
  const auto ask = [&] {
    const ExpandedQuery query{"t", "e", "x"};
    return fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {}).front().failure;
  };
  for (int i = 0; i < 10; ++i) CHECK(ask() == Failure::http_status);  // five of each
  CHECK(asked["e (2)"] == 5);
  is_second_well = true;
  clock.advance(seconds(3));
  CHECK(ask() == Failure::none);
  CHECK(asked["e (2)"] == 6);
}

TEST_CASE("A query that is not sent does not use up a probe", "[fetchers][breaker]") {
  ManualClock clock;
  bool is_well = false;
  Script script{[&](const EngineRequest&) { return is_well ? answer_of(kOneResult) : answer_of("no", 500); },
                {}};
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  const auto fetcher = fetcher_of(block("e", "http://e.example/?q={query}", "max_query_bytes: 5"), options);
  const auto ask = [&](const std::string& text) {
    const ExpandedQuery query{"t", "e", text};
    return fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {}).front().failure;
  };
  for (int i = 0; i < 5; ++i) CHECK(ask("x") == Failure::http_status);
  is_well = true;
  clock.advance(seconds(3));
  CHECK(ask("longer") == Failure::query_too_long);
  CHECK(ask("short") == Failure::none);
}

TEST_CASE("A recording knows one address of an engine", "[fetchers][hedge]") {
  const TemporaryFolder folder;
  Script script{[&](const EngineRequest&) { return answer_of("no", 500); }, {}};
  FetcherOptions options = scripted_options(script);
  options.recording = FetcherOptions::Recording::record;
  options.recording_file = folder.path("archive.har");
  const auto fetcher = fetcher_of(block("e", "http://e.example/?q={query}", kSecond), options);
  for (int i = 0; i < 7; ++i) CHECK(fetch_one(*fetcher, "e").failure == Failure::http_status);
  for (const EngineRequest& request : script.requests) CHECK(request.engine == "e");
}
