// How a request is built from a definition and a search: secrets, options that an engine does not have, pages
// that do not exist, description documents; each rule at its limit and one beyond it.

#include <chrono>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/engines/http/engine_request.h"
#include "fetchers/engines/http/opensearch_description.h"
#include "fetchers/model/engine.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

ReadyAccess ready_of(const Engine& engine, const std::string& secret = "") {
  auto ready = ready_access(engine, [&](std::string_view) { return std::optional(secret); });
  if (!ready) FAIL(ready.error().text);
  return *ready;
}

FetchOptions options_of(int depth = 10, int page = 1) {
  const Clock& clock = machine_clock();
  return {.depth = depth, .deadline = Deadline(clock, seconds(1)), .page = page};
}

/// The request for "x" to an engine all of whose secrets have this value.
EngineRequest filled_from(const std::string& url, const std::string& keys, const std::string& secret,
                          const FetchOptions& options = options_of()) {
  const Engine engine = engines_of(block("e", url, keys)).front();
  return build_request(engine, ready_of(engine, secret), "x", options, 1);
}

std::string header_in(const EngineRequest& request, const std::string& name) {
  for (const auto& [key, value] : request.headers)
    if (key == name) return value;
  return {};
}

PagePlan plan_of(const std::string& url, const std::string& keys, int depth, int page, int seen_size = 0) {
  const Engine engine = engines_of(block("e", url, keys)).front();
  return plan_pages(std::get<HttpAccess>(engine.access), options_of(depth, page), seen_size);
}

}  // namespace

TEST_CASE("A secret stays a value in every place of a request whatever it contains",
          "[fetchers][request][security]") {
  const std::string odd = "a&b c{query}\"\\ ${OTHER}";
  const EngineRequest request =
      filled_from("http://e.example/?k=${KEY}&q={query}",
                  "method: POST, request_body: 'k=${KEY}&q={query}', headers: {X-Key: \"${KEY}\"}, "
                  "username: \"${KEY}\", password: \"${KEY}\", cookies: {c: \"${KEY}\"}",
                  odd);
  CHECK(request.url == "http://e.example/?k=a%26b%20c%7Bquery%7D%22%5C%20%24%7BOTHER%7D&q=x");
  CHECK(request.body == "k=" + odd + "&q=x");
  CHECK(header_in(request, "X-Key") == odd);
  CHECK(header_in(request, "Cookie") == "c=" + odd);
  CHECK(request.username == odd);
  CHECK(request.password == odd);
  CHECK(request.record_url == "http://e.example/?k=REDACTED&q=x");
  CHECK(request.record_body == "k=REDACTED&q=x");
}

TEST_CASE("A body is sent by POST unless the definition says otherwise, and never by GET",
          "[fetchers][request]") {
  const auto sent = filled_from("http://e.example/", R"(request_body: '{"q": "{query}"}')", "");
  CHECK(sent.method == "POST");
  CHECK(sent.body == R"({"q": "x"})");
  CHECK(filled_from("http://e.example/", "json_body: {q: '{query}'}", "").method == "POST");
  CHECK(filled_from("http://e.example/?q={query}", "request_body: ''", "").method == "GET");
  CHECK(filled_from("http://e.example/?q={query}", "method: post", "").method == "POST");
  for (const std::string body : {"json_body: {q: '{query}'}", "request_body: 'q={query}'"}) {
    const auto file =
        parse_engine_file("engines:\n" + block("e", "http://e.example/", "method: GET, " + body), "e.yaml");
    REQUIRE_FALSE(file.has_value());
    CHECK(file.error().text.find("a GET request has no body") != std::string::npos);
  }
  const std::string next =
      "next_page: {cursor_query: n, search_url: 'http://e.example/', request_body: 'c={cursor}'}";
  const Engine engine = engines_of(block("e", "http://e.example/?q={query}", next)).front();
  Found found;
  found.cursor = "7";
  const auto second = build_request(engine, ready_of(engine), "x", options_of(), 2, found);
  CHECK(second.method == "POST");
  CHECK(second.body == "c=7");
}

TEST_CASE("Parameters whose names mean secrets are not recorded", "[fetchers][request][security]") {
  for (const std::string name : {"key", "api_key", "apikey", "token", "access_token", "password", "secret"}) {
    INFO(name);
    CHECK(filled_from("http://e.example/?" + name + "=hush&q={query}", "", "").record_url ==
          "http://e.example/?" + name + "=REDACTED&q=x");
    CHECK(filled_from("http://e.example/?q={query}&" + name + "=hush#end", "", "").record_url ==
          "http://e.example/?q=x&" + name + "=REDACTED#end");
    CHECK(filled_from("http://e.example/?q={query}&a" + name + "s=open", "", "").record_url ==
          "http://e.example/?q=x&a" + name + "s=open");
  }
}

