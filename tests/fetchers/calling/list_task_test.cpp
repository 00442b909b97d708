// From a request's answer to a list, tested with scripted answers: what counts as an answer, which requests
// are repeated, what identifiers and cursors request, and every limit at its value and one beyond it.

#include "fetchers/calling/list_task.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
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

TEST_CASE("A status that a definition declares empty gives a list without results", "[fetchers][request]") {
  const std::string ask = block("e", "http://e.example/?q={query}", "no_result_for_http_status: [404, 410]");
  for (const auto& [status, failure] : std::vector<std::pair<int, Failure>>{{404, Failure::none},
                                                                            {410, Failure::none},
                                                                            {405, Failure::http_status},
                                                                            {429, Failure::rate_limited}}) {
    INFO(status);
    Script script{[&, status = status](const EngineRequest&) { return answer_of("nothing", status); }, {}};
    const FetchedList list = ask_alone(ask, script);
    CHECK(list.failure == failure);
    CHECK(list.list.hits.empty());
  }
}

TEST_CASE("Only failures worth a retry are retried and only once", "[fetchers][limits]") {
  struct Row {
    std::string keys;
    HttpAnswer answer;
    std::size_t requests;
  };
  const std::string some = "retries: 1, retry_on_http_error: [500, 418]";
  const std::vector<Row> rows = {
      {"retries: 1", failed_answer(Failure::refused), 2},
      {"retries: 3", failed_answer(Failure::refused), 2},
      {"retries: 0", failed_answer(Failure::refused), 1},
      {"", failed_answer(Failure::refused), 1},
      {"retries: 1, method: POST, request_body: 'q={query}'", failed_answer(Failure::refused), 1},
      {"retries: 1", failed_answer(Failure::timeout), 1},
      {"retries: 1", failed_answer(Failure::tls), 1},
      {"retries: 1", failed_answer(Failure::not_allowed), 1},
      {"retries: 1", failed_answer(Failure::too_large), 1},
      {"retries: 1", answer_of("oops", 500), 1},
      {some, answer_of("oops", 500), 2},
      {some, answer_of("oops", 418), 2},
      {some, answer_of("oops", 501), 1},
      {"retries: 1, retry_on_http_error: 503", answer_of("oops", 503), 2},
      {"retries: 1, retry_on_http_error: true", answer_of("oops", 500), 2},
      {"retries: 1, retry_on_http_error: true", answer_of("oops", 502), 2},
      {"retries: 1, retry_on_http_error: true", answer_of("oops", 503), 2},
      {"retries: 1, retry_on_http_error: true", answer_of("oops", 504), 2},
      {"retries: 1, retry_on_http_error: true", answer_of("oops", 501), 1},
      {"retries: 1, retry_on_http_error: true", answer_of("oops", 429), 1},
      {"retries: 1, retry_on_http_error: [429]", answer_of("oops", 429), 1},
      {"retries: 1, retry_on_http_error: true", answer_of("not json", 200), 1},
      {"retries: 1, retry_on_http_error: false", answer_of("oops", 500), 1},
  };
  for (const Row& row : rows) {
    INFO(row.keys << ": " << row.answer.status << ' ' << name_of(row.answer.failure));
    Script script{[&](const EngineRequest&) { return row.answer; }, {}};
    const FetchedList list = ask_alone(block("e", "http://e.example/?q={query}", row.keys), script);
    CHECK(list.has_failed());
    CHECK(script.requests.size() == row.requests);
    CHECK(list.requests == static_cast<int>(row.requests));
  }
  // a failure that arrives after the search has ended is not retried
  HoldingTransport::Held held;
  ManualClock clock;
  FetcherOptions options;
  options.clock = &clock;
  options.run_late = run_at_once;
  options.wrap_transport = [&](std::unique_ptr<Transport>) {
    return std::make_unique<HoldingTransport>(held);
  };
  const auto fetcher = fetcher_of(block("e", "http://e.example/?q={query}", "retries: 1"), options);
  const ExpandedQuery query{"t", "e", "x"};
  fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, Duration(0))}, {});
  REQUIRE(held.size() == 1);
  held[0].second(failed_answer(Failure::refused));
  CHECK(held.size() == 1);
}

