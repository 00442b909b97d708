#include "service/learning/online_rerankers.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/digest.h"
#include "core/json.h"
#include "service/learning/store_training.h"
#include "tests/support/sample_search.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

const std::string kRerankerAdmin = "Authorization: Bearer admin-key\r\n";

/// Scores a page by its ranks in the lists of engine one; rank 1 scores most.
const std::string kModel =
    R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[)"
    R"({"name":"plain@one","kind":"rank","depth":10},{"name":"plain@two","kind":"rank","depth":10},)"
    R"({"name":"placed@one","kind":"rank","depth":10}],"unranked":"absent","body":{"weak_rankings":[)"
    R"({"feature":0,"rank":1,"q_default":0,"alpha":0.5},{"feature":0,"rank":2,"q_default":0,"alpha":0.5},)"
    R"({"feature":0,"rank":3,"q_default":0,"alpha":0.5},{"feature":1,"rank":1,"q_default":0,"alpha":0.2},)"
    R"({"feature":1,"rank":2,"q_default":0,"alpha":0.2}]},"training":{}})";

std::string config(bool is_online) {
  return "store: metafuse.db\nkeys: [{name: admin, sha256: " + sha256_hex("admin-key") +
         ", roles: [admin, judge]}]\nlearning: {online_reranker: " + (is_online ? "true" : "false") + "}\n";
}

