#include "service/search/list_fusion.h"

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "core/random.h"
#include "fusion/training/registry.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

JsonObject json_of(const std::string& response) {
  const auto value = parse_json(body_in(response), "answer");
  REQUIRE(value.has_value());
  return value->as_object();
}

}  // namespace

TEST_CASE("A search without a model fuses the lists of all templates by RRF and says so",
          "[service][search]") {
  TestServer server;
  const JsonObject answer = json_of(server.get("/search?q=ada&format=json"));
  const JsonArray& results = answer.at("results").as_array();
  // plain@one and placed@one: a b d; plain@two: b c. RRF: b = 1/62+1/62+1/61, a = 2/61, d = 2/63, c = 1/62
  REQUIRE(results.size() == 4);
  CHECK(results[0].at("url") == "http://b.example/");
  CHECK(results[1].at("url") == "http://a.example/");
  CHECK(results[2].at("url") == "http://d.example/");
  CHECK(results[3].at("url") == "http://c.example/");
  CHECK(results[0].at("score").as_double() == Approx(2.0 / 62 + 1.0 / 61));
  CHECK(results[0].at("positions").as_array().size() == 3);
  const JsonObject& fusion = answer.at("fusion").as_object();
  CHECK(fusion.at("method") == "rrf");
  CHECK(std::string(fusion.at("notice").as_string()).find("no trained model") != std::string::npos);
}

TEST_CASE("The list that ranks a page best gives its fields and other lists fill its gaps",
          "[service][search]") {
  TestServer server([](const ExpandedQuery& query) {
    fetchers::FetchedList list;
    list.query = query;
    std::vector<Hit>& hits = list.list.hits;
    if (query.engine == "one") {  // ranks the page second
      hits.push_back({"http://other.example/", "Other", "", "", "", {}});
      hits.push_back(
          {"https://www.page.example/x/?utm_source=one", "One", "snippet of one", "2024-01-01", "", {}});
    } else {  // ranks it first, without snippet and date
      hits.push_back({"http://page.example/x", "Two", "", "", "", {}});
      hits.push_back({"http://PAGE.example:80/x/", "Two again", "not this one", "", "", {}});
    }
    return list;
  });
  const JsonObject answer = json_of(server.get("/search?q=ada&format=json"));
  const JsonArray& results = answer.at("results").as_array();
  REQUIRE(results.size() == 2);
  CHECK(results[0].at("url") == "http://page.example/x");
  CHECK(results[0].at("title") == "Two");
  CHECK(results[0].at("content") == "snippet of one");
  CHECK(std::string(results[0].at("publishedDate").as_string()).starts_with("2024-01-01"));
}

TEST_CASE("The place without a list is the one that fusing the other lists gives", "[service][search]") {
  Random random(5);
  LoadedDomain by_rrf;
  by_rrf.domain.name = "d";
  by_rrf.domain.depth = 4;
  LoadedDomain by_model = by_rrf;
  auto model = fusion::parse_model(R"({"format":"metafuse-model","version":1,"learner":"rankboost",
"features":[{"name":"a@e","kind":"rank","depth":4},{"name":"b@e","kind":"rank","depth":4},
{"name":"c@e","kind":"rank","depth":4}],"unranked":"absent","body":{"weak_rankings":[
{"feature":0,"rank":1,"q_default":0,"alpha":1},{"feature":1,"rank":3,"q_default":0,"alpha":0.5},
{"feature":2,"rank":2,"q_default":0,"alpha":0.75}]},"training":{}})",
                                   "model.json");
  REQUIRE(model.has_value());
  by_model.model = std::move(*model);
  for (int round = 0; round < 200; ++round) {
    std::vector<fetchers::FetchedList> lists;
    for (const char* name : {"a", "b", "c"}) {
      std::vector<std::string> hosts;
      for (std::size_t i = random.below(9); i > 0; --i)  // up to two windows
        hosts.push_back(std::to_string(random.below(9)) + ".example");
      lists.push_back(list_of(hosts));
      lists.back().query = {name, "e", "x"};
    }
    for (const LoadedDomain* domain : {&by_rrf, &by_model}) {
      SearchAnswer answer;
      answer.windows = 2;
      fuse_lists(*domain, lists, answer);
      const JoinedLists joined(*domain, answer);
      for (std::size_t left_out = 0; left_out < lists.size(); ++left_out) {
        auto others = lists;
        others[left_out].list.hits.clear();
        SearchAnswer fused;
        fused.windows = 2;
        fuse_lists(*domain, others, fused);
        std::vector<std::size_t> expected(answer.results.size(), 0);
        for (std::size_t i = 0; i < expected.size(); ++i)
          for (std::size_t j = 0; j < fused.results.size(); ++j)
            if (fused.results[j].hit.key == answer.results[i].hit.key) expected[i] = j + 1;
        CHECK(joined.places_without(left_out) == expected);
      }
    }
  }
}

