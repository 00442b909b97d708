#include "service/learning/judging.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "service/learning/store_training.h"
#include "service/search/search_pipeline.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

std::string judging_config(const std::string& more = "") {
  std::string keys = "store: metafuse.db\nkeys:\n";
  for (const std::string name : {"ann", "bob"})
    keys += "  - {name: " + name + ", roles: [judge], sha256: " + sha256_hex(name + "-key") + "}\n";
  return keys + "  - {name: other, roles: [judge], domains: [elsewhere], sha256: " + sha256_hex("other-key") +
         "}\n" + more;
}

std::string bearer(const std::string& name) {
  return "Authorization: Bearer " + name + "-key\r\n";
}

const std::string kPath = "/v1/judgments/pages";

JsonObject json_of(const std::string& response) {
  INFO(response);
  REQUIRE(status_in(response) == 200);
  return parse_json(body_in(response), "answer").value().as_object();
}

JsonObject results_of(TestServer& server, const std::string& judge, const std::string& body) {
  return json_of(server.post(kPath + "/results", "application/json", body, bearer(judge)));
}

std::string grades_text(const JsonObject& results, const std::map<std::string, int>& by_host) {
  JsonArray grades;
  for (const Json& result : results.at("results").as_array()) {
    const std::string host = std::string(result.at("title").as_string()).substr(9);
    if (by_host.contains(host))
      grades.push_back(JsonObject{{"position", result.at("position")}, {"grade", by_host.at(host)}});
  }
  return to_text(JsonObject{{"search_id", results.at("search_id")}, {"grades", std::move(grades)}});
}

void grade(TestServer& server, const std::string& judge, const std::map<std::string, int>& by_host) {
  const JsonObject results = results_of(server, judge, R"({"query":"ada"})");
  json_of(server.post(kPath + "/grades", "application/json", grades_text(results, by_host), bearer(judge)));
}

JsonObject queue_of(TestServer& server, const std::string& judge) {
  server.app().records().search_log->flush();
  return json_of(server.get(kPath + "/queue", bearer(judge)));
}

std::string form_post(TestServer& server, const std::string& form) {
  return server.post("/judge/pages", "application/x-www-form-urlencoded", form);
}

}  // namespace

TEST_CASE("A judge sees results without ranks and always in the same order of that judge",
          "[service][judging]") {
  TestServer server(
      [](const ExpandedQuery&) {
        std::vector<std::string> hosts;
        for (int i = 0; i < 30; ++i) hosts.push_back("h" + std::to_string(i) + ".example");
        return list_of(hosts);
      },
      judging_config());
  const auto order = [&](const std::string& judge, const std::string& body) {
    std::vector<std::string> urls;
    const JsonObject found = results_of(server, judge, body);
    for (const Json& result : found.at("results").as_array()) {
      CHECK(result.as_object().size() == 5);  // position, url, title, snippet, grade: no rank, score or list
      urls.emplace_back(result.at("url").as_string());
    }
    return urls;
  };
  const auto first = order("ann", R"({"query":"ada"})");
  CHECK(first.size() == 10);
  CHECK(order("ann", R"({"query":"ada"})") == first);
  const auto second = order("bob", R"({"query":"ada"})");
  CHECK(second != first);
  CHECK(std::set<std::string>(second.begin(), second.end()) ==
        std::set<std::string>(first.begin(), first.end()));
  CHECK(order("ann", R"({"query":"ada","pool":"lists","depth":3})").size() == 3);
  CHECK(order("ann", R"({"slots":{"NAME":"ada"},"depth":7})").size() == 7);
}

TEST_CASE("A judge sees a film's picture, length and author", "[service][judging][kinds]") {
  TestServer server(
      [](const ExpandedQuery&) {
        auto list = list_of({"film.example"});
        Hit& hit = list.list.hits.front();
        hit.kind = ResultKind::video;
        hit.thumbnail = "https://film.example/small.png";
        hit.details = {{"length", "222"}, {"author", "Ada Otter"}};
        return list;
      },
      judging_config("pictures: {thumbnails: true}\n"));
  const JsonObject found = results_of(server, "ann", R"({"query":"ada"})");
  const JsonObject& result = found.at("results").at(0).as_object();
  CHECK(result.at("kind").as_string() == "video");
  CHECK(result.at("picture").as_string() == "https://film.example/small.png");
  const std::string page = form_post(server, "key=ann-key&action=next&text=ada");
  CHECK(page.find("<p class=\"by\">video: 3:42, Ada Otter</p>") != std::string::npos);
  CHECK(page.find("<span class=\"thumbnail\"><img src=\"/picture?thumbnail=") != std::string::npos);
}

