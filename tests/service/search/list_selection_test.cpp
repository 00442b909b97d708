#include "service/search/list_selection.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "fusion/training/registry.h"
#include "service/search/answer_cache.h"
#include "service/search/search_pipeline.h"
#include "templates/template_file.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

std::string list_name(std::size_t number) {
  return "t" + std::to_string(number) + "@one";
}

/// A domain of `count` lists, of which the last one is the most useful and asked first. The first result of
/// that list leads by 2; `settled` is the lead with which the list suffices.
LoadedDomain selecting(std::size_t count, const std::string& settled = "1", double explore = 0) {
  LoadedDomain out;
  out.domain.name = "pages";
  out.domain.slots.push_back({"NAME", true, ""});
  std::string features, order, gains;
  for (std::size_t i = 0; i < count; ++i) {
    out.domain.templates.push_back({"t" + std::to_string(i), {"one"}, "{NAME}"});
    const char* comma = i == 0 ? "" : ",";
    features += comma + (R"({"name":")" + list_name(i)) + R"(","kind":"rank","depth":10})";
    order += comma + std::to_string(count - 1 - i);
    gains += std::string(comma) + "0";
  }
  out.domain.select = templates::Selection{1, explore, 0.002};
  out.model =
      fusion::parse_model(
          R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[)" + features +
              R"(],"unranked":"absent","body":{"weak_rankings":[{"feature":)" + std::to_string(count - 1) +
              R"(,"rank":1,"q_default":0,"alpha":2}]},"choice":{"order":[)" + order + R"(],"gains":[)" +
              gains + R"(],"queries":30,"settled":{"lists":[1],"leads":[)" + settled +
              R"(]}},"training":{}})",
          "model")
          .value();
  return out;
}

std::vector<std::string> names_of(const std::vector<ExpandedQuery>& queries) {
  std::vector<std::string> out;
  for (const ExpandedQuery& query : queries) out.push_back(query.feature_name());
  return out;
}

/// What searches of a domain ask for, in the order of the fetches.
struct Asking {
  explicit Asking(LoadedDomain loaded, FakeFetcher::Answer answer = one_result) : domain(std::move(loaded)) {
    snapshot.config.deadline_seconds = 3;
    snapshot.engines.fetcher = std::make_shared<FakeFetcher>([this, answer](const ExpandedQuery& query) {
      asked.push_back(query.feature_name());
      return answer(query);
    });
  }
  static fetchers::FetchedList one_result(const ExpandedQuery& query) {
    return list_of({query.template_id + ".example", query.template_id + ".second.example"});
  }
  SearchAnswer search(SearchRequest request, const PartialAnswer& on_partial = {}) {
    asked.clear();
    if (request.text.empty()) request.text = "ada";
    return search_prepared(prepare_search(snapshot, domain, request, clock).value(), clock, on_partial);
  }

  LoadedDomain domain;
  Snapshot snapshot;
  ManualClock clock;
  std::vector<std::string> asked;
};

using Names = std::vector<std::string>;

SearchRequest naming(Names lists, Names engines = {}) {
  SearchRequest request;
  request.text = "ada";
  request.lists = std::move(lists);
  request.engines = std::move(engines);
  return request;
}

}  // namespace

TEST_CASE("The first lists of the order are asked, and no other if they settle the top",
          "[service][search][selection]") {
  Asking asking(selecting(3));
  const SearchAnswer answer = asking.search({});
  CHECK(asking.asked == Names{"t2@one"});
  REQUIRE(answer.not_asked.size() == 2);
  CHECK(answer.not_asked[0].feature == "t1@one");  // in the order in which they would have been asked
  CHECK(answer.not_asked[0].engine == "one");
  CHECK(answer.not_asked[0].why == WhyNotAsked::settled);
  CHECK(not_asked_text(answer) ==
        "2 of 3 lists not asked for, because the others settled the first results: t1@one, t0@one");
  // the next window asks the same lists
  const auto prepared = prepare_search(asking.snapshot, asking.domain, naming({}), asking.clock).value();
  CHECK(search_further(prepared, asking.clock, answer).lists.size() == 1);
}