TEST_CASE("A failed engine is named and does not fail the search", "[service][search]") {
  TestServer server([](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    if (query.engine == "two") {
      list = {};
      list.failure = fetchers::Failure::timeout;
      list.message = "no answer in 3 s";
    }
    return list;
  });
  const JsonObject answer = json_of(server.get("/search?q=ada&format=json"));
  CHECK(answer.at("results").as_array().size() == 3);
  const JsonArray& failed = answer.at("unresponsive_engines").as_array();
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].as_array()[0] == "two");
  CHECK(failed[0].as_array()[1] == "timeout");
  CHECK(server.get("/search?q=ada").find("1 of 3 lists is missing from this answer: two<") !=
        std::string::npos);
}

TEST_CASE("Equal searches are fetched only once", "[service][search]") {
  TestServer server;
  server.get("/search?q=ada&format=json");
  server.get("/search?q=ada");
  server.get("/search?q=ada&format=csv");
  CHECK(server.fetcher().fetches() == 1);
}

TEST_CASE("The page escapes what engines send", "[service][page]") {
  TestServer server([](const ExpandedQuery&) {
    fetchers::FetchedList list;
    list.list.hits.push_back({"http://x.example/?a=\"><script>alert(1)</script>",
                              "<script>alert(2)</script>",
                              "<img src=x onerror=alert(3)>",
                              "",
                              "",
                              {}});
    list.list.hits.push_back({"javascript:alert(4)", "js", "", "", "", {}});
    return list;
  });
  const std::string page = body_in(server.get("/search?q=%3Cscript%3Ealert(5)%3C/script%3E"));
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("<img") == std::string::npos);
  CHECK(page.find("href=\"javascript") == std::string::npos);
  CHECK(page.find("&lt;script&gt;alert(2)") != std::string::npos);
}

TEST_CASE("A page of 30 results from 16 lists takes at most 72 KB and names no other host",
          "[service][page]") {
  std::string templates =
      "version: 1\ndomain: pages\ndescription: Home pages\ndepth: 30\nslots:\n  NAME: {required: true}\n"
      "templates:\n";
  for (int i = 10; i < 26; ++i)
    templates += "  - {id: home-page-template-" + std::to_string(i) + ", engine: one, query: '{NAME}'}\n";
  TestServer server(
      [](const ExpandedQuery& query) {
        fetchers::FetchedList list;
        const std::string words = "Some words that an engine says & means of a \"page\" it found; ";
        for (int i = 0; i < 30; ++i) {
          const int page = (i * 7 + query.template_id.back()) % 40;  // each list has its own order
          Hit hit;
          hit.url = "https://www.host-number-" + std::to_string(page) +
                    ".example.org/a/path/of/usual/length/with-a-name-of-the-page.html?id=123456&lang=en";
          hit.title =
              "The title of page " + std::to_string(page) + ": neither short nor very long, as titles are";
          for (int k = 0; k < 5; ++k) hit.snippet += words;
          hit.published = "2025-01-31";
          list.list.hits.push_back(hit);
        }
        return list;
      },
      "", templates);
  const std::string page = body_in(server.get("/search?q=a+query+of+several+words"));
  std::size_t results = 0;
  for (std::size_t at = page.find("<li><h2>"); at != std::string::npos; at = page.find("<li><h2>", at + 1))
    ++results;
  CHECK(results == 30);
  CHECK(page.size() <= 72 * 1024);
  // "why here" names as many lists as there is room for, the heaviest first
  CHECK(page.find("more of less weight") != std::string::npos);
  const std::string first = page.substr(page.find("<table>"), page.find("</table>") - page.find("<table>"));
  std::size_t rows = 0;
  for (std::size_t at = first.find("<tr><td>"); at != std::string::npos; at = first.find("<tr><td>", at + 1))
    ++rows;
  CHECK(rows == 11);
  for (std::string_view attribute : {"src=\"", "<link rel=\"stylesheet\" href=\"", "action=\""})
    for (std::size_t at = page.find(attribute); at != std::string::npos; at = page.find(attribute, at + 1))
      CHECK(page[at + attribute.size()] == '/');
}