TEST_CASE("A failed list sends no further requests", "[fetchers][limits][paging]") {
  Script script{[](const EngineRequest& request) {
                  return request.url.ends_with("p=1") ? answer_of("no", 404)
                                                      : failed_answer(Failure::refused);
                },
                {}};
  const std::string paged =
      block("e", "http://e.example/?q={query}&p={pageno}", "paging: true, results_per_page: 10, retries: 3");
  CHECK(ask_alone(paged, script, 30).failure == Failure::http_status);
  CHECK(script.requests.size() == 3);  // one request per page and no retry
}

TEST_CASE("Later requests of a list share the time that the first ones left", "[fetchers][steps][deadline]") {
  ManualClock clock;
  const auto timeouts = [&](const std::string& url, const std::string& keys, const std::string& answer,
                            Duration each, int status = 200) {
    Script script{[&](const EngineRequest&) {
                    clock.advance(each);
                    return answer_of(answer, status);
                  },
                  {}};
    FetcherOptions options = scripted_options(script);
    options.clock = &clock;
    const ExpandedQuery query{"t", "e", "x"};
    fetcher_of(block("e", url, keys, "3"), options)
        ->fetch({&query, 1}, {.depth = 3, .deadline = Deadline(clock, seconds(60))}, {});
    std::vector<Duration> out;
    for (const EngineRequest& request : script.requests) out.push_back(request.timeout);
    return out;
  };
  const std::string details = "http://e.example/d?i={ids}";
  const std::string step = "steps: [{search_url: 'http://e.example/?q={query}', ids_query: $/*}]";
  CHECK(timeouts(details, step, "[1]", seconds(1)) == std::vector<Duration>{seconds(3), seconds(2)});
  CHECK(timeouts(details, step, "[1]", seconds(4)) == std::vector<Duration>{seconds(3), milliseconds(1)});
  CHECK(timeouts("http://e.example/?q={query}",
                 "results_per_page: 1, next_page: {cursor_query: next, search_url: "
                 "'http://e.example/?q={query}&c={cursor}'}",
                 R"({"results":[{"url":"http://a.example/","title":"t"}],"next":"b"})",
                 seconds(1)) == std::vector<Duration>{seconds(3), seconds(2)});
  // and so does the second attempt of the first one
  CHECK(timeouts("http://e.example/?q={query}", "retries: 1, retry_on_http_error: true", "oops", seconds(1),
                 500) == std::vector<Duration>{seconds(3), seconds(2)});
}

TEST_CASE("The budget for retries grows with first requests and not with retries", "[fetchers][limits]") {
  Script script{[](const EngineRequest&) { return failed_answer(Failure::refused); }, {}};
  const auto fetcher =
      fetcher_of(block("e", "http://e.example/?q={query}", "retries: 1"), scripted_options(script));
  for (int i = 0; i < 4; ++i) CHECK(fetch_one(*fetcher, "e").failure == Failure::refused);
  CHECK(script.requests.size() == 6);  // two retries; a third one would need five first requests
}

TEST_CASE("A disabled engine is not asked", "[fetchers][request]") {
  Script script{[](const EngineRequest&) { return answer_of(kOneResult); }, {}};
  for (const std::string key : {"disabled", "inactive"}) {
    const std::string ask = block("e", "http://e.example/?q={query}", key + ": true");
    CHECK(ask_alone(ask, script).failure == Failure::not_allowed);
  }
  CHECK(script.requests.empty());
}