TEST_CASE("A request has the limits of its definition", "[fetchers][request][security]") {
  const EngineRequest usual = filled_from("http://e.example/?q={query}", "", "");
  CHECK(usual.max_redirects == 3);
  CHECK(usual.requests_per_second == 0);
  CHECK(usual.max_connections == 8);
  CHECK(usual.max_bytes == 1 << 20);
  CHECK(usual.verifies_certificates);
  CHECK(usual.connect_timeout == Duration::zero());
  CHECK(usual.first_byte_timeout == Duration::zero());
  const EngineRequest own =
      filled_from("http://e.example/?q={query}",
                  "soft_max_redirects: 1, requests_per_second: 2.5, max_connections: 3, max_bytes: "
                  "5000, verify: false, connect_timeout: 0.25, first_byte_timeout: 0.5",
                  "");
  CHECK(own.max_redirects == 1);
  CHECK(own.requests_per_second == 2.5);
  CHECK(own.max_connections == 3);
  CHECK(own.max_bytes == 5000);
  CHECK_FALSE(own.verifies_certificates);
  CHECK(own.connect_timeout == milliseconds(250));
  CHECK(own.first_byte_timeout == milliseconds(500));
  CHECK(own.timeout == milliseconds(700));
  CHECK(filled_from("http://e.example/?q={query}", "soft_max_redirects: 10", "").max_redirects == 3);
  const TemporaryFolder folder;
  const std::string authority = folder.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
  CHECK(filled_from("http://e.example/?q={query}", "verify: '" + authority + "'", "").ca_file == authority);
}

TEST_CASE("Options that an engine does not have are not sent to it", "[fetchers][request]") {
  FetchOptions options = options_of(20, 3);
  options.time_range = "week";
  options.safe_search = 2;
  const std::string url = "http://e.example/?q={query}{time_range}{safe_search}";
  CHECK(filled_from(url, "", "", options).url == "http://e.example/?q=x");
  CHECK(filled_from(url, "time_range_support: true", "", options).url == "http://e.example/?q=x&hours=168");
  CHECK(filled_from(url, "safe_search_support: true", "", options).url ==
        "http://e.example/?q=x&filter=strict");
  options.time_range = "";
  CHECK(filled_from(url, "time_range_support: true", "", options).url == "http://e.example/?q=x");
  options.time_range = "decade";
  CHECK(filled_from(url, "time_range_support: true", "", options).url == "http://e.example/?q=x");
  const auto language = [&](const std::string& wanted) {
    options.language = wanted;
    return filled_from("http://e.example/?q={query}&l={lang}", "lang_all: fr", "", options).url.substr(24);
  };
  CHECK(language("de") == "de");
  CHECK(language("abcdefgh-1234567") == "abcdefgh-1234567");  // 16 characters
  for (const std::string other : {"", "all", "abcdefgh-12345678", "de_DE", "d&e", "d e"}) {
    INFO(other);
    CHECK(language(other) == "fr");
  }
}

TEST_CASE("Only an address without placeholders is the engine's own", "[fetchers][request][security]") {
  const auto own = [](const std::string& url) {
    return ready_of(engines_of(block("e", url)).front()).own_origin;
  };
  CHECK(own("http://e.example:81/?q={query}") == "e.example:81");
  CHECK(own("https://e.example?q={query}") == "e.example:443");
  CHECK(own("http://{lang}.e.example/?q={query}").empty());
}