TEST_CASE("Native searches accept slots and explain and refuse unknown members", "[service][native]") {
  TestServer server;
  const auto ask = [&](const std::string& body) {
    return server.post("/v1/search", "application/json", body);
  };
  const JsonObject answer =
      json_of(ask(R"({"slots":{"NAME":"Ada","PLACE":"Rome"},"limit":2,"explain":true})"));
  CHECK(answer.at("results").as_array().size() == 2);
  CHECK(answer.at("total").to_number<int>() == 4);
  CHECK(answer.at("results").as_array()[0].at("explanation").as_array().size() == 3);
  CHECK(status_in(ask(R"({"query":"a","wat":1})")) == 400);
  CHECK(status_in(ask(R"({"slots":{"PLACE":"Rome"}})")) == 400);
  CHECK(status_in(ask("[]")) == 400);
  CHECK(status_in(server.post("/v1/search", "text/plain", "{}")) == 415);
  CHECK(json_of(ask(R"({"query":"a","domain":"none"})")).at("status").to_number<int>() == 400);
}

TEST_CASE("Query variants become lists of their template", "[service][native]") {
  TestServer server;
  const JsonObject answer = json_of(server.post(
      "/v1/search", "application/json",
      R"({"query":"ada","explain":true,"variants":[{"template":"plain","text":"ada OR grace"}]})"));
  CHECK(answer.at("queries").as_array().size() == 5);
  std::string many = R"({"query":"ada","variants":[)";
  for (int i = 0; i < 17; ++i) many += std::string(i > 0 ? "," : "") + R"({"template":"plain","text":"x"})";
  CHECK(status_in(server.post("/v1/search", "application/json", many + "]}")) == 400);
  CHECK(status_in(server.post("/v1/search", "application/json",
                              R"({"query":"a","variants":[{"template":"none","text":"x"}]})")) == 400);
  CHECK(status_in(server.post("/v1/search", "application/json",
                              R"({"query":"a","variants":[{"template":"plain","text":"x","raw":true}]})")) ==
        403);
}

TEST_CASE("Each variant counts and raw ones need their role and 64 queries are the limit",
          "[service][native]") {
  TestServer server(TestServer::default_answer,
                    "keys:\n  - {name: raw, roles: [search, raw], quota_per_day: 12, sha256: " +
                        sha256_hex("raw-key") + "}\n");
  const std::string key = "Authorization: Bearer raw-key\r\n";
  const auto ask = [&](const std::string& body) {
    return server.post("/v1/search", "application/json", body, key);
  };
  const JsonObject raw = json_of(ask(
      R"({"query":"ada","explain":true,"variants":[{"template":"placed","text":"\"a\" -b","raw":true}]})"));
  CHECK(raw.at("queries").as_array().back().at("text") == "\"a\" -b");
  // A search costs three queries of templates and one per engine of the variant's template: 4 with placed, 5
  // with plain. The quota of 12 allows three searches of 4.
  CHECK(status_in(ask(R"({"query":"bob","variants":[{"template":"placed","text":"b"}]})")) == 200);
  CHECK(status_in(ask(R"({"query":"cy","variants":[{"template":"plain","text":"c"}]})")) == 429);
  CHECK(status_in(ask(R"({"query":"cy","variants":[{"template":"placed","text":"c"}]})")) == 200);

  std::string many = "version: 1\ndomain: pages\nslots:\n  NAME: {required: true}\ntemplates:\n";
  for (int i = 0; i < 25; ++i)
    many += "  - {id: t" + std::to_string(i) + ", engine: [one, two], query: '{NAME}'}\n";
  TestServer wide(TestServer::default_answer, "", many);
  const auto with = [&](int variants) {
    std::string body = R"({"query":"ada","variants":[)";
    for (int i = 0; i < variants; ++i)
      body += std::string(i > 0 ? "," : "") + R"({"template":"t1","text":"x"})";
    return status_in(wide.post("/v1/search", "application/json", body + "]}"));
  };
  CHECK(with(7) == 200);  // 50 + 14
  CHECK(with(8) == 400);
}

TEST_CASE("An unsupported format gets 403 as in SearXNG", "[service][searxng]") {
  TestServer server;
  for (const char* format : {"xml", "JSON", "yaml"})
    CHECK(status_in(server.get("/search?q=ada&format=" + std::string(format))) == 403);
  for (const char* format : {"", "html", "json", "csv", "rss"})
    CHECK(status_in(server.get("/search?q=ada&format=" + std::string(format))) == 200);
}

