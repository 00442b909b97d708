// Which answers hold a list, and what a list never shows.

#include "fetchers/calling/read_answer.h"

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::seconds;

TEST_CASE("A CAPTCHA page is recognised by each of its marks", "[fetchers][captcha]") {
  const StringPairs html = {{"content-type", "text/html"}};
  const std::string ask = block("e", "http://e.example/?q={query}");
  const auto failure_of = [&](int status, const StringPairs& headers, const std::string& body) {
    Script script{[&](const EngineRequest&) { return status_answer(status, headers, body); }, {}};
    return ask_alone(ask, script).failure;
  };
  for (const std::string mark :
       {"g-recaptcha", "h-captcha", "hcaptcha.com", "cf-challenge", "challenge-form", "/sorry/index",
        "unusual traffic", "captcha-delivery", "smart-captcha", "SmartCaptcha", "are you a robot",
        "not a robot", "Just a moment...", "anomaly-modal", "wappass.baidu.com", "id=\"captcha",
        "class=\"captcha", "name=\"captcha"}) {
    INFO(mark);
    const std::string page = "<p>" + mark + "</p>";
    CHECK(failure_of(200, html, page) == Failure::captcha);
    CHECK(failure_of(403, html, page) == Failure::captcha);
    CHECK(failure_of(429, html, page) == Failure::rate_limited);
    CHECK(failure_of(403, {}, page) == Failure::captcha);  // a page, though the server does not say so
    CHECK(failure_of(200, {{"content-type", "application/json"}}, page) == Failure::captcha);
    CHECK(failure_of(403, {}, mark) == Failure::http_status);
  }
  CHECK(failure_of(200, html, "<p>Welcome</p>") == Failure::bad_answer);
  CHECK(failure_of(200, html, R"({"results":[],"see":"hcaptcha.com"})") == Failure::captcha);
  CHECK(failure_of(200, {}, R"({"results":[],"see":"hcaptcha.com"})") == Failure::none);
  // results about CAPTCHA pages are still results
  CHECK(failure_of(200, html, R"({"results":[{"url":"http://hcaptcha.com/","title":"not a robot"}]})") ==
        Failure::none);
  // only the first 256 KB are examined
  const std::string mark = "g-recaptcha";
  CHECK(failure_of(403, html, std::string(256 * 1024 - mark.size(), ' ') + mark) == Failure::captcha);
  CHECK(failure_of(403, html, std::string(256 * 1024 - mark.size() + 1, ' ') + mark) == Failure::http_status);
}

TEST_CASE("A page that an engine sends to programs is no empty list", "[fetchers][captcha]") {
  const std::string ask =
      "  - {name: e, engine: xpath, search_url: 'http://e.example/?q={query}', results_xpath: //li, "
      "url_xpath: .//a/@href, title_xpath: .//a}\n";
  const auto failure_of = [&](const std::string& body) {
    Script script{[&](const EngineRequest&) {
                    return status_answer(200, {{"content-type", "text/html"}}, body);
                  },
                  {}};
    return ask_alone(ask, script).failure;
  };
  for (const std::string page :
       {"<noscript><iframe src=\"/httpservice/retry/enablejs?sei=x\"></iframe></noscript><div id=main></div>",
        "<title>\u767e\u5ea6\u5b89\u5168\u9a8c\u8bc1</title>", "<div class='passMod_dialog-wrapper'></div>",
        "<h1>Please verify</h1><p>Unusual traffic detected. Solve the puzzle.</p>"})
    CHECK(failure_of(page) == Failure::blocked);
  CHECK(failure_of("<p>No results</p>") == Failure::none);
  CHECK(failure_of("<li><a href='http://a/'>How to enablejs: /httpservice/retry/enablejs</a></li>") ==
        Failure::none);
  CHECK(name_of(Failure::blocked) == "blocked");
}

TEST_CASE("Neither secrets nor credentials stand in a result", "[fetchers][security]") {
  const std::string answer = R"({"results":[
      {"url":"http://a.example/1?campaign=hunter2secret","title":"hunter2secret","content":"by hunter2secret",
       "image":"http://a.example/1.png?key=hunter2secret"},
      {"url":"http://anna:pw@b.example/2?mail=c@d","title":"One"},
      {"url":"//anna@b.example/3","title":"Two"}]})";
  Script script{[&](const EngineRequest&) { return answer_of(answer); }, {}};
  FetcherOptions options = scripted_options(script);
  options.secret_of = [](std::string_view) { return std::string("hunter2secret"); };
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "e", "x"};
  const auto list =
      fetcher_of(block("e", "http://e.example/?q={query}&key=${KEY}", "kind: image, image_query: image"),
                 options)
          ->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {})
          .front()
          .list;
  REQUIRE(list.hits.size() == 3);
  CHECK(script.requests.front().url.find("hunter2secret") != std::string::npos);
  CHECK(list.hits[0].url == "http://a.example/1?campaign=REDACTED");
  CHECK(list.hits[0].title == "REDACTED");
  CHECK(list.hits[0].snippet == "by REDACTED");
  CHECK(detail(list.hits[0].details, "image") == "http://a.example/1.png?key=REDACTED");
  CHECK(list.hits[1].url == "http://b.example/2?mail=c@d");
  CHECK(list.hits[2].url == "http://b.example/3");
}

