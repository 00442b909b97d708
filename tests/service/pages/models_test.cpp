#include <string>

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include "core/text_file.h"
#include "service/learning/caretaker.h"
#include "service/learning/store_training.h"
#include "tests/service/learning/learning_server.h"
#include "tests/support/serve_process.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

/// The letters of the results' hosts, best first.
std::string order(TestServer& server, const std::string& query) {
  const JsonObject answer = body_of(server.get("/search?format=json&q=" + query));
  std::string hosts;
  for (const Json& result : answer.at("results").as_array())
    hosts += std::string(result.at("url").as_string()).substr(7, 1);
  return hosts;
}

/// Names the learner, because few judged queries move the prior of `auto` too little to change an order.
constexpr const char* kByRankBoost = R"({"learner":"rankboost"})";

bool is_c_above_a(const std::string& hosts) {
  return hosts.find('c') < hosts.find('a');
}

/// Trains a model and makes it the domain's champion.
void activate_trained(TestServer& server, const std::string& learner, const std::string& domain = "pages") {
  const std::string models = "/v1/models/" + domain;
  const JsonObject trained = body_of(send(server, models + "/retrain", learner));
  const std::string version(trained.at("version").as_string());
  REQUIRE(status_in(send(server, models + "/activate", R"({"version":")" + version + "\"}")) == 200);
}

/// Adds a domain with the same lists as "pages".
void add_manuals(TestServer& server) {
  std::string templates = kTwoTemplates;
  templates.replace(templates.find("domain: pages"), 13, "domain: manuals");
  server.folder().write("templates/manuals.yaml", templates);
  REQUIRE(server.app().reloader().reload().has_value());
}

}  // namespace

TEST_CASE("A challenger is trained from judgments and activated and reverted", "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config());
  CHECK(status_in(server.get("/v1/models")) == 401);
  CHECK(status_in(server.get("/v1/models", kJudge)) == 403);
  CHECK(served_model_of(server).at("champion").is_null());
  CHECK(status_in(send(server, "/v1/models/pages/retrain", "")) == 409);
  CHECK(status_in(send(server, "/v1/models/none/retrain", "")) == 404);
  CHECK(status_in(send(server, "/v1/models/pages/measure", "")) == 409);
  judge_names(server, 0, 12);
  CHECK(status_in(send(server, "/v1/models/pages/retrain", R"({"learner":"none"})")) == 400);
  const JsonObject trained = body_of(send(server, "/v1/models/pages/retrain", kByRankBoost));
  const std::string version(trained.at("version").as_string());
  CHECK(served_model_of(server).at("challenger") == Json(version));
  const JsonObject measured = body_of(send(server, "/v1/models/pages/measure", ""));
  CHECK(measured.at("is_better").as_bool());  // by cross-validation, because few queries are judged
  CHECK(measured.at("measure") == Json("recip_rank"));

  CHECK(order(server, "new") == "badc");
  CHECK(status_in(send(server, "/v1/models/pages/activate", R"({"version":")" + version + "\"}", kJudge)) ==
        403);
  CHECK(status_in(send(server, "/v1/models/pages/activate", "{}")) == 400);
  CHECK(status_in(send(server, "/v1/models/pages/activate", R"({"version":"000000000000"})")) == 400);
  CHECK(status_in(send(server, "/v1/models/pages/activate", R"({"version":")" + version + "\"}")) == 200);
  CHECK(served_model_of(server).at("champion") == Json(version));
  CHECK(is_c_above_a(order(server, "new")));
  CHECK(status_in(send(server, "/v1/models/pages/activate", R"({"previous":true})")) == 200);
  CHECK(order(server, "new") == "badc");
  CHECK(status_in(send(server, "/v1/models/pages/activate", R"({"previous":true})")) == 400);
  CHECK(status_in(send(server, "/v1/models/pages/reset", "{}")) == 400);
  CHECK(body_of(send(server, "/v1/models/pages/reset", R"({"judgments":true})")).at("judgments") == Json(24));
  CHECK(status_in(send(server, "/v1/models/pages/retrain", "")) == 409);
}