TEST_CASE("Grades sent through the API update the queue and the progress and the judges' kappa",
          "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  server.get("/search?q=bob&format=json");
  server.get("/search?q=bob&format=json");
  server.get("/search?q=ada&format=json");
  const JsonObject before = queue_of(server, "ann");
  REQUIRE(before.at("queries").as_array().size() == 2);
  CHECK(before.at("queries").at(0).at("slots").at("NAME").as_string() == "bob");
  CHECK(before.at("queries").at(0).at("times").as_int64() == 2);
  CHECK(before.at("judged").as_int64() == 0);
  grade(server, "ann", {{"a.example", 4}, {"b.example", 1}, {"c.example", 0}, {"d.example", 0}});
  grade(server, "bob", {{"a.example", 4}, {"b.example", 2}, {"c.example", 0}});
  const JsonObject after = queue_of(server, "ann");
  CHECK(after.at("judged").as_int64() == 1);
  // queries that wait for a judge come first, and judging does not count as a search
  CHECK(after.at("queries").at(0).at("slots").at("NAME").as_string() == "bob");
  const JsonObject ada = after.at("queries").at(1).as_object();
  CHECK(ada.at("times").as_int64() == 1);
  CHECK(ada.at("own_grades").as_int64() == 4);
  CHECK(ada.at("documents").as_int64() == 4);
  CHECK(ada.at("judges").as_int64() == 2);
  REQUIRE(after.at("agreement").as_array().size() == 1);
  const JsonObject pair = after.at("agreement").at(0).as_object();
  CHECK(pair.at("documents").as_int64() == 3);
  // 2 of 3 grades agree; by chance 2 of 9 pairs would (grades 4 and 0): (2/3 - 2/9) / (7/9) = 4/7
  CHECK(pair.at("kappa").as_double() == Approx(4.0 / 7));
  // the grades are there when the query is opened again
  const JsonObject again = results_of(server, "ann", R"({"query":"Ada"})");
  for (const Json& result : again.at("results").as_array()) CHECK(result.at("grade").is_int64());
}

TEST_CASE("Judgments are exported as qrels and JSON lines and imported unchanged", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  grade(server, "ann", {{"a.example", 4}, {"b.example", 1}});
  CHECK(status_in(server.post(kPath + "?judge=model:good", "text/plain", "tea 0 a.example/ 1\n",
                              bearer("ann"))) == 400);
  const std::string qrels = body_in(server.get(kPath + "?format=qrels", bearer("ann")));
  CHECK(qrels == "ada 0 a.example 4\nada 0 b.example 1\n");
  const std::string lines = body_in(server.get(kPath + "?format=jsonl", bearer("ann")));
  CHECK(lines == R"({"id":"ada","slots":{"NAME":"ada"},"relevant":[{"url":"http://a.example","grade":4},)"
                 R"({"url":"http://b.example","grade":1}]})"
                 "\n");
  CHECK(body_in(server.get(kPath + "?judge=bob", bearer("ann"))).empty());

  TestServer other(TestServer::default_answer, judging_config());
  const JsonObject report = json_of(other.post(kPath, "application/x-ndjson", lines, bearer("bob")));
  CHECK(report.at("judgments").as_int64() == 2);
  CHECK(report.at("without_search").as_int64() == 1);
  CHECK(body_in(other.get(kPath, bearer("bob"))) == qrels);
  json_of(other.post(kPath, "text/plain", "# a comment\n" + qrels, bearer("ann")));
  CHECK(body_in(other.get(kPath + "?judge=ann&format=jsonl", bearer("ann"))) == lines);
  // several slots, and words that need escaping
  json_of(
      other.post(kPath, "text/plain", "slot.NAME=a%20b%26c&slot.PLACE=x%3Dy 0 d.example 2\n", bearer("ann")));
  CHECK(body_in(other.get(kPath + "?judge=ann", bearer("ann")))
            .find("slot.NAME=a%20b%26c&slot.PLACE=x%3Dy 0 d.example 2\n") != std::string::npos);
  // files of one's own
  json_of(other.post(kPath, "text/plain", "bob 0 file://localhost/a/b.md 3\n", bearer("ann")));
  const std::string of_file = body_in(other.get(kPath + "?judge=ann&format=jsonl", bearer("ann")));
  CHECK(of_file.find("{\"url\":\"file://localhost/a/b.md\",\"grade\":3}") != std::string::npos);
  json_of(other.post(kPath, "application/x-ndjson", of_file, bearer("bob")));
  CHECK(body_in(other.get(kPath + "?judge=bob", bearer("bob"))).find("bob 0 file://localhost/a/b.md 3\n") !=
        std::string::npos);
}