/// A server whose domain has kModel.
struct ModelServer {
  TestServer server;
  explicit ModelServer(bool is_online) : server(TestServer::default_answer, config(is_online)) {
    server.folder().write("models/pages.json", kModel);
    REQUIRE(server.app().reloader().reload().has_value());
  }
  JsonObject answer(const std::string& query) {
    const auto value = parse_json(body_in(server.get("/search?format=json&q=" + query)), "answer");
    REQUIRE(value.has_value());
    return value->as_object();
  }
  /// The letters of the results' hosts, best first.
  std::string order(const std::string& query) {
    std::string hosts;
    const JsonObject found = answer(query);
    for (const Json& result : found.at("results").as_array())
      hosts += std::string(result.at("url").as_string()).substr(7, 1);
    return hosts;
  }
  int click(const std::string& query, const std::string& host) {
    const JsonObject found = answer(query);
    const std::string id(found.at("fusion").at("search_id").as_string());
    return status_in(server.post("/v1/feedback", "application/json",
                                 R"({"search_id":")" + id + R"(","url":"http://)" + host + R"(.example/"})"));
  }
};

}  // namespace

TEST_CASE("Clicks change the order at once if online learning is configured", "[service][online]") {
  ModelServer online(true);
  ModelServer off(false);
  CHECK(online.order("ada") == "abdc");
  for (ModelServer* each : {&online, &off})
    for (int i = 0; i < 15; ++i) CHECK(each->click("name" + std::to_string(i), "c") == 200);
  CHECK(off.order("ada") == "abdc");
  const std::string learned = online.order("ada");  // this answer was in the cache before the clicks
  CHECK(learned.find('c') < learned.find('a'));
  CHECK(online.order("new").find('c') < learned.find('a'));

  const JsonObject answer = online.answer("ada");
  CHECK(answer.at("fusion").at("online").at("examples").to_number<int>() >= 15);
  for (const Json& result : answer.at("results").as_array())
    if (result.at("url") == Json("http://c.example/")) CHECK(result.at("fusion").at("moved_from") == Json(4));
  CHECK(online.server.get("/search?q=ada").find("place 4 before online learning") != std::string::npos);
  CHECK(off.server.get("/search?q=ada").find("online learning") == std::string::npos);

  // the weights explain the model's score; the score shown never rises, and the order is the reranker's
  double before = 1e300;
  const JsonObject explained = online.answer("ada&explain=1");
  for (const Json& result : explained.at("results").as_array()) {
    double sum = 0;
    for (const Json& reason : result.at("fusion").at("explanation").as_array())
      sum += reason.at("weight").to_number<double>();
    CHECK(sum >= result.at("score").to_number<double>() - 1e-9);
    const auto score = result.at("fusion").at("online_score").to_number<double>();
    CHECK(score <= before);
    before = score;
  }

  const auto models = parse_json(body_in(online.server.get("/v1/models", kRerankerAdmin)), "models");
  CHECK(models->at("models").at(0).at("online_examples").to_number<int>() >= 15);
  CHECK(status_in(online.server.post("/v1/models/pages/reset", "application/json", R"({"online":true})",
                                     kRerankerAdmin)) == 200);
  CHECK(online.order("ada") == "abdc");
}

TEST_CASE("A reranker resumes its state and starts anew with another model", "[service][online]") {
  const TemporaryFolder folder;
  ModelServer source(true);
  source.click("ada", "c");
  source.click("bob", "c");
  const auto snapshot = source.server.app().reloader().snapshot();
  const LoadedDomain& domain = snapshot->domains.at("pages");
  OnlineRerankers& first = *source.server.app().records().online_rerankers;
  OnlineRerankers resumed(source.server.folder().path("models"));
  REQUIRE(first.steps(domain) > 0);
  CHECK(resumed.steps(domain) == first.steps(domain));
  CHECK(resumed.find(domain)->state() == first.find(domain)->state());
  LoadedDomain other = domain;
  other.model_digest = "another";
  CHECK(resumed.steps(other) == 0);
  CHECK(resumed.find(other) == nullptr);
  source.server.folder().write("models/online/pages.json", "{\"damaged\":");
  CHECK(OnlineRerankers(source.server.folder().path("models")).steps(domain) == 0);
}

TEST_CASE("A request from before a reload does not undo what was learned for the new model",
          "[service][online]") {
  ModelServer source(true);
  source.click("ada", "c");
  const auto snapshot = source.server.app().reloader().snapshot();
  const LoadedDomain& older = snapshot->domains.at("pages");
  LoadedDomain newer = older;
  newer.model_digest = "another";
  ++newer.generation;
  Records& records = source.server.app().records();
  OnlineRerankers& rerankers = *records.online_rerankers;
  REQUIRE(rerankers.steps(older) > 0);
  CHECK(rerankers.steps(newer) == 0);
  FeedbackRequest request;
  request.search = source.answer("bob").at("fusion").at("search_id").as_string();
  request.position = 3;
  records.search_log->flush(std::chrono::seconds(10));
  REQUIRE(rerankers.learn(newer, *records.store, request, {}).has_value());
  const std::uint64_t learned = rerankers.steps(newer);
  CHECK(learned > 0);
  CHECK(rerankers.find(older) == nullptr);
  REQUIRE(rerankers.learn(older, *records.store, request, {}).has_value());
  CHECK(rerankers.steps(newer) == learned);
  OnlineRerankers resumed(source.server.folder().path("models"));
  CHECK(resumed.steps(newer) == learned);
}

TEST_CASE("A click prefers its result to those above it and a judgment grades only its result",
          "[service][online]") {
  const StoredSearch search = sample_search();
  const auto instances = stored_instances(search, rank_features(search));
  Click earlier;
  earlier.position = 1;
  const std::vector<Click> clicks = {earlier};
  const auto of_click = reranker_feedback(search, instances, 3, std::nullopt, clicks);
  REQUIRE(of_click.size() == 3);  // position 2 and 0 passed over, 1 was clicked, 3 is chosen
  CHECK(of_click.back().level == 2);
  CHECK(instances.documents[of_click.back().document] == document_key(3));
  CHECK(std::count_if(of_click.begin(), of_click.end(), [](const auto& item) { return item.level == 1; }) ==
        2);
  const auto good = reranker_feedback(search, instances, 2, 3, clicks);
  REQUIRE(good.size() == 1);
  CHECK(good[0].level == 2);
  CHECK(reranker_feedback(search, instances, 2, 0, clicks)[0].level == 1);
  CHECK(reranker_feedback(search, instances, 99, std::nullopt, clicks).empty());
  // of many above it, the ten nearest count as passed over
  StoredSearch long_search;
  fusion::QueryInstances long_instances;
  for (std::uint32_t i = 0; i < 20; ++i) {
    long_search.documents.push_back(fmt::format("d{:02}", i));
    long_search.shown.push_back({i, Team::none});
  }
  long_instances.documents.assign(long_search.documents.begin(), long_search.documents.end());
  const auto far = reranker_feedback(long_search, long_instances, 15, std::nullopt, {});
  REQUIRE(far.size() == 11);
  CHECK(far[9].document == 5);
  CHECK(far[10].document == 15);
}

TEST_CASE("A domain without a model learns nothing online", "[service][online]") {
  TestServer server(TestServer::default_answer, config(true));
  const auto answer = parse_json(body_in(server.get("/search?format=json&q=ada")), "answer");
  const std::string id(answer->at("fusion").at("search_id").as_string());
  CHECK(status_in(server.post("/v1/feedback", "application/json",
                              R"({"search_id":")" + id + R"(","position":3})")) == 200);
  CHECK(body_in(server.get("/search?format=json&q=ada")).find("moved_from") == std::string::npos);
}