TEST_CASE("The other lists are asked if the first result leads too little, or a first list failed",
          "[service][search][selection]") {
  Asking unsure(selecting(3, "2.5"));
  std::vector<std::size_t> arrived;
  const SearchAnswer answer =
      unsure.search({}, [&](const SearchAnswer& so_far, std::size_t lists, std::size_t) {
        CHECK(so_far.lists.size() == lists);
        arrived.push_back(lists);
      });
  CHECK(unsure.asked == Names{"t2@one", "t1@one", "t0@one"});  // in rounds of 1, 1 and 2
  CHECK(answer.lists.size() == 3);
  CHECK(answer.results.size() == 6);
  CHECK(answer.not_asked.empty());
  CHECK(arrived == std::vector<std::size_t>{1, 2});  // what is there is shown before the next round

  Asking failing(selecting(3), [](const ExpandedQuery& query) {
    fetchers::FetchedList list = list_of({"a.example"});
    if (query.template_id == "t2") list.failure = fetchers::Failure::timeout;
    return list;
  });
  failing.search({});
  CHECK(failing.asked.size() == 3);

  Asking late(selecting(3, "2.5"), [](const ExpandedQuery& query) { return Asking::one_result(query); });
  late.snapshot.config.deadline_seconds = 0;
  const SearchAnswer hurried = late.search({});
  CHECK(hurried.not_asked.at(0).why == WhyNotAsked::deadline);
  CHECK(hurried.is_cut_short());
  CHECK_FALSE(answer.is_cut_short());
}

TEST_CASE("A list that failed settles nothing, however far the first result leads",
          "[service][search][selection]") {
  const LoadedDomain domain = selecting(3);
  SearchAnswer answer;
  answer.results.resize(2);
  answer.results[0].score = 3;
  answer.lists.resize(2);
  CHECK(is_settled(domain, answer, 0));
  answer.lists[1].failure = fetchers::Failure::timeout;
  CHECK_FALSE(is_settled(domain, answer, 0));
}

TEST_CASE("Five lists not asked for are named and of more only the number", "[service][search][selection]") {
  SearchAnswer answer;
  for (int i = 1; i <= 5; ++i)
    answer.not_asked.push_back({std::to_string(i) + "@e", "e", WhyNotAsked::settled});
  CHECK(not_asked_groups(answer).at(0).names == "1@e, 2@e, 3@e, 4@e, 5@e");
  answer.not_asked.push_back({"6@e", "e", WhyNotAsked::settled});
  CHECK(not_asked_groups(answer).at(0).names == "1@e, 2@e, 3@e, 4@e, 5@e, ...");
  CHECK(not_asked_groups(answer).at(0).count == 6);
}

TEST_CASE("Each round doubles the lists and stops at the lead that suffices for that number",
          "[service][search][selection]") {
  Asking asking(selecting(9, "2.5"));
  asking.domain.model->choice->settled[4] = 2;
  const SearchAnswer answer = asking.search({});
  CHECK(asking.asked == Names{"t8@one", "t7@one", "t6@one", "t5@one"});
  CHECK(answer.not_asked.size() == 5);
  asking.domain.domain.select->first = 2;
  asking.search({});
  CHECK(asking.asked == Names{"t7@one", "t8@one", "t6@one", "t5@one"});
  asking.domain.domain.select->first = 3;  // then there are 3, 6 and 9 lists, for which nothing is known
  asking.search({});
  CHECK(asking.asked.size() == 9);
}

TEST_CASE("Requests that name lists or engines, and judges, get all that they ask for",
          "[service][search][selection]") {
  Asking asking(selecting(3));
  asking.search(naming({"t0@one", "t1@one"}));
  CHECK(asking.asked == Names{"t0@one", "t1@one"});
  asking.search(naming({}, {"one"}));
  CHECK(asking.asked.size() == 3);
  SearchRequest of_key = naming({}, {"one"});  // the engines that a key may ask, without naming them
  of_key.are_engines_allowed_ones = true;
  asking.search(of_key);
  CHECK(asking.asked == Names{"t2@one"});
  SearchRequest of_judge;
  of_judge.asks_all = true;
  CHECK(asking.search(of_judge).not_asked.empty());
  CHECK(asking.asked == Names{"t0@one", "t1@one", "t2@one"});
}

TEST_CASE("A list that the model does not know is asked first, so that it is learned about",
          "[service][search][selection]") {
  Asking asking(selecting(3));
  asking.domain.domain.templates.push_back({"new", {"one"}, "{NAME}"});
  asking.search({});
  CHECK(asking.asked == Names{"t2@one", "new@one"});
}

TEST_CASE("A share of the queries explores, the same ones until another model serves",
          "[service][search][selection]") {
  const auto exploring = [](const LoadedDomain& domain) {
    std::set<int> out;
    for (int i = 0; i < 500; ++i) {
      SearchRequest request;
      request.text = "query " + std::to_string(i);
      const auto queries = expand_request({}, domain, request).value();
      if (select_lists(domain, request, queries).first.size() == 3) out.insert(i);
    }
    return out;
  };
  LoadedDomain domain = selecting(3, "1", 0.2);
  const auto some = exploring(domain);
  CHECK(some.size() > 60);
  CHECK(some.size() < 140);
  CHECK(exploring(domain) == some);
  domain.model_digest = "another";
  CHECK(exploring(domain) != some);
  domain.domain.select->explore = 1;
  CHECK(exploring(domain).size() == 500);
  domain.domain.select->explore = 0;
  CHECK(exploring(domain).empty());
}