TEST_CASE("A late list serves only the same request", "[fetchers][deadline][security]") {
  HoldingTransport::Held held;
  ManualClock clock;
  FetcherOptions fetcher_options;
  fetcher_options.clock = &clock;
  fetcher_options.run_late = run_at_once;
  fetcher_options.wrap_transport = [&](std::unique_ptr<Transport>) {
    return std::make_unique<HoldingTransport>(held);
  };
  const std::string url = "http://e.example/?q={query}&p={pageno}";
  const auto fetcher = fetcher_of(
      block("e", url, "paging: true, page_size: 10") + block("f", url, "paging: true, page_size: 10"),
      fetcher_options);
  const FetchOptions usual{.depth = 1, .deadline = Deadline(clock, Duration(0))};
  const auto ask = [&](const ExpandedQuery& query, const FetchOptions& options) {
    return fetcher->fetch({&query, 1}, options, {}).front();
  };
  const ExpandedQuery query{"t", "e", "x"};
  CHECK(ask(query, usual).failure == Failure::timeout);
  REQUIRE(held.size() == 1);
  held[0].second(answer_of(kOneResult));

  std::vector<std::pair<ExpandedQuery, FetchOptions>> others;
  others.emplace_back(ExpandedQuery{"t", "e", "y"}, usual);
  others.emplace_back(ExpandedQuery{"t", "f", "x"}, usual);
  const auto differs = [&](auto change) {
    FetchOptions options = usual;
    change(options);
    others.emplace_back(query, options);
  };
  differs([](FetchOptions& options) { options.depth = 2; });
  differs([](FetchOptions& options) { options.page = 2; });
  differs([](FetchOptions& options) { options.language = "de"; });
  differs([](FetchOptions& options) { options.time_range = "day"; });
  differs([](FetchOptions& options) { options.safe_search = 1; });
  differs([](FetchOptions& options) { options.forwarded = {{"x-user", "ann"}}; });
  differs([](FetchOptions& options) { options.forwarded = {{"x-user", "bob"}}; });
  differs([](FetchOptions& options) { options.forwarded = {{"x-use", "rann"}}; });
  std::size_t sent = 1;
  for (const auto& [other, options] : others) {
    CHECK(ask(other, options).failure == Failure::timeout);
    CHECK(held.size() == ++sent);
    held.back().second(answer_of(R"({"results":[]})"));
  }
  // a list without results is not kept
  CHECK(ask(others.front().first, others.front().second).failure == Failure::timeout);
  CHECK(held.size() == ++sent);
  const FetchedList late = ask({"another template", "e", "x"}, usual);
  CHECK(late.failure == Failure::none);
  CHECK(late.list.hits.size() == 1);
  CHECK(held.size() == sent);
  clock.advance(seconds(60) + milliseconds(1));
  CHECK(ask(query, usual).failure == Failure::timeout);
  CHECK(held.size() == sent + 1);
}

TEST_CASE("A late answer is read neither by the transport nor by another search",
          "[fetchers][deadline][security]") {
  HoldingTransport::Held held;
  std::vector<std::function<void()>> late;
  ManualClock clock;
  FetcherOptions options;
  options.clock = &clock;
  options.run_late = [&](std::function<void()> work) { late.push_back(std::move(work)); };
  options.wrap_transport = [&](std::unique_ptr<Transport>) {
    return std::make_unique<HoldingTransport>(held);
  };
  const auto fetcher = fetcher_of(block("e", "http://e.example/?q={query}"), options);
  const ExpandedQuery query{"t", "e", "x"};
  const auto ask = [&] {
    return fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, Duration(0))}, {}).front().failure;
  };
  CHECK(ask() == Failure::timeout);
  held[0].second(answer_of(kOneResult));
  CHECK(ask() == Failure::timeout);  // not read yet
  REQUIRE(late.size() == 1);
  late[0]();
  CHECK(ask() == Failure::none);
}