TEST_CASE("Imported judgments train from the lists of the query's latest search", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  json_of(server.post(kPath, "text/plain", "ada 0 a.example 4\nbob 0 b.example/ 4\n", bearer("ann")));
  StoreTrainingOptions options;
  options.domain = "pages";
  options.are_held_out_used = true;
  Store& store = *server.app().records().store;
  CHECK(
      training_set_from_store(store, options)->queries.empty());  // judgments without a search have no lists
  server.get("/search?q=ada&format=json");
  server.app().records().search_log->flush();
  StoreTrainingReport report;
  options.features = service::features_of(server.app().reloader().snapshot()->domains.at("pages").domain);
  CHECK(training_set_from_store(store, options, &report).has_value());
  CHECK(report.judged_queries == 1);
}

TEST_CASE("Queries without judgments wait for judges once they are imported", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  json_of(server.post(
      kPath, "application/x-ndjson",
      "{\"id\":\"1\",\"slots\":{\"NAME\":\"grace\"}}\n{\"id\":\"2\",\"slots\":{\"NAME\":\"alan\"}}\n",
      bearer("ann")));
  CHECK(queue_of(server, "bob").at("queries").as_array().size() == 2);
}

TEST_CASE("Queries that a judge has not graded wait before the many that are graded", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  std::string graded, waiting;
  for (std::size_t i = 0; i < kMaxQueued; ++i)
    graded += "{\"id\":\"1\",\"slots\":{\"NAME\":\"graded " + std::to_string(i) +
              "\"},\"relevant\":[{\"url\":\"http://a.example/\",\"grade\":1}]}\n";
  for (int i = 0; i < 3; ++i)
    waiting += "{\"id\":\"1\",\"slots\":{\"NAME\":\"waiting " + std::to_string(i) + "\"}}\n";
  json_of(server.post(kPath, "application/x-ndjson", graded, bearer("ann")));
  json_of(server.post(kPath, "application/x-ndjson", waiting, bearer("ann")));
  Store& store = *server.app().records().store;
  const auto state = judging_state(store, "pages", "ann").value();
  REQUIRE(state.queries.size() == kMaxQueued);
  for (std::size_t i = 0; i < 4; ++i) CHECK((state.queries[i].own_documents == 0) == (i < 3));
  CHECK(state.has_more);
  CHECK(state.judged == kMaxQueued);
  CHECK(judging_state(store, "pages", "bob")->judged == 0);
  const std::string page = form_post(server, "key=ann-key&action=queue");
  CHECK(page.find("500 queries judged by you. Here are the first 500 of all") != std::string::npos);
  const std::string next = form_post(server, "key=ann-key&action=next&text=");
  CHECK(next.find("<h2>waiting ") != std::string::npos);
}