TEST_CASE("Tavily's clients get Tavily's fields", "[service][tavily]") {
  TestServer server;
  const JsonObject answer = json_of(server.post(
      "/search", "application/json", R"({"query":"ada","max_results":2,"exclude_domains":["a.example"]})"));
  CHECK(answer.at("answer").is_null());
  const JsonArray& results = answer.at("results").as_array();
  REQUIRE(results.size() == 2);
  CHECK(results[0].at("url") == "http://b.example/");
  CHECK(results[0].at("score").to_number<double>() == 1.0);
  CHECK(results[1].at("url") == "http://d.example/");
  const std::string bad = server.post("/search", "application/json", R"({"query":"a","topic":"cats"})");
  CHECK(status_in(bad) == 400);
  CHECK(json_of(bad).at("detail").at("error").is_string());
}

TEST_CASE("Older clients of Tavily may send their key in the body", "[service][tavily]") {
  TestServer server(TestServer::default_answer,
                    "needs_key: true\nkeys: [{name: team, sha256: " + sha256_hex("tvly-key") + "}]\n");
  const auto ask = [&](const std::string& body, const std::string& headers = "") {
    return status_in(server.post("/search", "application/json", body, headers));
  };
  CHECK(ask(R"({"query":"ada"})") == 401);
  CHECK(body_in(server.post("/search", "application/json", R"({"query":"ada"})"))
            .starts_with(R"({"detail":{"error":)"));
  CHECK(ask(R"({"query":"ada","api_key":"wrong"})") == 401);
  CHECK(ask(R"({"query":"ada","api_key":["tvly-key"]})") == 401);
  CHECK(ask(R"({"query":"ada","api_key":"tvly-key"})") == 200);
  CHECK(ask(R"({"query":"ada"})", "Authorization: Bearer tvly-key\r\n") == 200);
  CHECK(status_in(server.post("/v1/search", "application/json", R"({"query":"ada","api_key":"tvly-key"})")) ==
        401);
  const auto extract = [&](const std::string& key) {
    return status_in(server.post("/extract", "application/json",
                                 R"({"urls":["http://10.0.0.1/"],"api_key":")" + key + "\"}"));
  };
  CHECK(extract("wrong") == 401);
  CHECK(extract("tvly-key") == 200);
}

TEST_CASE("A stream is fused again as lists arrive and ends with the plain answer", "[service][stream]") {
  TestServer server;
  const std::string stream = server.get("/v1/search/stream?q=ada");
  CHECK(stream.find("Content-Type: text/event-stream") != std::string::npos);
  CHECK(stream.find("event: partial\n") < stream.find("event: final\n"));
  CHECK(stream.find("\"arrived\":2,\"wanted\":3") != std::string::npos);
  const std::string plain = body_in(server.post("/v1/search", "application/json", R"({"query":"ada"})"));
  CHECK(stream.find("event: final\ndata: " + plain + "\n\n") != std::string::npos);
  CHECK(stream.ends_with("0\r\n\r\n"));
  CHECK(status_in(server.get("/v1/search/stream")) == 400);
}

TEST_CASE("A reload with a broken file keeps the previous state", "[service][reload]") {
  TestServer server;
  server.folder().write("templates/pages.yaml", "version: 1\ndomain: [\n");
  CHECK(server.app().reloader().reload().has_error());
  CHECK(status_in(server.get("/search?q=ada")) == 200);
  std::string changed = kTwoTemplates;
  changed.replace(changed.find("Home pages"), 10, "Other ones");
  server.folder().write("templates/pages.yaml", changed);
  CHECK(server.app().reloader().reload().has_value());
  CHECK(server.get("/").find("Other ones") != std::string::npos);
}

TEST_CASE("A model of other templates is refused with the names that differ", "[service][reload]") {
  TestServer server;
  server.folder().write("models/pages.json", R"({"format":"metafuse-model","version":1,"learner":"rankboost",
"features":[{"name":"plain@one","kind":"rank","depth":10},{"name":"gone@one","kind":"rank","depth":10}],
"unranked":"absent","body":{"weak_rankings":[{"feature":0,"rank":1,"q_default":0,"alpha":1}]},"training":{}})");
  const auto reloaded = server.app().reloader().reload();
  REQUIRE(reloaded.has_error());
  CHECK(reloaded.error().text.find("only in the model: gone@one") != std::string::npos);
  CHECK(reloaded.error().text.find("only in the templates: plain@two, placed@one") != std::string::npos);
}

TEST_CASE("The editor shows a file line by line and escaped", "[service][page]") {
  std::string text = kTwoTemplates;
  text.replace(text.find("Home pages"), 10, "</textarea>");
  TestServer server(TestServer::default_answer, "", text);
  const std::string page = body_in(server.get("/templates/pages"));
  CHECK(page.find("version: 1\ndomain: pages\ndescription: &lt;/textarea&gt;\ndepth: 10\n") !=
        std::string::npos);
}

TEST_CASE("Only pages of allowed origins may search from scripts", "[service][cors]") {
  TestServer server(TestServer::default_answer, "cors_origins: ['https://app.example']\n");
  const auto ask = [&](const std::string& origin) {
    return server.post("/v1/search", "text/plain", "",
                       "Origin: " + origin + "\r\nAccess-Control-Request-Method: POST\r\n", "OPTIONS");
  };
  const std::string allowed = ask("https://app.example");
  CHECK(status_in(allowed) == 204);
  CHECK(allowed.find("Access-Control-Allow-Origin: https://app.example\r\n") != std::string::npos);
  CHECK(ask("https://evil.example").find("Access-Control-Allow-Origin") == std::string::npos);
  CHECK(allowed.find("Access-Control-Allow-Methods: GET, POST, PUT, DELETE\r\n") != std::string::npos);
  // what caches keep for one origin must not be given to another
  CHECK(server.get("/v1/templates/pages").find("\r\nVary: Origin\r\n") != std::string::npos);
  // a page's script may send a trace header and read our response headers
  CHECK(allowed.find(", traceparent, ") != std::string::npos);
  const std::string read = server.get("/v1/templates/pages", "Origin: https://app.example\r\n");
  CHECK(read.find("Access-Control-Expose-Headers: ETag, Retry-After, ") != std::string::npos);
}

TEST_CASE("The ranks of a window begin behind those of a full window before it", "[service][search]") {
  fetchers::FetchedList list = list_of({"a.example", "b.example", "c.example"});
  CHECK(WindowRanks(list, 2).of_hits().empty());  // 1, 2, 3
  CHECK(WindowRanks(list, 2).hits_in(1) == 1);
  CHECK(WindowRanks(list, 2).position_of(3) == 2);
  list.in_window = {3, 0};
  CHECK(WindowRanks(list, 3).of_hits().empty());
  list.in_window = {1, 0, 2};
  const WindowRanks ranks(list, 4);
  CHECK(ranks.of_hits() == std::vector<std::uint32_t>{1, 9, 10});
  CHECK(ranks.hits_in(0) == 1);
  CHECK(ranks.hits_in(1) == 0);
  CHECK(ranks.hits_in(2) == 2);
  CHECK(ranks.hits_in(3) == 0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(ranks.position_of(ranks.of_hits()[i]) == i);
}

TEST_CASE("Windows are joined without changing the addresses of their results", "[service][search]") {
  const auto list_with = [](const std::string& url) {
    Hit hit;
    hit.url = url;  // of a server that keeps this parameter
    hit.key = url;
    fetchers::FetchedList list;
    list.list.hits.push_back(hit);
    return list;
  };
  const std::string first = "http://a.example/?utm_source=1", second = "http://a.example/?utm_source=2";
  const auto joined = joined_lists({list_with(first)}, {list_with(second)});
  REQUIRE(joined[0].list.hits.size() == 2);
  CHECK(joined[0].list.hits[0].url == first);
  CHECK(joined[0].list.hits[1].url == second);
  CHECK(joined_lists({list_with(first)}, {list_with(first)})[0].list.hits.size() == 1);
}

TEST_CASE("A list that lacks pages gets no results of later windows", "[service][search]") {
  const auto list_with = [](const std::string& url, bool lacks_pages) {
    Hit hit;
    hit.url = hit.key = url;
    fetchers::FetchedList list;
    list.list.hits.push_back(hit);
    list.lacks_pages = lacks_pages;
    return list;
  };
  const auto joined = joined_lists({list_with("a", false), list_with("b", true)},
                                   {list_with("c", true), list_with("d", false)});
  CHECK(joined[0].list.hits.size() == 2);
  CHECK(joined[0].lacks_pages);
  CHECK(joined[1].list.hits.size() == 1);  // its ranks after that are not known
  CHECK(joined[1].lacks_pages);
}
