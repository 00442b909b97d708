#include "service/learning/curation.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tracking_parameters.h"
#include "core/url.h"
#include "service/learning/decisions.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

Result<Curation> parsed(std::string_view text) {
  return parse_curation(text, default_tracking_parameters());
}

std::string mistake(std::string_view text) {
  const auto curation = parsed(text);
  return curation ? "" : curation.error().text;
}

FusedResult result_at(const std::string& host) {
  FusedResult result;
  result.hit.url = "http://" + host + "/";
  result.key = *canonical_url_key(result.hit.url, default_tracking_parameters());
  return result;
}

SearchAnswer answer_of(const std::vector<std::string>& hosts) {
  SearchAnswer answer;
  for (const std::string& host : hosts) answer.results.push_back(result_at(host));
  return answer;
}

std::string order_of(const SearchAnswer& answer) {
  std::string out;
  for (const FusedResult& result : answer.results) out += result.hit.url.substr(7, 1);
  return out;
}

}  // namespace

TEST_CASE("A curation is read and written again", "[service][curation]") {
  const std::string text = R"({"queries":[{"query":"Text Editor","pinned":["http://a.example/"],
    "hidden":["http://b.example/?utm_source=x"],"added":[{"url":"https://c.example/","title":"C","snippet":"s"}]}],
    "synonyms":[["Car","automobile"]]})";
  const auto curation = parsed(text);
  if (!curation) FAIL(curation.error().text);
  CHECK(curation->queries[0].hidden[0].key == result_at("b.example").key);
  CHECK(curation->synonyms == Synonyms{{"car", "automobile"}});
  CHECK(parsed(curation_text(*curation)).value() == *curation);
  CHECK(parsed(kNoCuration).value() == Curation());
}

TEST_CASE("A mistake in a curation is named", "[service][curation]") {
  CHECK(mistake("[]").find("must be an object") != std::string::npos);
  CHECK(mistake(R"({"querys":[]})").find("unknown member \"querys\"; did you mean queries") !=
        std::string::npos);
  CHECK(mistake(R"({"queries":[{"pinned":[]}]})").find("query 1: \"query\" is missing") != std::string::npos);
  CHECK(mistake(R"({"queries":[{"query":"a"},{"query":" A "}]})").find("occurs twice") != std::string::npos);
  CHECK(mistake(R"({"queries":[{"query":"a","pinned":["no url"]}]})").find("give the result's URL") !=
        std::string::npos);
  CHECK(mistake(R"({"queries":[{"query":"a","added":[{"url":"ftp://a.example/"}]}]})")
            .find("needs an http or https URL") != std::string::npos);
  CHECK(mistake(R"({"synonyms":[["one"]]})").find("2 to") != std::string::npos);
  CHECK(mistake(R"({"synonyms":[["one",""]]})").find("empty") != std::string::npos);
  CHECK(mistake("{\"queries\":[{\"query\":\"" + std::string(3000, 'a') + "\"}]}").find("at most") !=
        std::string::npos);
}

TEST_CASE("A query with a synonym means the same as the query with the other word", "[service][curation]") {
  const Synonyms synonyms{{"car", "automobile", "motor car"}, {"cheap", "low cost"}};
  CHECK(alternatives_of(synonyms, "Cheap CAR hire") ==
        std::vector<std::string>{"cheap automobile hire", "cheap motor car hire", "low cost car hire"});
  CHECK(alternatives_of(synonyms, "carpet").empty());
  CHECK(alternatives_of(synonyms, "").empty());
  CHECK(alternatives_of({}, "car").empty());
}

TEST_CASE("Pins and grades order the results of their query and hidden ones come after all",
          "[service][curation]") {
  const SearchAnswer answer = answer_of({"a", "b", "c", "d", "e", "f"});
  QueryDecisions decisions;
  decisions.grades = {
      {result_at("a").key, 0}, {result_at("d").key, 4}, {result_at("e").key, 1}, {result_at("f").key, 2}};
  const StoreIdentity identity{"secret", false, ""};
  // 4 and 2 are at least half of the best grade; 1 stays in its place and 0 goes to the end.
  const SearchAnswer judged = decided_answer(answer, decisions, identity);
  CHECK(order_of(judged) == "dfbcea");
  CHECK(judged.results.front().grade == 4);
  CHECK_FALSE(judged.results[2].grade.has_value());
  decisions.curated.pinned = {{"http://c/", "", "", result_at("c").key}};
  decisions.curated.hidden = {{"http://b/", "", "", result_at("b").key}};
  decisions.curated.added = {{"http://x/", "X", "text", result_at("x").key}};
  const SearchAnswer curated = decided_answer(answer, decisions, identity);
  CHECK(order_of(curated) == "cxdfeab");
  CHECK(curated.hidden == 1);
  CHECK(curated.results[0].decided == Decided::pinned);
  CHECK(curated.results[1].decided == Decided::added);
  CHECK(curated.results[1].document == FusedResult::kNoDocument);
}