TEST_CASE("A domain that selects may have more lists than one search may ask",
          "[service][search][selection][security]") {
  LoadedDomain domain = selecting(150);
  SearchRequest request;
  request.text = "ada";
  const auto divided = [&] {
    return select_lists(domain, request, expand_request({}, domain, request).value());
  };
  const ListSelection selected = divided();
  CHECK(names_of(selected.first) == Names{list_name(149)});
  std::vector<std::size_t> rounds;
  for (const auto& round : selected.rounds) rounds.push_back(round.size());
  CHECK(rounds == std::vector<std::size_t>{1, 2, 4, 8, 16, 32});
  CHECK(selected.never.size() == 150 - kMaxExpandedQueries);
  // while nothing is known, different queries ask for different lists
  domain.model.reset();
  std::set<std::string> seen;
  for (const char* text : {"ada", "bob", "cyd", "dan", "eva", "fay", "gus", "hal", "ida", "jim"}) {
    request.text = text;
    const ListSelection any = divided();
    CHECK(any.first.size() == kMaxExpandedQueries);
    CHECK(any.rounds.empty());
    for (const std::string& name : names_of(any.first)) seen.insert(name);
  }
  CHECK(seen.size() > 140);
  domain.domain.select.reset();
  CHECK(expand_request({}, domain, request).has_error());
}

TEST_CASE("Answers that processes share keep what was not asked", "[service][search][selection]") {
  Asking asking(selecting(3));
  const SearchAnswer answer = asking.search({});
  SearchRequest request;
  request.text = "ada";
  const auto read = read_answer_text(answer_text(answer), asking.domain, request, 1);
  REQUIRE(read.has_value());
  CHECK(not_asked_text(*read) == not_asked_text(answer));
  SearchRequest of_judge = request;
  of_judge.asks_all = true;
  CHECK(shared_key(asking.domain, request) != shared_key(asking.domain, of_judge));
}

TEST_CASE("A request that names the engines of its key does not share the answer of one that names none",
          "[service][search][selection]") {
  const LoadedDomain domain = selecting(8);
  SearchRequest named;
  named.text = "ada";
  named.engines = {"one"};
  SearchRequest scoped = named;
  scoped.are_engines_allowed_ones = true;
  REQUIRE(is_selective(domain, scoped));
  CHECK(shared_key(domain, named) != shared_key(domain, scoped));
}

namespace {

const std::string kSelectingTemplates =
    "version: 1\ndomain: pages\ndepth: 10\nselect: {first: 1, explore: 0}\nslots: {NAME: {required: true}}\n"
    "templates:\n  - {id: t0, engine: one, query: '{NAME}'}\n  - {id: t1, engine: two, query: '{NAME}'}\n";

/// Its first list settles every search.
const std::string kSelectingModel =
    R"({"format":"metafuse-model","version":1,"learner":"rankboost",)"
    R"("features":[{"name":"t0@one","kind":"rank","depth":10},{"name":"t1@two","kind":"rank","depth":10}],)"
    R"("unranked":"absent","body":{"weak_rankings":[{"feature":0,"rank":1,"q_default":0,"alpha":2}]},)"
    R"("choice":{"order":[0,1],"gains":[0.9,0.1],"queries":30,"settled":{"lists":[1],"leads":[1]}},)"
    R"("training":{}})";

}  // namespace

TEST_CASE("The server says what was not asked, counts what was saved, and charges only what was asked",
          "[service][search][selection]") {
  const auto in_two_requests = [](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    list.requests = 2;
    return list;
  };
  TestServer server(in_two_requests,
                    "keys: [{name: app, roles: [search, metrics], quota_per_day: 2, sha256: " +
                        sha256_hex("right") + "}]\n",
                    kSelectingTemplates);
  server.folder().write("models/pages.json", kSelectingModel);
  const auto reloaded = server.app().reloader().reload();
  INFO((reloaded ? "" : reloaded.error().text));
  REQUIRE(reloaded.has_value());
  const std::string key = "Authorization: Bearer right\r\n";
  const auto search = [&](const std::string& body) {
    return server.post("/v1/search", "application/json", body, key);
  };
  const std::string found = search(R"({"query":"ada"})");
  REQUIRE(status_in(found) == 200);
  CHECK(parse_json(body_in(found), "answer").value().at("not_asked") ==
        parse_json(R"([{"feature":"t1@two","engine":"two","why":"settled"}])", "expected").value());
  CHECK(server.get("/search?q=bob", key).find("1 more list was not asked") !=
        std::string::npos);  // the quota's second
  const std::string metrics = server.get("/metrics", key);
  for (const char* line : {"metafuse_engine_lists_saved_total{engine=\"two\",why=\"settled\"} 2\n",
                           "metafuse_engine_money_saved_total{engine=\"two\"} 1\n",
                           "metafuse_engine_requests_total{engine=\"one\"} 4\n",
                           "metafuse_engine_money_spent_total{engine=\"one\"} 1\n"}) {
    INFO(line);
    CHECK(metrics.find(line) != std::string::npos);
  }
  CHECK(status_in(search(R"({"query":"cyd"})")) == 429);
}