TEST_CASE("Invalid grades and imports change nothing and are explained", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  const JsonObject results = results_of(server, "ann", R"({"query":"ada"})");
  const std::string id(results.at("search_id").as_string());
  const auto grades = [&](const std::string& body, const std::string& who = "ann") {
    return status_in(server.post(kPath + "/grades", "application/json", body, bearer(who)));
  };
  CHECK(grades(R"({"search_id":")" + id + R"(","grades":[{"position":5,"grade":1}]})") == 422);
  CHECK(grades(R"({"search_id":")" + id + R"(","grades":[{"position":1,"grade":5}]})") == 400);
  CHECK(grades(R"({"search_id":")" + id + R"(","grades":[]})") == 400);
  CHECK(grades(R"({"search_id":"wat","grades":[{"position":1,"grade":1}]})") == 422);
  CHECK(grades(R"({"search_id":")" + id + R"(","grades":[{"position":1,"grade":1}]})", "other") == 403);
  const auto import = [&](const std::string& type, const std::string& body) {
    return server.post(kPath, type, body, bearer("ann"));
  };
  CHECK(import("text/plain", "ada 0 a.example/ wat\n").find("qrels:1: ") != std::string::npos);
  for (const std::string damaged :
       {"ada 0 a\xff.example/ 1\n", "ad%ff 0 a.example/ 1\n", "ad%00 0 a.example/ 1\n",
        "slot.Q=%ff 0 a.example/ 1\n", "digest:\xff 0 a.example/ 1\n"}) {
    const std::string refused = import("text/plain", "ada 0 a.example/ 1\n" + damaged);
    INFO(damaged << refused);
    CHECK(refused.find("qrels:2: ") != std::string::npos);
  }
  CHECK(import("text/plain", "ada 0 a.example/ 1\nada 0 b.example/\n").find("qrels:2: ") !=
        std::string::npos);
  CHECK(import("text/plain", "slot.WAT=x 0 a.example/ 1\n").find("no slot WAT") != std::string::npos);
  CHECK(import("application/x-ndjson", "{\"id\":\"1\"}\n").find("lines:1: ") != std::string::npos);
  CHECK(status_in(import("text/plain", "")) == 400);
  CHECK(status_in(import("application/json", "{}")) == 415);
  CHECK(body_in(server.get(kPath, bearer("ann"))).empty());
  CHECK(status_in(server.get(kPath + "?format=wat", bearer("ann"))) == 400);
  CHECK(status_in(server.get(kPath)) == 401);
  CHECK(status_in(server.get(kPath, bearer("other"))) == 403);
}

TEST_CASE("The judging page works without scripts from the queue to the exported file",
          "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  server.get("/search?q=bob&format=json");
  server.get("/search?q=ada&format=json");
  server.app().records().search_log->flush();
  CHECK(server.get("/judge").find("href=\"/judge/pages\"") != std::string::npos);
  CHECK(server.get("/judge/pages").find("Key with the role judge") != std::string::npos);
  CHECK(status_in(server.get("/judge/wat")) == 404);
  const std::string wrong = form_post(server, "key=wat&action=queue");
  CHECK(status_in(wrong) == 403);
  CHECK(wrong.find("lacks the role judge") != std::string::npos);
  CHECK(status_in(form_post(server, "key=other-key&action=queue")) == 403);
  const std::string queue = form_post(server, "key=ann-key&action=queue");
  CHECK(queue.find("0 of 2 queries judged by you") != std::string::npos);
  const std::string open = form_post(server, "key=ann-key&action=next&text=&pool=fused-10");
  const std::string mark = "name=\"search\" value=\"";
  REQUIRE(open.find(mark) != std::string::npos);
  const std::string id = open.substr(open.find(mark) + mark.size(), 48);
  const std::string next =
      form_post(server, "key=ann-key&action=save-next&pool=fused-10&g.1=4&g.2=0&search=" + id);
  CHECK(next.find("2 grades saved.") != std::string::npos);
  CHECK(next.find("1 of 2 queries judged by you") != std::string::npos);
  CHECK(next.find("<h2>") != std::string::npos);
  CHECK(status_in(form_post(server, "key=ann-key&action=save&g.9=4&search=" + id)) == 422);
  const std::string refused = form_post(server, "key=ann-key&action=import&text=carl&file=no+judgments");
  CHECK(status_in(refused) == 422);
  CHECK(refused.find("<details open><summary>Files") != std::string::npos);
  CHECK(refused.find("no judgments</textarea>") != std::string::npos);
  CHECK(refused.find("name=\"text\" value=\"carl\"") != std::string::npos);
  const std::string file = form_post(server, "key=ann-key&action=export-qrels");
  CHECK(file.find("Content-Disposition: attachment; filename=\"pages.qrels\"") != std::string::npos);
  const std::string body = body_in(file);
  CHECK(std::count(body.begin(), body.end(), '\n') == 2);
}