TEST_CASE("Pages that an engine does not have are not requested", "[fetchers][request][paging]") {
  const std::string plain = "http://e.example/?q={query}";
  const std::string cursor =
      "results_per_page: 10, next_page: {cursor_query: n, search_url: "
      "'http://e.example/?q={query}&c={cursor}'}";
  CHECK_FALSE(plan_of(plain, "", 10, 1).is_beyond_end);
  CHECK(plan_of(plain, "", 10, 2).is_beyond_end);
  CHECK(plan_of(plain, "paging: true", 10, 2).is_beyond_end);  // the URL has no place for the page number
  CHECK_FALSE(plan_of(plain + "&p={pageno}", "paging: true", 10, 2).is_beyond_end);
  CHECK(plan_of(plain + "&p={pageno}", "", 10, 2).is_beyond_end);
  CHECK_FALSE(plan_of(plain + "&n={count}&o={offset}", "", 10, 9).is_beyond_end);
  // by cursor at most five pages are followed
  CHECK_FALSE(plan_of(plain, cursor, 10, 5).is_beyond_end);
  CHECK(plan_of(plain, cursor, 10, 6).is_beyond_end);
  CHECK(plan_of(plain, cursor, 10, 5).count == 5);
  CHECK(plan_of(plain, cursor, 10, 5).skipped == 40);
  CHECK(plan_of(plain, cursor, 11, 1).count == 2);
  CHECK(plan_of(plain, cursor, 99, 1).count == 5);
  // several pages of an engine for one page of the search
  const std::string numbered = plain + "&p={pageno}";
  CHECK(plan_of(numbered, "paging: true, results_per_page: 10", 10, 3).first == 3);
  CHECK(plan_of(numbered, "paging: true, results_per_page: 10", 20, 3).first == 5);
  CHECK(plan_of(numbered, "paging: true, results_per_page: 10", 20, 3).count == 2);
  CHECK(plan_of(numbered, "paging: true, results_per_page: 10", 21, 1).count == 3);
  CHECK(plan_of(numbered, "paging: true, results_per_page: 10", 51, 1).count == 5);
  // a page of the search that begins within one of the engine's, or behind the most pages of one search
  const auto begins = [](const PagePlan& plan) { return std::tuple(plan.first, plan.skipped, plan.count); };
  const std::string ten = "paging: true, results_per_page: 10";
  CHECK(begins(plan_of(numbered, ten, 25, 2)) == std::tuple(3, 5, 3));
  CHECK(begins(plan_of(numbered, ten, 25, 3)) == std::tuple(6, 0, 3));
  CHECK(begins(plan_of(numbered, ten, 48, 2)) == std::tuple(5, 8, 6));
  CHECK(begins(plan_of(numbered, ten, 99, 2)) == std::tuple(6, 0, 5));
  // an engine whose pages turned out to be larger than is assumed
  CHECK(begins(plan_of(numbered, "paging: true", 30, 2)) == std::tuple(4, 0, 3));
  CHECK(begins(plan_of(numbered, "paging: true", 30, 2, 50)) == std::tuple(1, 30, 6));
  CHECK(begins(plan_of(numbered, "paging: true", 30, 3, 50)) == std::tuple(2, 10, 4));
  CHECK(begins(plan_of(numbered, "paging: true", 30, 2, 7)) == std::tuple(4, 0, 3));
  CHECK(begins(plan_of(numbered, ten, 30, 2, 50)) == std::tuple(4, 0, 3));
  CHECK(begins(plan_of(plain + "&o={offset}", "paging: true", 30, 2, 50)) == std::tuple(4, 0, 3));
  const std::string steps = "steps: [{search_url: 'http://e.example/?q={query}', ids_query: i}]";
  CHECK_FALSE(plan_of("http://e.example/{ids}", steps, 10, 1).is_beyond_end);
  CHECK(plan_of("http://e.example/{ids}", steps, 10, 2).is_beyond_end);
  for (const std::string place : {"{pageno}", "{offset}", "{start}"})
    CHECK_FALSE(plan_of("http://e.example/{ids}",
                        "steps: [{search_url: 'http://e.example/?q={query}&p=" + place + "', ids_query: i}]",
                        10, 2)
                    .is_beyond_end);
}