TEST_CASE("Identifiers and cursors are used up to exactly their limits", "[fetchers][steps][security]") {
  const auto library = [](const std::string& own, int per_request) {
    return "  - {name: e, engine: json_engine, search_url: \"http://e.example/" + own +
           "\", results_query: results, url_query: url, title_query: title, steps: [{search_url: "
           "\"http://e.example/find?q={query}\", ids_query: $/*, per_request: " +
           std::to_string(per_request) + "}]}\n";
  };
  std::string found;
  Script script{[&](const EngineRequest& request) {
                  return answer_of(request.url.find("/find?") != std::string::npos ? found : kOneResult);
                },
                {}};
  const auto details = [&](const std::string& blocks, const std::string& ids, int depth) {
    found = "[" + ids + "]";
    script.requests.clear();
    ask_alone(blocks, script, depth);
    std::vector<std::string> out;
    for (std::size_t i = 1; i < script.requests.size(); ++i) out.push_back(script.requests[i].url);
    return out;
  };
  const auto numbers = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + std::to_string(1000 + i);
    return out;
  };
  const std::string many = "d?ids={ids}";
  const std::string each = "d/{id}";
  CHECK(details(library(many, 2), numbers(10), 50).size() == 5);
  CHECK(details(library(many, 2), numbers(11), 50).size() == 5);
  CHECK(details(library(many, 2), numbers(9), 50).size() == 5);
  CHECK(details(library(many, 2), numbers(8), 50).size() == 4);
  CHECK(details(library(many, 2), numbers(8), 3).size() == 2);  // no more identifiers than requested results
  CHECK(details(library(each, 2), numbers(10), 50).size() == 10);
  CHECK(details(library(each, 2), numbers(11), 50).size() == 10);
  CHECK(details(library(many, 250), numbers(1001), 2000).size() == 4);
  CHECK(details(library(many, 999), numbers(1001), 2000).size() == 2);
  const std::string longest(200, 'a');
  CHECK(details(library(many, 9), '"' + longest + R"(","b")", 9) ==
        std::vector<std::string>{"http://e.example/d?ids=" + longest + "%2Cb"});
  CHECK(details(library(many, 9), "\"a" + longest + R"(","b")", 9) ==
        std::vector<std::string>{"http://e.example/d?ids=b"});
  CHECK(details(library(many, 9), R"("a\u001f","b c")", 9) ==
        std::vector<std::string>{"http://e.example/d?ids=b+c"});
  CHECK(details(library(many, 9), "\"a" + longest + '"', 9).empty());

  const std::string paged = block("e", "http://e.example/?q={query}",
                                  "results_per_page: 1, next_page: {cursor_query: next, search_url: "
                                  "\"http://e.example/?q={query}&c={cursor}\"}");
  const auto pages = [&](const std::string& first_cursor, const std::string& next_cursor) {
    int page = 0;
    Script walk{[&](const EngineRequest&) {
                  ++page;
                  return answer_of(R"({"results":[{"url":"http://a.example/)" + std::to_string(page) +
                                   R"(","title":"t"}],"next":")" + (page == 1 ? first_cursor : next_cursor) +
                                   "\"}");
                },
                {}};
    ask_alone(paged, walk, 3);
    return walk.requests.size();
  };
  CHECK(pages("a", "b") == 3);
  CHECK(pages("a", "a") == 2);  // the same cursor again ends the pages
  CHECK(pages("", "b") == 1);
  CHECK(pages(std::string(4096, 'c'), "b") == 3);
  CHECK(pages(std::string(4097, 'c'), "b") == 1);
}

TEST_CASE("Cookies of another site are not brought to the engine", "[fetchers][security]") {
  const std::string paged =
      block("e", "http://e.example/?q={query}&p={pageno}", "paging: true, page_size: 1, keep_cookies: true");
  const auto second_cookie = [&](const std::string& came_from) {
    Script script{[&](const EngineRequest& request) {
                    HttpAnswer answer =
                        status_answer(200, {{"set-cookie", "id=7"}},
                                      R"({"results":[{"url":"http://a.example/)" +
                                          request.url.substr(request.url.find("p=")) + R"(","title":"t"}]})");
                    answer.url = came_from;
                    return answer;
                  },
                  {}};
    ask_alone(paged, script, 20);
    REQUIRE(script.requests.size() == 2);
    for (const auto& [name, value] : script.requests[1].headers)
      if (name == "Cookie") return value;
    return std::string();
  };
  CHECK(second_cookie("http://e.example/moved") == "id=7");
  CHECK(second_cookie("http://consent.example/") == "");
  CHECK(second_cookie("http://e.example:81/") == "");
}
