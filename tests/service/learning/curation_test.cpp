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
  result.hit.key = *canonical_url_key(result.hit.url, default_tracking_parameters());
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
  CHECK(curation->queries[0].hidden[0].key == result_at("b.example").hit.key);
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

TEST_CASE("The limits of a curation are what its sentences say", "[service][curation]") {
  const auto list = [](std::size_t count, const auto& item) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + item(i);
    return out;
  };
  const auto quoted = [](const std::string& text) { return '"' + text + '"'; };
  const auto query = [&](std::size_t i) { return R"({"query":"q)" + std::to_string(i) + "\"}"; };
  const auto url = [&](std::size_t i) { return quoted("http://a/" + std::to_string(i)); };
  const auto word = [&](std::size_t i) { return quoted("w" + std::to_string(i)); };
  const auto group = [&](std::size_t i) {
    return '[' + word(i) + ',' + quoted("x" + std::to_string(i)) + ']';
  };
  const auto queries = [&](std::size_t n) { return mistake(R"({"queries":[)" + list(n, query) + "]}"); };
  const auto pinned = [&](std::size_t n) {
    return mistake(R"({"queries":[{"query":"a","pinned":[)" + list(n, url) + "]}]}");
  };
  const auto groups = [&](std::size_t n) { return mistake(R"({"synonyms":[)" + list(n, group) + "]}"); };
  const auto words = [&](std::size_t n) { return mistake(R"({"synonyms":[[)" + list(n, word) + "]]}"); };
  const auto typed = [&](std::size_t n) {
    return mistake(R"({"queries":[{"query":)" + quoted(std::string(n, 'a')) + "}]}");
  };
  const auto address = [&](std::size_t n) {
    return mistake(R"({"queries":[{"query":"a","hidden":[)" + quoted("http://a/" + std::string(n - 9, 'b')) +
                   "]}]}");
  };
  CHECK(queries(10'000) == "");
  CHECK(queries(10'001).find("at most 10000 entries") != std::string::npos);
  CHECK(pinned(100) == "");
  CHECK(pinned(101).find("at most 100 results") != std::string::npos);
  CHECK(groups(2000) == "");
  CHECK(groups(2001).find("at most 2000 entries") != std::string::npos);
  CHECK(words(2) == "");
  CHECK(words(20) == "");
  CHECK(words(21).find("2 to 20 words") != std::string::npos);
  CHECK(typed(2048) == "");
  CHECK(typed(2049).find("at most 2048 bytes") != std::string::npos);
  CHECK(address(2048) == "");
  CHECK(address(2049).find("give the result's URL") != std::string::npos);
  const std::string empty = R"({"queries":[]})";
  CHECK(mistake(empty + std::string(kMaxCurationBytes - empty.size(), ' ')) == "");
  CHECK(mistake(empty + std::string(kMaxCurationBytes + 1 - empty.size(), ' ')).find("more than") !=
        std::string::npos);
}

TEST_CASE("Only an added result may bring texts and it needs a web address", "[service][curation]") {
  const auto of_list = [](const char* list, const char* result) {
    return mistake(std::string(R"({"queries":[{"query":"a",")") + list + "\":[" + result + "]}]}");
  };
  CHECK(of_list("pinned", R"("ftp://a.example/")") == "");
  CHECK(of_list("hidden", R"({"url":"http://a.example/"})").find("give the result's URL") !=
        std::string::npos);
  CHECK(of_list("added", R"("http://a.example/")") == "");
  CHECK(of_list("added", R"({"url":"http://a.example/","score":1})").find("unknown member \"score\"") !=
        std::string::npos);
  CHECK(of_list("added", R"({"url":"http://a.example/","title":1})").find("title: must be a text") !=
        std::string::npos);
  CHECK(of_list("added", R"({"title":"A"})").find("give the result's URL") != std::string::npos);
  CHECK(mistake(R"({"queries":[{"query":"a","colour":"red"}]})").find("unknown member \"colour\"") !=
        std::string::npos);
  CHECK(mistake(R"({"queries":{}})").find("must be a list") != std::string::npos);
  CHECK(mistake(R"({"queries":["a"]})").find("query 1: must be an object") != std::string::npos);
}

TEST_CASE("A query means the same as at most three others and each group replaces one phrase once",
          "[service][curation]") {
  const Synonyms many{{"a", "b", "c", "d", "e"}, {"x", "y"}};
  CHECK(alternatives_of(many, "a x") == std::vector<std::string>{"b x", "c x", "d x"});
  CHECK(alternatives_of({{"a", "b"}, {"x", "y"}}, "a x") == std::vector<std::string>{"b x", "a y"});
  CHECK(alternatives_of({{"a", "b"}}, "a b a") == std::vector<std::string>{"b b a"});
  CHECK(alternatives_of({{"motor car", "car"}}, "old motor car") == std::vector<std::string>{"old car"});
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
  decisions.grades = {{result_at("a").hit.key, 0},
                      {result_at("d").hit.key, 4},
                      {result_at("e").hit.key, 1},
                      {result_at("f").hit.key, 2}};
  const StoreIdentity identity{"secret", false, ""};
  // 4 and 2 are at least half of the best grade; 1 stays in its place and 0 goes to the end.
  const SearchAnswer judged = decided_answer(answer, decisions, identity);
  CHECK(order_of(judged) == "dfbcea");
  CHECK(judged.results.front().grade == 4);
  CHECK_FALSE(judged.results[2].grade.has_value());
  decisions.curated.pinned = {{"http://c/", "", "", result_at("c").hit.key}};
  decisions.curated.hidden = {{"http://b/", "", "", result_at("b").hit.key}};
  decisions.curated.added = {{"http://x/", "X", "text", result_at("x").hit.key}};
  const SearchAnswer curated = decided_answer(answer, decisions, identity);
  CHECK(order_of(curated) == "cxdfeab");
  CHECK(curated.hidden == 1);
  CHECK(curated.results[0].decided == Decided::pinned);
  CHECK(curated.results[1].decided == Decided::added);
  CHECK(curated.results[1].document == FusedResult::kNoDocument);
}

TEST_CASE("Decided results keep falling scores and only undecided ones keep their team",
          "[service][curation]") {
  SearchAnswer answer = answer_of({"a", "b", "c"});
  answer.results[0].relative_score = 1.0;
  answer.results[1].relative_score = 0.5;
  answer.results[2].relative_score = 0.25;
  answer.teams = {Team::champion, Team::challenger, Team::champion};
  QueryDecisions decisions;
  decisions.curated.pinned = {{"http://c/", "", "", result_at("c").hit.key}};
  decisions.curated.added = {{"http://b/", "B", "text", result_at("b").hit.key},
                             {"http://x/", "X", "text", result_at("x").hit.key}};
  const SearchAnswer decided = decided_answer(answer, decisions, {"secret", false, ""});
  CHECK(order_of(decided) == "cbxa");  // b was found, so that it is not added a second time
  CHECK(decided.results[1].hit.title.empty());
  CHECK(decided.results[2].hit.title == "X");
  std::vector<double> scores;
  for (const FusedResult& result : decided.results) scores.push_back(result.relative_score);
  CHECK(scores == std::vector<double>{1.0, 0.5, 0.25, 0.25});
  CHECK(decided.teams == std::vector<Team>{Team::none, Team::none, Team::none, Team::champion});
}

TEST_CASE("Grades are found by the stored name of a document", "[service][curation]") {
  const SearchAnswer answer = answer_of({"a", "b", "c"});
  const std::string key = result_at("c").hit.key;
  QueryDecisions decisions;
  decisions.grades = {{hashed_document("secret", key), 1}};
  CHECK(order_of(decided_answer(answer, decisions, {"secret", true, ""})) == "cab");
  CHECK(order_of(decided_answer(answer, decisions, {"secret", false, ""})) == "abc");
  decisions.grades = {{key, 1}};
  CHECK(order_of(decided_answer(answer, decisions, {"secret", false, ""})) == "cab");
  decisions.grades = {{key, 1}, {result_at("a").hit.key, 3}, {result_at("b").hit.key, 2}};
  CHECK(order_of(decided_answer(answer, decisions, {"secret", false, ""})) == "abc");  // 1 is below half of 3
  decisions.grades = {{key, 2}, {result_at("b").hit.key, 3}};
  CHECK(order_of(decided_answer(answer, decisions, {"secret", false, ""})) == "bca");
}

namespace {

Hit folded(const std::string& host) {
  Hit hit = result_at(host).hit;
  hit.key = result_at(host).hit.key;
  return hit;
}

std::string order_of(const std::vector<FoldedHit>& hits) {
  std::string out;
  for (const Hit& hit : hits) out += hit.url.substr(7, 1);
  return out;
}

}  // namespace

TEST_CASE("What an operator decided counts for results that are folded below others", "[service][curation]") {
  SearchAnswer answer = answer_of({"a", "b", "c"});
  answer.results[1].alike = {folded("x"), folded("y")};
  answer.results[1].same_site = {folded("u"), folded("v")};
  const auto entry = [](const std::string& host) {
    return CuratedResult{"http://" + host + "/", "", "", result_at(host).hit.key};
  };
  const auto decide = [&](const CuratedQuery& curated) {
    QueryDecisions decisions;
    decisions.curated = curated;
    return decided_answer(answer, decisions, {"secret", false, ""});
  };
  const SearchAnswer hidden = decide({"q", {}, {}, {entry("x"), entry("u")}});
  CHECK(order_of(hidden) == "abc");
  CHECK(order_of(hidden.results[1].alike) == "y");
  CHECK(order_of(hidden.results[1].same_site) == "v");

  const SearchAnswer pinned = decide({"q", {entry("y")}, {}, {}});
  CHECK(order_of(pinned) == "yac");
  CHECK(pinned.results[0].hit.key == result_at("y").hit.key);
  CHECK(pinned.results[0].decided == Decided::pinned);
  CHECK(order_of(pinned.results[0].alike) == "xb");

  const SearchAnswer of_site = decide({"q", {entry("v")}, {entry("u")}, {}});
  CHECK(order_of(of_site) == "vuabc");
  CHECK(of_site.results[3].same_site.empty());

  const SearchAnswer twin = decide({"q", {}, {}, {entry("b")}});
  CHECK(order_of(twin) == "axc");
  CHECK(twin.hidden == 0);
  CHECK(twin.results[1].hit.key == result_at("x").hit.key);
  CHECK(order_of(twin.results[1].alike) == "y");

  const SearchAnswer last = decide({"q", {}, {}, {entry("b"), entry("x"), entry("y")}});
  CHECK(order_of(last) == "auc" + std::string("b"));
  CHECK(last.hidden == 1);
  CHECK(order_of(last.results[1].same_site) == "v");

  const SearchAnswer added = decide({"q", {}, {entry("x")}, {}});
  CHECK(order_of(added) == "xac");  // it was found, so that it is not added a second time
}

TEST_CASE("Decisions count within each window, and what is added stays in the first", "[service][curation]") {
  SearchAnswer answer = answer_of({"a", "b", "c", "d", "e", "f", "g"});
  answer.windows = 2;
  for (std::size_t i = 3; i < answer.results.size(); ++i) answer.results[i].window = 1;
  answer.results[1].alike = {FoldedHit(folded("x"), 1), FoldedHit(folded("y"), 1)};
  QueryDecisions decisions;
  decisions.grades = {{result_at("a").hit.key, 0}, {result_at("e").hit.key, 2}, {result_at("c").hit.key, 2}};
  decisions.curated.pinned = {{"http://f/", "", "", result_at("f").hit.key}};
  decisions.curated.added = {{"http://g/", "G", "", result_at("g").hit.key}};
  const StoreIdentity identity{"secret", false, ""};
  CHECK(order_of(decided_answer(answer, decisions, identity)) == "gcbafed");
  decisions = {};
  decisions.curated.hidden = {{"http://b/", "", "", result_at("b").hit.key}};
  const SearchAnswer without = decided_answer(answer, decisions, identity);
  CHECK(order_of(without) == "acdefgxb");  // x does not come to a page that was shown without it
  CHECK(order_of(without.results[6].alike) == "y");
  decisions = {};
  decisions.curated.pinned = {{"http://y/", "", "", result_at("y").hit.key}};
  const SearchAnswer pinned = decided_answer(answer, decisions, identity);
  CHECK(order_of(pinned) == "abcydefg");
  CHECK(order_of(pinned.results[1].alike) == "x");
}