TEST_CASE("Each page of an engine begins where the one before it ends", "[fetchers][request][paging]") {
  // the parts of the requests behind "x", for a page of the search with 30 results
  const auto asked = [](const std::string& block_of_engine, int page, const std::string& description = "") {
    int number = 0;
    Script script{[&](const EngineRequest& request) {
                    if (request.url.ends_with(".xml")) return answer_of(description);
                    std::string results;
                    for (int i = 0; i < 10; ++i)
                      results += (i == 0 ? "" : ",") + (R"({"url":"http://a.example/)" +
                                                        std::to_string(++number) + R"(","title":"t"})");
                    return answer_of(R"({"results":[)" + results + "]}");
                  },
                  {}};
    const Clock& clock = machine_clock();
    const ExpandedQuery query{"t", "e", "x"};
    fetcher_of(block_of_engine, scripted_options(script))
        ->fetch({&query, 1}, {.depth = 30, .deadline = Deadline(clock, seconds(5)), .page = page}, {});
    std::vector<std::string> out;
    for (const EngineRequest& request : script.requests)
      if (!request.url.ends_with(".xml")) out.push_back(request.url.substr(request.url.find("x&") + 2));
    return out;
  };
  using Parts = std::vector<std::string>;
  const auto engine = [](const std::string& parameter, const std::string& keys) {
    return block("e", "http://e.example/?q={query}&" + parameter, keys);
  };
  for (const std::string keys : {"paging: true", "paging: true, results_per_page: 10"}) {
    INFO(keys);
    CHECK(asked(engine("from={offset}", keys), 1) == Parts{"from=0", "from=10", "from=20"});
    CHECK(asked(engine("from={offset}", keys), 2) == Parts{"from=30", "from=40", "from=50"});
    CHECK(asked(engine("s={start}", keys), 1) == Parts{"s=1", "s=11", "s=21"});
    CHECK(asked(engine("s={start}", keys), 2) == Parts{"s=31", "s=41", "s=51"});
  }
  const std::string twenty = "paging: true, results_per_page: 20";
  CHECK(asked(engine("size=20&from={offset}", twenty), 1) == Parts{"size=20&from=0", "size=20&from=20"});
  // the second one begins in the middle of a page
  CHECK(asked(engine("size=20&from={offset}", twenty), 2) == Parts{"size=20&from=20", "size=20&from=40"});
  // a request that says how many it wants is the only one
  CHECK(asked(engine("n={count}&from={offset}", twenty), 2) == Parts{"n=30&from=30"});
  CHECK(asked(engine("n={count}&s={start}", ""), 3) == Parts{"n=30&s=61"});
  const std::string described =
      "  - {name: e, engine: opensearch_description, description_url: 'http://e.example/d.xml', paging: "
      "true, "
      "results_per_page: 10}\n";
  const std::string document =
      "<OpenSearchDescription><Url type='application/rss+xml' "
      "template='http://e.example/?q={searchTerms}&amp;s={startIndex}'/></OpenSearchDescription>";
  CHECK(asked(described, 1, document) == Parts{"s=1", "s=11", "s=21"});
  CHECK(asked(described, 2, document) == Parts{"s=31", "s=41", "s=51"});
}

TEST_CASE("A query names a field only before a colon and a value", "[fetchers][request]") {
  const auto field = [](const std::string& query) {
    const FieldQuery read = field_query(query);
    return read.field + "|" + read.value;
  };
  CHECK(field("title:fox") == "title|fox");
  CHECK(field("a.b-c_d@1:x:y") == "a.b-c_d@1|x:y");
  for (const std::string none : {"fox", ":fox", "fox:", "title: fox", "http://a.example", "a b:c", "a/b:c",
                                 "salary\\:90000", "std\\:\\:vector"}) {
    INFO(none);
    CHECK(field(none) == "|" + none);
  }
}

TEST_CASE("The first usable template of a description document is used", "[fetchers][request][security]") {
  const Engine engine =
      engines_of("  - {name: e, engine: opensearch_description, description_url: 'http://e.example/d.xml'}\n")
          .front();
  const auto found = [&](const std::string& urls, std::size_t bytes = 0) {
    ReadyAccess ready = ready_of(engine);
    std::string document = "<OpenSearchDescription>" + urls + "</OpenSearchDescription>";
    document += std::string(bytes > document.size() ? bytes - document.size() : 0, ' ');
    const auto applied = apply_description(ready, document);
    return applied ? ready.access.url : std::string();
  };
  const auto rss = [](const std::string& address, const std::string& more = "") {
    return "<Url type='application/rss+xml' template='http://e.example/" + address + "' " + more + "/>";
  };
  CHECK(found(rss("1?q={searchTerms}") + rss("2?q={searchTerms}")) == "http://e.example/1?q={query}");
  CHECK(found("<Url type='application/atom+xml' template='http://e.example/a?q={searchTerms}'/>" +
              rss("2?q={searchTerms}")) == "http://e.example/2?q={query}");
  CHECK(found("<Url type='text/html' template='http://e.example/h?q={searchTerms}'/>").empty());
  CHECK(found(rss("1?q={searchTerms}", "rel='suggestions'") + rss("2?q={searchTerms}", "rel='results'")) ==
        "http://e.example/2?q={query}");
  CHECK(found(rss("1?q={searchTerms}&amp;n={count?}&amp;p={startPage?}&amp;x={other?}")) ==
        "http://e.example/1?q={query}&n={count}&p={pageno}&x=");
  CHECK(found(rss("1?q={searchTerms}&amp;x={other}")).empty());
  CHECK(found(rss("1?x={count}")).empty());
  CHECK(found(rss("1?q={searchTerms}&amp;s={startIndex}")) == "http://e.example/1?q={query}&s={start}");
  CHECK(found(rss("1?q={searchTerms}&amp;s={startIndex}", "indexOffset='0'")) ==
        "http://e.example/1?q={query}&s={offset}");
  CHECK_FALSE(found(rss("1?q={searchTerms}"), 256 * 1024).empty());
  CHECK(found(rss("1?q={searchTerms}"), 256 * 1024 + 1).empty());
}

