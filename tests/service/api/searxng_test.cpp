#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

Json searched(TestServer& server, const std::string& parameters) {
  const std::string response = server.get("/search?format=json&" + parameters);
  INFO(response);
  REQUIRE(status_in(response) == 200);
  return *parse_json(body_in(response), "answer");
}

std::string urls_of(const Json& answer) {
  std::string out;
  for (const Json& result : answer.at("results").as_array())
    out += std::string(result.at("url").as_string()) + ' ';
  return out;
}

}  // namespace

TEST_CASE("The score in SearXNG's JSON never rises, whatever ordered the results", "[service][searxng]") {
  // the second domain's window of lists puts better scores below: a depth of 2 makes two windows
  TestServer server(TestServer::default_answer, "",
                    "version: 1\ndomain: pages\ndepth: 2\nslots:\n  NAME: {required: true}\ntemplates:\n"
                    "  - {id: plain, engine: [one, two], query: '{NAME}'}\n");
  server.fetcher().set_further([](const ExpandedQuery& query, int) {
    return query.engine == "one" ? list_of({"x.example", "y.example"}) : list_of({"y.example", "x.example"});
  });
  const Json found = searched(server, "q=ada&limit=20");
  std::vector<double> scores;
  std::vector<double> models;
  for (const Json& result : found.at("results").as_array()) {
    scores.push_back(result.at("score").to_number<double>());
    models.push_back(result.at("fusion").at("score").to_number<double>());
  }
  REQUIRE(scores.size() >= 5);
  for (std::size_t i = 1; i < scores.size(); ++i) CHECK(scores[i] <= scores[i - 1]);
  // without that rule the score rises somewhere: the second window's results stand in both lists
  const Json both = searched(server, "q=ada&limit=20&explain=1");
  std::vector<double> sums;
  for (const Json& result : both.at("results").as_array()) {
    double sum = 0;
    for (const Json& reason : result.at("fusion").at("explanation").as_array())
      sum += reason.at("weight").to_number<double>();
    sums.push_back(sum);
  }
  CHECK_FALSE(std::is_sorted(sums.rbegin(), sums.rend()));
}

TEST_CASE("A time range of None is no time range", "[service][searxng]") {
  TestServer server;
  CHECK(urls_of(searched(server, "q=ada&time_range=None")) == urls_of(searched(server, "q=ada")));
  CHECK(urls_of(searched(server, "q=ada&time_range=")) == urls_of(searched(server, "q=ada")));
  CHECK(status_in(server.get("/search?q=ada&format=json&time_range=century")) == 400);
}

TEST_CASE("A picture stands in img_src if an engine for pictures found it", "[service][searxng]") {
  TestServer server([](const ExpandedQuery& query) {
    auto list = TestServer::default_answer(query);
    for (Hit& hit : list.list.hits) hit.thumbnail = "http://pictures.example/1.png";
    return list;
  });
  const Json found = searched(server, "q=ada");
  for (const Json& result : found.at("results").as_array()) {
    CHECK(result.at("thumbnail") == "http://pictures.example/1.png");
    const bool is_by_two = result.at("engines").as_array().back() == "two";
    CHECK(result.at("img_src") == (is_by_two ? "http://pictures.example/1.png" : ""));
  }
}

TEST_CASE("Bangs choose engines, categories and the language, unless the configuration says no",
          "[service][searxng]") {
  const auto text_of = [](const ExpandedQuery& query) {
    auto list = TestServer::default_answer(query);
    list.list.suggestions = {query.text};
    return list;
  };
  TestServer server(text_of);
  const auto check = [&](const std::string& typed, const std::string& engine, const std::string& text) {
    const Json found = searched(server, "q=" + typed);
    INFO(typed << to_text(found));
    CHECK(found.at("suggestions") == JsonArray{Json(text)});
    for (const Json& result : found.at("results").as_array())
      for (const Json& name : result.at("engines").as_array())
        CHECK((engine.empty() || name == Json(engine)));
  };
  check("!tw+ada", "two", "ada");
  check("ada+!TWO+lovelace", "two", "ada lovelace");
  check("!images+ada", "two", "ada");
  check(":de+ada", "", "ada");
  check("!pages+:de-AT+ada", "", "ada");
  check("!unknown+ada", "", "unknown ada");  // the engine's syntax has no "!"
  check("ada+:smile", "", "ada smile");
  check("!tw", "", "tw");
  TestServer narrow(text_of,
                    "keys: [{name: narrow, domains: [zulu], sha256: " + sha256_hex("narrow") + "}]\n");
  for (const char* name : {"bravo", "zulu"}) {
    std::string text = kTwoTemplates;
    text.replace(text.find("pages"), 5, name);
    narrow.folder().write("templates/" + std::string(name) + ".yaml", text);
  }
  REQUIRE(narrow.app().reloader().reload().has_value());
  for (const char* mark : {"!tw", "!bravo"})  // neither leads to a domain that the key may not search
    CHECK(status_in(narrow.get("/search?format=json&q=" + std::string(mark) + "+ada",
                               "Authorization: Bearer narrow\r\n")) == 200);
  TestServer plain(text_of, "bangs: false\n");
  CHECK(searched(plain, "q=!tw+ada").at("suggestions") == JsonArray{"tw ada"});
}

TEST_CASE("The range of a number is told as it is written", "[service][searxng]") {
  TestServer server;
  const std::string refused = server.get("/search?q=ada&format=json&timeout_limit=500");
  CHECK(status_in(refused) == 400);
  CHECK(refused.find("timeout_limit must be a number from 0 to 120") != std::string::npos);
}