TEST_CASE("No part of a secret stands where a text is cut off", "[fetchers][security]") {
  const std::string secret = "abcdefgh/12345678";
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "e", "x"};
  for (const std::size_t before : {480U, 488U, 495U, 499U, 500U, 1985U, 1995U, 2000U}) {
    INFO(before);
    const std::string text = std::string(before, '-') + secret + " ---";
    const std::string encoded = std::string(before, '-') + "abcdefgh%2f12345678";
    Script script{[&](const EngineRequest&) {
                    return answer_of(R"({"results":[{"url":"http://a.example/1","title":")" + text +
                                     R"(","content":")" + text + R"(","author":")" + encoded +
                                     R"("}],"also":[")" + text + "\"]}");
                  },
                  {}};
    FetcherOptions options = scripted_options(script);
    options.secret_of = [&](std::string_view) { return secret; };
    const RankedList list = fetcher_of(block("e", "http://e.example/?q={query}&key=${KEY}",
                                             "kind: paper, authors_query: author, suggestion_query: also"),
                                       options)
                                ->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {})
                                .front()
                                .list;
    REQUIRE(list.hits.size() == 1);
    REQUIRE(list.suggestions.size() == 1);
    REQUIRE(list.hits[0].details.size() == 1);
    CHECK(list.hits[0].title.size() <= 500);
    CHECK(list.hits[0].snippet.size() <= 2000);
    for (const std::string& shown :
         {list.hits[0].title, list.hits[0].snippet, list.suggestions[0], list.hits[0].details[0].second})
      CHECK(shown.find_first_of("abcdefgh") == std::string::npos);
  }
}

TEST_CASE("A failure does not repeat the secrets that the engine repeats", "[fetchers][security]") {
  const auto message_of = [](const std::string& body, int status) {
    Script script{[&](const EngineRequest&) { return answer_of(body, status); }, {}};
    FetcherOptions options = scripted_options(script);
    options.secret_of = [](std::string_view) { return std::string("abcd1234"); };
    const Clock& clock = machine_clock();
    const ExpandedQuery query{"t", "e", "x"};
    const FetchedList list = fetcher_of(block("e", "http://e.example/?q={query}&key=${KEY}"), options)
                                 ->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {})
                                 .front();
    CHECK(list.has_failed());
    return list.message;
  };
  const std::string says = R"({"error":"API key abcd1234 is not valid"})";
  CHECK(message_of(says, 403).find("API key REDACTED is not valid") != std::string::npos);
  CHECK(message_of(says, 429).find("API key REDACTED is not valid") != std::string::npos);
  CHECK(message_of(says, 200).find("API key REDACTED is not valid") != std::string::npos);
  // where what it says is cut off
  for (std::size_t size = 140; size < 170; ++size)
    CHECK(message_of(std::string(size, '-') + "abcd1234", 500).find("abcd") == std::string::npos);
  for (std::size_t size = 280; size < 330; ++size) {
    const std::string message = message_of(R"({"error":")" + std::string(size, '-') + "abcd1234\"}", 200);
    CHECK(message.find("ab") == std::string::npos);
    CHECK(message.size() < 350);
  }
}

TEST_CASE("An answer that nobody needs is not parsed but its status counts",
          "[fetchers][deadline][security]") {
  const Engine engine = engines_of(block("e", "http://e.example/?q={query}")).front();
  const auto& access = std::get<HttpAccess>(engine.access);
  const auto read = [&](const HttpAnswer& answer) {
    return read_answer(engine, access, answer, {.end = WorkEnd([] { return true; })}).failure;
  };
  CHECK(read(answer_of(kOneResult)) == Failure::timeout);
  CHECK(read(answer_of("", 429)) == Failure::rate_limited);
}

TEST_CASE("Dates are relative to the answer's own time, or else to the clock's", "[fetchers][dates]") {
  const std::string answer = R"({"results":[{"url":"http://a.example/","title":"A","when":"3 hours ago"}]})";
  const auto published = [&](const StringPairs& headers) {
    Script script{[&](const EngineRequest&) { return status_answer(200, headers, answer); }, {}};
    FetcherOptions options = scripted_options(script);
    options.unix_time = [] { return std::int64_t{1'740'831'330}; };
    const Clock& clock = machine_clock();
    const ExpandedQuery query{"t", "e", "x"};
    const std::string ask = block("e", "http://e.example/?q={query}", "published_query: when");
    return fetcher_of(ask, options)
        ->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {})
        .front()
        .list.hits.at(0)
        .published;
  };
  CHECK(published({}) == "2025-03-01T09:15:30Z");
  CHECK(published({{"date", "Tue, 10 Jun 2003 04:00:00 GMT"}}) == "2003-06-10T01:00:00Z");
  CHECK(published({{"date", "today"}}) == "2025-03-01T09:15:30Z");
}