TEST_CASE("A token is used until it expires and renewed after four fifths of its life",
          "[fetchers][auth][security]") {
  const std::string definition =
      "  - {name: e, engine: json_engine, search_url: 'https://api.example/?q={query}', results_query: r, "
      "url_query: "
      "u, title_query: t, auth: {type: oauth2, token_url: 'https://login.example/token', client_id: me, "
      "client_secret: word}}\n";
  int tokens = 0;
  std::string lifetime = "100";
  Script script{[&](const EngineRequest& request) {
                  if (request.url != "https://login.example/token") return answer_of(R"({"r":[]})");
                  return answer_of(R"({"access_token":"t)" + std::to_string(++tokens) + R"(","expires_in":)" +
                                   lifetime + "}");
                },
                {}};
  ManualClock clock;
  const auto fetcher = [&] {
    FetcherOptions options = scripted_options(script);
    options.clock = &clock;
    return fetcher_of(definition, options);
  };
  const auto used = [&](Fetcher& by) {
    const ExpandedQuery query{"t", "e", "x"};
    by.fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {});
    for (auto at = script.requests.rbegin(); at != script.requests.rend(); ++at)
      if (at->url != "https://login.example/token") return header_in(*at, "Authorization").substr(7);
    return std::string();
  };
  const auto first = fetcher();
  CHECK(used(*first) == "t1");
  CHECK(script.requests[0].max_redirects == 0);
  CHECK(script.requests[0].max_bytes == 64 << 10);
  CHECK(script.requests[0].is_confidential);
  CHECK(script.requests[0].own_origin == "login.example:443");
  clock.advance(seconds(80) - milliseconds(1));
  CHECK(used(*first) == "t1");
  CHECK(tokens == 1);
  clock.advance(milliseconds(1));
  CHECK(used(*first) == "t1");  // a new one is fetched in the background
  CHECK(tokens == 2);
  clock.advance(seconds(100));
  CHECK(used(*first) == "t3");  // the old one has expired
  // an absurd lifetime is raised to one second or cut to 10 million seconds
  for (const auto& [said, seconds_of_life] : std::vector<std::pair<std::string, int>>{
           {"0", 1}, {"-5", 1}, {"1e300", 10'000'000}, {"\"soon\"", 300}, {"\"50\"", 50}}) {
    INFO(said);
    lifetime = said;
    const auto other = fetcher();
    const std::string token = used(*other);
    clock.advance(seconds(seconds_of_life) - milliseconds(1));
    CHECK(used(*other) == token);
    clock.advance(seconds(seconds_of_life));
    CHECK(used(*other) != token);
  }
}

TEST_CASE("A token that cannot be a header value is refused", "[fetchers][auth][security]") {
  const auto failure = [](const std::string& token, int status = 200) {
    Script script{[&](const EngineRequest& request) {
                    return request.url == "https://login.example/token"
                               ? answer_of(R"({"access_token":")" + token + "\"}", status)
                               : answer_of(R"({"r":[]})");
                  },
                  {}};
    const Clock& clock = machine_clock();
    const ExpandedQuery query{"t", "e", "x"};
    return fetcher_of(
               "  - {name: e, engine: json_engine, search_url: 'https://api.example/?q={query}', "
               "results_query: r, "
               "url_query: u, title_query: t, auth: {type: oauth2, token_url: 'https://login.example/token', "
               "client_id: me, client_secret: word}}\n",
               scripted_options(script))
        ->fetch({&query, 1}, {.deadline = Deadline(clock, seconds(5))}, {})
        .front()
        .failure;
  };
  CHECK(failure("good") == Failure::none);
  CHECK(failure("good", 201) == Failure::none);
  CHECK(failure("good", 302) == Failure::not_allowed);
  CHECK(failure("good", 400) == Failure::not_allowed);
  CHECK(failure(std::string(16384, 'a')) == Failure::none);
  CHECK(failure(std::string(16385, 'a')) == Failure::not_allowed);
  for (const std::string bad : {"", "a b", "a\\r\\nX-Evil: 1", "a\\u0000", "a\\u007f"}) {
    INFO(bad);
    CHECK(failure(bad) == Failure::not_allowed);
  }
}