TEST_CASE("A judge opens results that are files through the server", "[service][judging][files]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("docs/a.txt", "words of the file");
  TestServer server(
      [&](const ExpandedQuery& query) {
        fetchers::FetchedList list = TestServer::default_answer(query);
        list.list.hits.front().url = "file://localhost" + file;
        return list;
      },
      judging_config("files: [" + folder.path("docs") + "]\n"));
  const std::string open = form_post(server, "key=ann-key&action=next&text=ada&pool=fused-10");
  const std::size_t at = open.find("/files/pages?path=");
  REQUIRE(at != std::string::npos);
  std::string link = open.substr(at, open.find('"', at) - at);
  link.replace(link.find("&amp;"), 5, "&");
  CHECK(body_in(server.get(link)) == "words of the file");
}

TEST_CASE("Where queries are hashed judges type them and no clear text is stored",
          "[service][judging][security]") {
  TestServer server(TestServer::default_answer, judging_config("privacy: {hash_queries: true}\n"));
  grade(server, "ann", {{"a.example", 4}});
  CHECK(queue_of(server, "ann").at("queries").as_array().empty());
  const std::string qrels = body_in(server.get(kPath, bearer("ann")));
  CHECK(qrels.starts_with("digest:"));
  CHECK(qrels.find("example") == std::string::npos);
  CHECK(status_in(server.get(kPath + "?format=jsonl", bearer("ann"))) == 400);
  // the query is recognised when it is typed again
  int known = 0;
  const JsonObject again = results_of(server, "ann", R"({"query":"ada"})");
  for (const Json& result : again.at("results").as_array()) known += result.at("grade").is_null() ? 0 : 1;
  CHECK(known == 1);
}

TEST_CASE("The next query follows the last one and starts again at the end", "[service][judging]") {
  JudgingState state;
  for (const char* name : {"a", "b", "c"}) {
    QueuedQuery query;
    query.asked.query = name;
    state.queries.push_back(query);
  }
  CHECK(next_query(state, "")->asked.query == "a");
  CHECK(next_query(state, "a")->asked.query == "b");
  CHECK(next_query(state, "c")->asked.query == "a");
  state.queries[0].own_documents = 1;
  state.queries[1].own_documents = 2;
  CHECK(next_query(state, "a")->asked.query == "c");
  CHECK(next_query(state, "c") == nullptr);
  state.queries.erase(state.queries.begin(), state.queries.begin() + 2);
  CHECK(next_query(state, "c") == nullptr);  // the only one
  CHECK(next_query(state, "")->asked.query == "c");
}

TEST_CASE("A judge is shown their own grades of this query in this domain alone", "[service][judging]") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.path("store.db")).value();
  const auto grade_by = [&](const std::string& domain, const std::string& query, const std::string& judge,
                            int grade) {
    REQUIRE(store->judgments.set({domain, query, document_key(1), judge, grade, "s", kNewYear}).has_value());
  };
  grade_by("shoes", "q", "ann", 1);
  grade_by("shoes", "q", "bob", 2);
  grade_by("shoes", "r", "ann", 3);
  grade_by("hats", "q", "ann", 0);
  const auto of = [&](const std::string& judge) { return grades_by(*store, "shoes", "q", judge).value(); };
  CHECK(of("ann") == std::map<std::string, int>{{document_key(1), 1}});
  CHECK(of("bob") == std::map<std::string, int>{{document_key(1), 2}});
  CHECK(of("eve").empty());
}

TEST_CASE("Grades for a search of another domain are refused and not stored",
          "[service][judging][security]") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.path("store.db")).value();
  const StoredSearch search = sample_search("shoes");
  REQUIRE(store->searches.add({&search, 1}).has_value());
  const auto refused = store_grades(*store, {"hats", "ann", kNewYear}, search.id, {{1, 2}});
  REQUIRE(refused.has_value());
  CHECK(refused->find("no such search in this domain") != std::string::npos);
  CHECK(store->judgments.queries("shoes")->empty());
  CHECK(store->judgments.queries("hats")->empty());
  CHECK(store_grades(*store, {"shoes", "ann", kNewYear}, search.id, {{1, 2}}).value().empty());
  CHECK(store->judgments.queries("shoes")->size() == 1);
  for (const auto& [position, grade] :
       {std::pair{0, 1}, std::pair{5, 1}, std::pair{1, -1}, std::pair{1, kBestGrade + 1}}) {
    INFO(position << " " << grade);
    CHECK_FALSE(store_grades(*store, {"shoes", "ann", kNewYear}, search.id,
                             {{static_cast<std::uint32_t>(position), grade}})
                    .value()
                    .empty());
  }
  CHECK(
      store_grades(*store, {"shoes", "ann", kNewYear}, search.id, {{4, 0}, {1, kBestGrade}}).value().empty());
}

