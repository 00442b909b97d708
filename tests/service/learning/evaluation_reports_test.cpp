#include "service/learning/evaluation_reports.h"

#include <filesystem>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

const std::string kTable = R"({"depth":30,"unanswerable":1,"queries":["1","2","3"],"fold":[1,2,1],
"learner":{"name":"rankboost","average_rank":2.0,"best_rank":[1,2,3]},
"baselines":[{"name":"rrf","average_rank":3.0,"best_rank":[2,2,5]}],
"features":[{"name":"plain@one","average_rank":12.0,"best_rank":[1,4,31]}]})";
const std::string kTrace =
    "{\"round\":1,\"ranking_loss\":0.4,\"bound\":0.9}\n{\"round\":2,\"ranking_loss\":0.2,\"bound\":0.8}\n";

}  // namespace

TEST_CASE("Reports are shown as tables and plots and JSON", "[service][evaluation]") {
  TestServer server(TestServer::default_answer, "reports: models\n");
  CHECK(body_in(server.get("/evaluation")).find("There is no report yet") != std::string::npos);
  server.folder().write("models/pages.crossvalidation.json", kTable);
  server.folder().write("models/pages.trace.jsonl", kTrace);
  server.get("/search?q=ada&format=json");
  const std::string page = body_in(server.get("/evaluation"));
  CHECK(page.find("3 held-out queries") != std::string::npos);
  CHECK(page.find("2 won, 1 tied, 0 lost") != std::string::npos);
  CHECK(page.find("ranking loss and its bound") != std::string::npos);
  CHECK(page.find("<th scope=\"row\">one") != std::string::npos);  // an engine's latency
  const auto json = parse_json(body_in(server.get("/v1/evaluation")), "answer");
  REQUIRE(json.has_value());
  const Json& report = json->at("domains").at("pages");
  CHECK(report.at("learner").at("best_rank").as_array().size() == 3);
  CHECK(report.at("rounds").as_array().size() == 2);
}

TEST_CASE("The page plots what each rank contributes for every model that is a sum over lists",
          "[service][evaluation]") {
  const std::string head = R"({"format":"metafuse-model","version":1,"unranked":"absent","training":{},
"features":[{"name":"plain@one","kind":"rank","depth":10},{"name":"plain@two","kind":"rank","depth":10},
{"name":"placed@one","kind":"rank","depth":10}],"learner":)";
  const std::string steps = R"({"weak_rankings":[{"feature":0,"rank":1,"q_default":0,"alpha":0.5}]})";
  const std::vector<std::string> models = {
      head + R"("rankboost","body":)" + steps + "}",
      head + R"("reciprocal-ranks","body":{"k":60,"weights":[1,1,1],"weak_rankings":[]}})",
      head +
          R"("rankboost-blend","body":{"fused":{"k":60,"weights":[1,1,1],"weak_rankings":[]},"values":{"value_rankings":[]},"steps":)" +
          steps + "}}"};
  const std::vector<std::string> firsts = {"0.5000", "0.0164", "0.5164"};  // 1/2, 1/61, and their sum
  TestServer server(TestServer::default_answer, "reports: models\n");
  for (std::size_t i = 0; i < models.size(); ++i) {
    server.folder().write("models/pages.json", models[i]);
    REQUIRE(server.app().reloader().reload().has_value());
    const std::string page = body_in(server.get("/evaluation"));
    INFO(models[i]);
    CHECK(page.find("What a rank in each list adds to the score") != std::string::npos);
    CHECK(page.find(firsts[i]) != std::string::npos);
  }
}

TEST_CASE("A report is read again only when its file has changed", "[service][evaluation][security]") {
  const TemporaryFolder folder;
  service::EvaluationReports reports;
  const auto read = [&] { return reports.read(folder.path(), "pages"); };
  CHECK((*read())->is_empty());
  folder.write("pages.crossvalidation.json", kTable);
  const auto first = *read();
  CHECK(first->queries.size() == 3);
  CHECK(*read() == first);  // the same object
  CHECK((*reports.read(folder.path(), "other"))->is_empty());
  folder.write("pages.trace.jsonl", kTrace);
  const auto second = *read();
  CHECK(second->rounds.size() == 2);
  CHECK(*read() == second);
  folder.write("pages.trace.jsonl", "{\"round\":3}\n");
  CHECK(read().error().text.find("pages.trace.jsonl:1") != std::string::npos);
  CHECK(read().has_error());
  std::filesystem::remove(folder.path("pages.trace.jsonl"));
  CHECK((*read())->rounds.empty());
  std::filesystem::remove(folder.path("pages.crossvalidation.json"));
  CHECK((*read())->is_empty());
}

// Reciprocal ranks: learner 1, 1/2, 1/3, mean 11/18 = .6111; rrf 1/2, 1/2, 1/5, mean .4. The learner is ahead
// by 1/2, 0, 2/15, mean .2111. Query 3 gains two ranks, query 1 one, query 2 none.
TEST_CASE("The page compares methods with intervals and names the queries that gain most",
          "[service][evaluation]") {
  TestServer server(TestServer::default_answer, "reports: models\n");
  server.folder().write("models/pages.crossvalidation.json", kTable);
  server.folder().write("models/pages.queries.jsonl",
                        "{\"id\":\"3\",\"slots\":{\"NAME\":\"ada & co\",\"PLACE\":\"x\"}}\n");
  server.folder().write(
      "models/pages.learning-curve.json",
      R"({"title":"t","MQ2007-agg":[{"queries":5,"map":{"rrf":[0.3,0.5],"auto":[0.5,0.5]},"chosen":[]},)"
      R"({"queries":50,"map":{"rrf":[0.4],"auto":[0.6]}}]})");
  const std::string page = body_in(server.get("/evaluation"));
  CHECK(page.find("<td class=\"number\">0.6111") != std::string::npos);
  CHECK(page.find("<td class=\"number\">0.2111") != std::string::npos);
  CHECK(page.find("Most gained against RRF") != std::string::npos);
  CHECK(page.find("Most lost against RRF") == std::string::npos);
  // one link for each ranking
  const std::string link = "/search?domain=pages&amp;slot.NAME=ada%20%26%20co&amp;slot.PLACE=x";
  CHECK(page.find("href=\"" + link + "\"") != std::string::npos);
  CHECK(page.find("href=\"" + link + "&amp;fusion=rrf\"") != std::string::npos);
  CHECK(page.find("Learning curve on MQ2007-agg") != std::string::npos);
  // 0.3 and 0.5: mean .4, 1.96 times the standard error of .1
  CHECK(page.find("0.4000 ± 0.1960") != std::string::npos);
  const auto json = parse_json(body_in(server.get("/v1/evaluation")), "answer");
  const Json& curves = json->at("domains").at("pages").at("learning_curves");
  CHECK(curves.at(0).at("lines").at(1).at("means").as_array().size() == 2);
}

TEST_CASE("A damaged report is named on the page and the rest still works", "[service][evaluation]") {
  TestServer server(TestServer::default_answer, "reports: models\n");
  server.folder().write("models/pages.crossvalidation.json", "{\"queries\":[\"1\"],\"learner\":{}}");
  CHECK(body_in(server.get("/evaluation")).find("a method lacks") != std::string::npos);
  CHECK(status_in(server.get("/search?q=ada&format=json")) == 200);
  const std::string folder = server.folder().path("models");
  server.folder().write("models/other.trace.jsonl", kTrace + "{\"round\":3}\n");
  const auto report = service::read_evaluation_report(folder, "other");
  REQUIRE(report.has_error());
  CHECK(report.error().text.find("other.trace.jsonl:3") != std::string::npos);
}