TEST_CASE("A new domain is served by what other domains learned from its first search on, and says so",
          "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config());
  judge_names(server, 0, 12);
  activate_trained(server, kByRankBoost);
  const std::string learned = order(server, "new");
  REQUIRE(is_c_above_a(learned));
  add_manuals(server);
  CHECK(order(server, "new&domain=manuals") == learned);
  const JsonObject answer = body_of(server.get("/search?format=json&domain=manuals&q=new"));
  const JsonObject& fusion = answer.at("fusion").as_object();
  CHECK(fusion.at("method") == "other-domains");
  CHECK(std::string(fusion.at("notice").as_string()).find("what another domain learned") !=
        std::string::npos);
  CHECK(fusion.at("learned_from") == parse_json(R"({"other_domains":{"start":1}})", "expected").value());
  const JsonObject all = body_of(server.get("/v1/models", kAdmin));
  for (const Json& models : all.at("models").as_array())
    if (models.at("name") == "manuals") {
      CHECK(models.at("champion").is_null());
      CHECK(models.at("other_domains").at("lists_by_name") == Json(3));
      CHECK(models.at("other_domains").at("models") == Json(JsonArray{"pages"}));
      CHECK(models.at("other_domains").at("count") == Json(1));
    }
  CHECK(server.get("/models").find("what another domain learned") != std::string::npos);

  // RRF on request, and everywhere if the configuration wants no other domains.
  CHECK(order(server, "new&domain=manuals&fusion=rrf") == "badc");
  std::string config = *read_text(server.config_path(), 100'000);
  server.folder().write("metafuse.yaml", config + "learning: {other_domains: false}\n");
  REQUIRE(server.app().reloader().reload().has_value());
  CHECK(order(server, "new&domain=manuals") == "badc");
}

TEST_CASE("A new domain is served by what other domains learned, whatever the form of their models",
          "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config());
  judge_names(server, 0, 12);
  activate_trained(server, R"({"learner":"monotone-trees"})");
  add_manuals(server);
  const JsonObject answer = body_of(server.get("/search?format=json&domain=manuals&q=new"));
  CHECK(answer.at("fusion").at("method") == Json("other-domains"));
  CHECK(is_c_above_a(order(server, "new&domain=manuals")));
}

TEST_CASE("A key that may use some domains is not told the names of the others", "[service][models]") {
  TestServer server(TestServer::default_answer,
                    learning_config("  - {name: lim, sha256: " + sha256_hex("lim-key") +
                                    ", roles: [admin, search], domains: [manuals]}\n"));
  judge_names(server, 0, 12);
  activate_trained(server, kByRankBoost);
  add_manuals(server);
  const std::string limited = "Authorization: Bearer lim-key\r\n";
  for (const char* target : {"/v1/models", "/search?format=json&domain=manuals&q=new"}) {
    const std::string answer = body_in(server.get(target, limited));
    INFO(answer);
    CHECK(answer.find("other_domains") != std::string::npos);
    CHECK(answer.find("pages") == std::string::npos);
  }
}

TEST_CASE("A second training is compared with what other domains learned, too", "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config());
  judge_names(server, 0, 12);
  activate_trained(server, kByRankBoost);
  add_manuals(server);
  const auto before = [&] {
    const auto snapshot = server.app().reloader().snapshot();
    const auto* model = promotion_rules(snapshot->domains.at("manuals")).without_champion.model;
    return model == nullptr ? "rrf" : model->learner;
  };
  CHECK(before() == "other-domains");
  judge_names(server, 20, 2, "manuals");
  activate_trained(server, kByRankBoost, "manuals");
  CHECK(before() == "other-domains");
}

TEST_CASE("Clicks compare a first challenger with what other domains learned", "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config("learning: {interleave_share: 1}\n"));
  judge_names(server, 0, 12);
  activate_trained(server, kByRankBoost);
  add_manuals(server);
  judge_names(server, 20, 2, "manuals");
  REQUIRE(status_in(send(server, "/v1/models/manuals/retrain", kByRankBoost)) == 200);
  REQUIRE(server.app().reloader().reload().has_value());
  for (int i = 0; i < 3; ++i) {
    const JsonObject fusion = search_and_click(server, "live" + std::to_string(i) + "&domain=manuals");
    CHECK(fusion.at("method") == "other-domains");
    CHECK(fusion.contains("interleaved_with"));
  }
  const JsonObject all = body_of(server.get("/v1/models", kAdmin));
  for (const Json& models : all.at("models").as_array())
    if (models.at("name") == "manuals") {
      const JsonObject& score = models.at("interleaving").as_object();
      CHECK(score.at("champion").as_int64() + score.at("challenger").as_int64() == 3);
    }
}

TEST_CASE("An interleaved search compares the models without the online reranker", "[service][models]") {
  TestServer server(TestServer::default_answer,
                    learning_config("learning: {interleave_share: 1, online_reranker: true}\n"));
  judge_names(server, 0, 12);
  activate_trained(server, kByRankBoost);
  judge_names(server, 12, 2);
  CHECK(search_and_click(server, "before").contains("online"));
  REQUIRE(status_in(send(server, "/v1/models/pages/retrain", R"({"learner":"rankboost-blend"})")) == 200);
  REQUIRE(server.app().reloader().reload().has_value());
  const JsonObject fusion = search_and_click(server, "after");
  CHECK(fusion.contains("interleaved_with"));
  CHECK_FALSE(fusion.contains("online"));
}

TEST_CASE("The page of models does the same as the API and needs the same key", "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config("learning: {interleave_share: 1}\n"));
  judge_names(server, 0, 12);
  const auto press = [&](const std::string& action, const std::string& key = "admin-key") {
    return server.post("/models/pages", "application/x-www-form-urlencoded",
                       "key=" + key + "&action=" + action);
  };
  const std::string closed = server.get("/models");
  CHECK(closed.find("Fused by RRF") != std::string::npos);
  CHECK(closed.find("Versions") == std::string::npos);
  CHECK(status_in(press("retrain", "judge-key")) == 403);
  CHECK(status_in(press("retrain", "")) == 403);
  CHECK(status_in(press("previous")) == 400);  // there was no earlier champion
  CHECK(status_in(press("measure")) == 409);   // nor is there a challenger
  CHECK(status_in(press("activate-000000000000")) == 400);
  REQUIRE(status_in(press("retrain")) == 200);
  REQUIRE(status_in(send(server, "/v1/models/pages/retrain", kByRankBoost)) == 200);
  const std::string version(served_model_of(server).at("challenger").as_string());
  const std::string shown = press("show");
  CHECK(shown.find("Make " + version + " the champion") != std::string::npos);
  CHECK(shown.find("95 % interval 0 to 100 %") != std::string::npos);  // there are no clicks yet
  CHECK(press("measure").find("role=\"status\"") != std::string::npos);
  CHECK(status_in(press("activate-" + version)) == 200);
  CHECK(is_c_above_a(order(server, "new")));
  const std::string back = press("previous");
  CHECK(status_in(back) == 200);
  CHECK(order(server, "new") == "badc");
  CHECK(status_in(server.post("/models/none", "application/x-www-form-urlencoded", "action=show")) == 404);
  TestServer bare;
  CHECK(bare.get("/models").find("no store or no folder of models") != std::string::npos);
}

TEST_CASE("Clicks and judgments are forgotten without a folder of models, too", "[service][models]") {
  ServeProcess server("127.0.0.1:0", learning_config());
  const auto reset = [&](const std::string& body) {
    RawClient client(server.port());
    client.send("POST /v1/models/d/reset HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + kAdmin +
                "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    return client.read_all();
  };
  CHECK(status_in(reset(R"({"clicks":true,"judgments":true})")) == 200);
  const std::string online = reset(R"({"online":true})");
  CHECK(status_in(online) == 404);
  CHECK(online.find("no folder of models; name one") != std::string::npos);
}

TEST_CASE("A model that does not fit its templates is not activated", "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config());
  judge_names(server, 0, 12);
  const JsonObject trained = body_of(send(server, "/v1/models/pages/retrain", kByRankBoost));
  const std::string version(trained.at("version").as_string());
  service::ModelVersions& versions = *server.app().records().model_versions;
  REQUIRE(versions.count_test("pages", "one").has_value());
  server.folder().write("templates/pages.yaml",
                        "version: 1\ndomain: pages\nslots:\n  NAME: {required: true}\ntemplates:\n"
                        "  - {id: other, engine: one, query: '{NAME}'}\n");
  REQUIRE(server.app().reloader().reload().has_value());
  CHECK(status_in(send(server, "/v1/models/pages/activate", R"({"version":")" + version + "\"}")) == 409);
  CHECK(served_model_of(server).at("champion").is_null());
  CHECK(served_model_of(server).at("challenger") == Json(version));
  CHECK(served_model_of(server).at("promotion_tests") == Json(1));
  CHECK_FALSE(served_model_of(server).at("can_revert").as_bool());
  CHECK(server.app().reloader().reload().has_value());
}

TEST_CASE("A click in an interleaved search is credited to the team that placed the result",
          "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config("learning: {interleave_share: 1}\n"));
  judge_names(server, 0, 12);
  REQUIRE(status_in(send(server, "/v1/models/pages/retrain", kByRankBoost)) == 200);
  REQUIRE(server.app().reloader().reload().has_value());
  int mixed = 0;
  for (int i = 0; i < 20; ++i) {
    const JsonObject answer = body_of(server.get("/search?format=json&q=live" + std::to_string(i)));
    const std::string id(answer.at("fusion").at("search_id").as_string());
    CHECK(answer.at("results").as_array().size() == 4);
    CHECK(answer.at("fusion").at("interleaved_with").as_string().size() == 12);
    double before = 1;
    for (const Json& result : answer.at("results").as_array()) {  // sorting keeps the draft's order
      CHECK(result.at("fusion").at("score").to_number<double>() <= before);
      before = result.at("fusion").at("score").to_number<double>();
    }
    server.app().records().search_log->flush();
    const auto stored = server.app().records().store->searches.find(id);
    REQUIRE(stored.has_value());
    const service::StoredSearch& search = **stored;
    REQUIRE(search.shown.size() == 4);
    REQUIRE_FALSE(search.challenger.empty());
    // Users want c, which the challenger ranks above a and d, and the champion (RRF) below them.
    for (std::size_t position = 0; position < 4; ++position) {
      mixed += search.shown[position].team == service::Team::challenger ? 1 : 0;
      if (search.documents[search.shown[position].document].find("c.example") == std::string::npos) continue;
      const std::string click =
          R"({"search_id":")" + id + R"(","position":)" + std::to_string(position + 1) + "}";
      CHECK(status_in(send(server, "/v1/feedback", click)) == 200);
    }
  }
  CHECK(mixed == 40);
  const JsonObject score = served_model_of(server).at("interleaving").as_object();
  CHECK(score.at("champion").as_int64() + score.at("challenger").as_int64() == 20);
  CHECK(score.at("challenger_share").to_number<double>() == 1.0);
  CHECK(score.at("p").to_number<double>() < 0.001);
}

TEST_CASE("A judged query shows its judgments unless judged_first is off", "[service][models]") {
  for (const bool is_on : {true, false}) {
    TestServer server(TestServer::default_answer,
                      learning_config(is_on ? "" : "learning: {judged_first: false}\n"));
    CHECK(order(server, "name0") == "badc");
    judge_names(server, 0, 1);
    CHECK(order(server, "name0") == (is_on ? "cbda" : "badc"));
    CHECK(order(server, "other") == "badc");
    const std::string page = server.get("/search?q=name0");
    CHECK((page.find("judged 1") != std::string::npos) == is_on);
    // Judges see the order that they judge.
    const std::string results = send(server, "/v1/judgments/pages/results", R"({"query":"name0"})", kJudge);
    CHECK(status_in(results) == 200);
    CHECK(results.find("a.example") != std::string::npos);
  }
}

TEST_CASE("A reload of judged_first holds from the next search on", "[service][models][reload]") {
  TestServer server(TestServer::default_answer, learning_config());
  judge_names(server, 0, 1);
  CHECK(order(server, "name0") == "cbda");
  server.folder().write("metafuse.yaml",
                        *read_text(server.config_path(), 100'000) + "learning: {judged_first: false}\n");
  REQUIRE(server.app().reloader().reload().has_value());
  CHECK(order(server, "name0") == "badc");
}

TEST_CASE("A damaged store is a failure and not a lack of feedback", "[service][models]") {
  TestServer server(TestServer::default_answer, learning_config());
  judge_names(server, 0, 12);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(server.folder().path("metafuse.db").c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, "UPDATE searches SET lists = '{'", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  const std::string refused = send(server, "/v1/models/pages/retrain", "{}");
  CHECK(status_in(refused) == 500);
  CHECK(refused.find("a stored search is damaged") != std::string::npos);
}

TEST_CASE("Every page that the administrators' bar links to has the bar and its script", "[service][pages]") {
  TestServer server(TestServer::default_answer, learning_config());
  const std::string first = server.get("/judge");
  const std::string_view bar = "<nav class=\"operators\"";
  const std::size_t begin = first.find(bar);
  REQUIRE(begin != std::string::npos);
  const std::string_view links = std::string_view(first).substr(begin, first.find("</nav>") - begin);
  std::size_t count = 0;
  const std::string_view mark = "href=\"";
  for (std::size_t at = links.find(mark); at != std::string_view::npos; at = links.find(mark, at + 1)) {
    const std::string path(
        links.substr(at + mark.size(), links.find('"', at + mark.size()) - at - mark.size()));
    const std::string page = server.get(path);
    INFO(path);
    CHECK(status_in(page) == 200);
    CHECK(page.find(bar) != std::string::npos);
    CHECK(page.find("/static/operate.js") != std::string::npos);
    ++count;
  }
  CHECK(count >= 7);
}