TEST_CASE("A negative grade of qrels is imported as no relevance", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  const auto imported = server.post(
      kPath, "text/plain", "ada 0 a.example -2\nada 0 b.example 0\nada 0 c.example 3\n", bearer("ann"));
  INFO(imported);
  REQUIRE(status_in(imported) == 200);
  CHECK(body_in(server.get(kPath + "?format=qrels", bearer("ann"))) ==
        "ada 0 a.example 0\nada 0 b.example 0\nada 0 c.example 3\n");
}

TEST_CASE("An import counts the forms of one query once and keeps its words without blanks",
          "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  const auto imported = server.post(
      kPath, "text/plain", "TEA%20 0 a.example 2\ntea 0 a.example 1\ntea 0 b.example 0\n", bearer("ann"));
  CHECK(body_in(imported).find("\"queries\":1,\"judgments\":2,\"without_search\":1") != std::string::npos);
  CHECK(body_in(server.get(kPath + "?format=qrels", bearer("ann"))).find("TEA 0 a.example ") == 0);
}

TEST_CASE("The page compares language models with people", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  grade(server, "ann", {{"a.example", 4}, {"b.example", 0}, {"c.example", 0}});
  Store& store = *server.app().records().store;
  const auto page = [&] { return form_post(server, "key=ann-key&action=queue"); };
  CHECK(page().find("Language models beside people") == std::string::npos);
  const auto judged = store.judgments.queries("pages");
  for (StoredJudgment judgment : judged->front().judgments) {
    judgment.judge = "model:sage";
    judgment.grade = judgment.grade == 4 ? 3 : 0;
    REQUIRE(store.judgments.set(judgment).has_value());
  }
  const std::string compared = page();
  CHECK(compared.find("<th scope=\"row\">sage<td class=\"number\">3<td class=\"number\">1.00") !=
        std::string::npos);
  const auto state = judging_state(store, "pages", "ann");
  REQUIRE(state->pairs.size() == 1);
  CHECK(state->pairs[0].agreement.kappa == 1.0);  // its 3 is read as a person's 4
}

TEST_CASE("Qrels are imported with grades up to ten", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  const auto status = [&](const std::string& line) {
    return status_in(server.post(kPath, "text/plain", line, bearer("ann")));
  };
  CHECK(status("ada 0 a.example 10\n") == 200);
  CHECK(status("ada 0 a.example 11\n") == 400);
  CHECK(status("ada 0 a.example\n") == 400);
  CHECK(status("ada 0 a.example 1 2\n") == 400);
}

TEST_CASE("JSON lines are imported with grades up to ten", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  const auto imported = [&](const std::string& grade) {
    return server.post(
        kPath, "application/x-ndjson",
        R"({"id":"ada","slots":{"NAME":"ada"},"relevant":[{"url":"http://a.example","grade":)" + grade +
            "}]}\n",
        bearer("ann"));
  };
  CHECK(status_in(imported("7")) == 200);
  CHECK(body_in(server.get(kPath, bearer("ann"))) == "ada 0 a.example 7\n");
  const std::string refused = imported("11");
  CHECK(status_in(refused) == 400);
  CHECK(refused.find("lines:1: a grade is at most 10") != std::string::npos);
}

TEST_CASE("Qrels that name pages by their URLs judge the results of these pages", "[service][judging]") {
  TestServer server(TestServer::default_answer, judging_config());
  json_of(server.post(kPath, "text/plain",
                      "ada 0 https://www.A.example/?utm_source=x 4\nada 0 b.example/?u=http://c.example 1\n",
                      bearer("ann")));
  CHECK(body_in(server.get(kPath, bearer("ann"))) ==
        "ada 0 a.example 4\nada 0 b.example/?u=http://c.example 1\n");
  const JsonObject results = results_of(server, "ann", R"({"query":"ada"})");
  for (const Json& result : results.at("results").as_array())
    CHECK(result.at("grade").is_null() == (result.at("title").as_string() != "Title of a.example"));
  CHECK(server.post(kPath, "text/plain", "ada 0 http:// 1\n", bearer("ann")).find("qrels:1: ") !=
        std::string::npos);
}