TEST_CASE("What a search did not ask is counted once, however many windows it takes",
          "[service][search][selection]") {
  const auto window = [](const ExpandedQuery&, int number) {
    std::vector<std::string> hosts;
    for (int i = 0; i < 10; ++i) hosts.push_back("h" + std::to_string(10 * number + i) + ".example");
    return list_of(hosts);
  };
  const auto full = [&](const ExpandedQuery& query) { return window(query, 1); };
  TestServer server(full,
                    "keys: [{name: app, roles: [search, metrics], sha256: " + sha256_hex("right") + "}]\n",
                    kSelectingTemplates);
  server.fetcher().set_further(window);
  server.folder().write("models/pages.json", kSelectingModel);
  REQUIRE(server.app().reloader().reload().has_value());
  const std::string key = "Authorization: Bearer right\r\n";
  REQUIRE(status_in(server.post("/v1/search", "application/json", R"({"query":"ada","limit":30})", key)) ==
          200);
  const std::string metrics = server.get("/metrics", key);
  INFO(metrics);
  CHECK(metrics.find("metafuse_engine_lists_saved_total{engine=\"two\",why=\"settled\"} 1\n") !=
        std::string::npos);
  CHECK(server.get("/search?q=bob&format=json", key).find(R"("not_asked":[{"feature":"t1@two")") !=
        std::string::npos);
}

TEST_CASE("Lists that the first ones made necessary use up a quota that is too small for them",
          "[service][search][selection]") {
  std::string templates = "templates:\n", features, order, gains;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i), comma = i == 0 ? "" : ",";
    templates += "  - {id: t" + n + ", engine: one, query: '{NAME}'}\n";
    features += comma + R"({"name":"t)" + n + R"(@one","kind":"rank","depth":10})";
    order += comma + n;
    gains += comma + "0";
  }
  TestServer server(
      TestServer::default_answer,
      "keys: [{name: app, roles: [search], quota_per_day: 4, sha256: " + sha256_hex("right") + "}]\n",
      "version: 1\ndomain: pages\ndepth: 10\nselect: {first: 1, explore: 0}\nslots: {NAME: {required: "
      "true}}\n" +
          templates);
  server.folder().write("models/pages.json",
                        R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[)" +
                            features + R"(],"unranked":"absent","body":{"weak_rankings":[)" +
                            R"({"feature":0,"rank":1,"q_default":0,"alpha":2}]},"choice":{"order":[)" +
                            order + R"(],"gains":[)" + gains +
                            R"(],"queries":30,"settled":{"lists":[],"leads":[]}},"training":{}})");
  REQUIRE(server.app().reloader().reload().has_value());
  const auto status = [&](const char* query) {
    return status_in(server.post("/v1/search", "application/json",
                                 std::string(R"({"query":")") + query + R"("})",
                                 "Authorization: Bearer right\r\n"));
  };
  CHECK(status("ada") == 200);  // one list, and then seven more, for which three are left
  CHECK(status("bob") == 429);
}

TEST_CASE("Mistakes in select are reported with their places", "[service][search][selection]") {
  const auto mistake = [](const std::string& select) {
    const auto file = templates::parse_domain_file(
        "version: 1\ndomain: d\nselect: " + select +
            "\nslots: {Q: {required: true}}\ntemplates: [{id: t, engine: e, query: '{Q}'}]\n",
        "d.yaml");
    return file ? std::string() : file.error().text;
  };
  CHECK(mistake("{first: 63, explore: 1, may_lose: 0}").empty());
  const auto warned = templates::parse_domain_file(
      "version: 1\ndomain: d\nselect: {first: 1, explore: 0}\nslots: {Q: {required: true}}\n"
      "templates: [{id: t, engine: e, query: '{Q}'}]\n",
      "d.yaml");
  REQUIRE(warned.has_value());
  REQUIRE(warned->warnings.size() == 2);
  CHECK(warned->warnings[0].find("d.yaml:3:9: select asks 1 lists first, and the domain has 1") == 0);
  CHECK(warned->warnings[1].find("never tried again") != std::string::npos);
  CHECK(mistake("{first: 0}").find("d.yaml:3:") == 0);
  CHECK(mistake("{first: 64}").find("63") != std::string::npos);
  CHECK(mistake("{explore: 1.5}").find("explore") != std::string::npos);
  CHECK(mistake("{most: 3}").find("most") != std::string::npos);
  CHECK(mistake("ten").find("select") != std::string::npos);
}
