#include "service/api/fusing.h"

#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "fusion/unsupervised/fusion_method.h"
#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

/// The answer to one request without a configuration.
Json fused(std::string request) {
  std::replace(request.begin(), request.end(), '\n', ' ');
  const std::string text = service::fuse_lines(request, {});
  auto answer = parse_json(text, "answer");
  REQUIRE(answer.has_value());
  return *answer;
}

std::string ids_of(const Json& answer) {
  std::string out;
  for (const Json& result : answer.at("results").as_array())
    out += (out.empty() ? "" : " ") + std::string(result.at("id").as_string());
  return out;
}

std::string refusal_of(const std::string& request) {
  const Json answer = fused(request);
  REQUIRE(answer.as_object().contains("status"));
  CHECK(answer.at("status") == Json(400));
  return std::string(answer.at("detail").as_string());
}

std::string repeated(const std::string& item, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    std::string one = item;
    for (std::size_t at = one.find('#'); at != std::string::npos; at = one.find('#'))
      one.replace(at, 1, std::to_string(i));
    out += (i == 0 ? "" : ",") + one;
  }
  return out;
}

}  // namespace

TEST_CASE("Callers' lists are fused by reciprocal ranks by default", "[service][fusing]") {
  // d2 is second and first: 1/62 + 1/61; d1 first in one list: 1/61; d3 second in one: 1/62
  const Json answer = fused(
      R"({"lists":[{"name":"bm25","results":["d1","d2"]},{"name":"dense","results":["d2","d3"]}],"explain":true})");
  CHECK(ids_of(answer) == "d2 d1 d3");
  const JsonArray& results = answer.at("results").as_array();
  CHECK(results[0].at("score").to_number<double>() == Approx(1.0 / 62 + 1.0 / 61).epsilon(1e-15));
  CHECK(results[0].at("relative_score").to_number<double>() == 1);
  CHECK(results[2].at("relative_score").to_number<double>() == 0.0);
  CHECK(to_text(results[0].at("lists")) == R"([{"name":"bm25","rank":2},{"name":"dense","rank":1}])");
  CHECK(results[0].at("explanation").at(1).at("weight").to_number<double>() == 1.0 / 61);
  CHECK(to_text(answer.at("fusion")) == R"({"method":"rrf","options":{"k":60}})");
  CHECK(answer.at("total") == Json(3));
  // k = 0: 1/2 + 1, 1, 1/2
  const Json sharp = fused(
      R"({"options":{"k":0},"limit":2,"lists":[{"name":"a","results":["d1","d2"]},{"name":"b","results":["d2","d3"]}]})");
  CHECK(sharp.at("results").as_array().size() == 2);
  CHECK(sharp.at("results").at(0).at("score").to_number<double>() == 1.5);
}

TEST_CASE("Results of equal score are ordered by best rank and then by first appearance",
          "[service][fusing]") {
  CHECK(ids_of(fused(R"({"lists":[{"name":"a","results":["z","y"]},{"name":"b","results":["y","z"]}]})")) ==
        "z y");
  CHECK(ids_of(fused(R"({"lists":[{"name":"b","results":["y","z"]},{"name":"a","results":["z","y"]}]})")) ==
        "y z");
  // three equal sums: low and high have rank 1 in a list, and low appears first
  CHECK(ids_of(fused(R"({"method":"combsum","options":{"normalise":"none"},"lists":[
{"name":"a","results":[{"id":"low","score":1},{"id":"first","score":1}]},
{"name":"b","results":[{"id":"high","score":1}]}]})")) == "low high first");
}

TEST_CASE("Callers' scores are combined as the method prescribes", "[service][fusing]") {
  // min-max: a: 10 -> 1, 6 -> 0.5, 2 -> 0; b: 4 -> 1, 3 -> 0; y: 0.5 + 1 = 1.5, x: 1, z: 0 + 0
  const Json answer = fused(R"({"method":"combsum","explain":true,"lists":[
{"name":"a","results":[{"id":"x","score":10},{"id":"y","score":6},{"id":"z","score":2}]},
{"name":"b","results":[{"id":"y","score":4},{"id":"z","score":3}]}]})");
  CHECK(ids_of(answer) == "y x z");
  CHECK(answer.at("results").at(0).at("score").to_number<double>() == 1.5);
  CHECK(answer.at("results").at(0).at("explanation").at(0).at("weight").to_number<double>() == 0.5);
  CHECK(to_text(answer.at("fusion")) == R"({"method":"combsum","options":{"normalise":"min-max"}})");
  // a weight of 3 for the first list: x 3, y 1.5 + 1
  CHECK(ids_of(fused(R"({"method":"weighted_sum","lists":[
{"name":"a","weight":3,"results":[{"id":"x","score":10},{"id":"y","score":6},{"id":"z","score":2}]},
{"name":"b","results":[{"id":"y","score":4},{"id":"z","score":3}]}]})")) == "x y z");
}

TEST_CASE("Scores as large as a double can be are fused to finite ones", "[service][fusing][security]") {
  for (const char* method : {"combsum", "combmnz", "combgmnz"}) {
    const Json answer =
        fused(std::string(R"({"method":")") + method + R"(","options":{"normalise":"none"},"lists":[
{"name":"a","results":[{"id":"x","score":1e308},{"id":"y","score":-1e308},{"id":"z","score":0}]},
{"name":"b","results":[{"id":"x","score":1e308},{"id":"y","score":-1e308}]}]})");
    CHECK(ids_of(answer) == "x z y");
    CHECK(answer.at("results").at(0).at("relative_score").to_number<double>() == 1.0);
    CHECK(answer.at("results").at(1).at("relative_score").to_number<double>() == 0.5);
  }
}

TEST_CASE("Equivalent URLs are one result and the fields of callers come back unchanged",
          "[service][fusing]") {
  const Json answer = fused(R"({"lists":[
{"name":"a","results":["other",{"url":"https://www.x.example/a/","title":"late","fields":{"n":[1,null,{"k":"v"}]}}]},
{"name":"b","results":[{"url":"http://x.example/a#f","score":-3.5,"snippet":"s"}]}]})");
  const Json& result = answer.at("results").at(0);
  CHECK(result.at("id") == Json("x.example/a"));
  CHECK(result.at("url") == Json("http://x.example/a#f"));  // as in the list that ranks it best
  CHECK(result.at("title") == Json("late"));
  CHECK(result.at("snippet") == Json("s"));
  CHECK(to_text(result.at("fields")) == R"({"n":[1,null,{"k":"v"}]})");
  CHECK_FALSE(answer.at("results").at(1).as_object().contains("url"));
}

TEST_CASE("A duplicate in a list counts once by its better rank and is reported", "[service][fusing]") {
  const Json answer = fused(R"({"lists":[{"name":"a","results":["x","y","x","z"]}]})");
  CHECK(ids_of(answer) == "x y z");
  CHECK(answer.at("results").at(2).at("lists").at(0).at("rank") == Json(3));
  CHECK(to_text(answer.at("notices")) == R"(["list a names x twice; its better rank, 1, counts"])");
  const Json many = fused(R"({"lists":[{"name":"a","results":[)" + repeated("\"x\"", 900) + "]}]}");
  CHECK(many.at("notices").as_array().size() == 21);
}

TEST_CASE("Every bad request to fuse has one clear error", "[service][fusing]") {
  const std::pair<std::string, std::string> rows[] = {
      {R"({})", "\"lists\" must be a list of lists"},
      {R"({"lists":"d1"})", "\"lists\" must be a list"},
      {R"({"lists":[]})", "lists: give at least one list"},
      {R"({"lists":["a"]})", "lists[0] must be an object with name and results"},
      {R"({"lists":[{"name":"a"}]})", "lists[0]: \"results\" must be a list"},
      {R"({"lists":[{"results":[]}]})", "lists[0]: give it a name"},
      {R"({"lists":[{"name":"a","results":{}}]})", "lists[0]: \"results\" must be a list"},
      {R"({"lists":[{"name":"a","results":[]},{"name":"a","results":[]}]})", "two lists are named \"a\""},
      {R"({"lists":[{"name":"a","results":[7]}]})", "lists[0].results[0] must be an id, or an object"},
      {R"({"lists":[{"name":"a","results":["x",{"title":"t"}]}]})",
       "lists[0].results[1] has neither \"id\" nor \"url\""},
      {R"({"lists":[{"name":"a","results":[{"id":""}]}]})",
       "lists[0].results[0]: an id must have 1 to 1024 bytes"},
      {R"({"lists":[{"name":"a","results":[{"id":7}]}]})", "lists[0].results[0]: \"id\" must be a string"},
      {R"({"lists":[{"name":"a","results":[{"url":"no url"}]}]})", "lists[0].results[0]: \"url\":"},
      {R"({"lists":[{"name":"a","results":[{"id":"x","score":"NaN"}]}]})", "\"score\" must be a number"},
      {R"({"lists":[{"name":"a","results":[{"id":"x","score":NaN}]}]})", "body:1:52"},
      {R"({"lists":[{"name":"a","results":[{"id":"x","score":1e999}]}]})", "body:1:"},
      {R"({"lists":[{"name":"a","results":[{"id":"x","rank":1}]}]})", "unknown member \"rank\""},
      {R"({"lists":[)" + repeated(R"({"name":"l#","results":[]})", 65) + "]}",
       "65 lists; at most 64 are allowed"},
      {R"({"lists":[{"name":"a","results":[)" + repeated("\"d#\"", 1001) + "]}]}",
       "(a): 1001 results; at most 1000 are allowed"},
      {R"({"method":"rff","lists":[]})", "no method \"rff\"; did you mean rrf"},
      {R"({"method":"probfuse","lists":[]})", "learns from judgments"},
      {R"({"method":"combsum","lists":[{"name":"a","results":["x"]}]})", "list a has results without one"},
      {R"({"method":"rrf","options":{"normalise":"min-max"},"lists":[{"name":"a","results":["x"]}]})",
       "uses only ranks"},
      {R"({"method":"combsum","options":{"normalise":"mean"},"lists":[]})", "unknown normalisation \"mean\""},
      {R"({"method":"borda","options":{"k":3},"lists":[{"name":"a","results":["x"]}]})", "has no parameter"},
      {R"({"method":"combgmnz","options":{"k":2000},"lists":[{"name":"a","results":[{"id":"x","score":1}]}]})",
       "at most 100"},
      {R"({"method":"borda","lists":[{"name":"a","weight":2,"results":["x"]}]})", "takes no weights"},
      {R"({"method":"weighted_borda","lists":[{"name":"a","results":["x"]}]})", "needs a weight"},
      {R"({"options":{"q":3},"lists":[]})", "options: unknown member \"q\""},
      {R"({"domain":"d","method":"rrf","lists":[]})", "either a domain"},
      {R"({"domain":"d","lists":[{"name":"a","results":[]}]})", "no domain \"d\""},
      {R"({"lists":[],"wat":1})", "unknown member \"wat\""},
      {R"({"lists":[],"limit":0})", "\"limit\" must be a number from 1 to 64000"},
      {R"({"requests":{}})", "\"requests\" must be a list"},
      {R"({"requests":[],"limit":1})", "\"requests\" must be the only member"},
      {R"([1])", "the body must be a JSON object"},
      {R"(nope)", "body:1:1"},
  };
  for (const auto& [request, expected] : rows) {
    INFO(request.substr(0, 200));
    const std::string said = refusal_of(request);
    INFO(said);
    CHECK(said.find(expected) != std::string::npos);
    CHECK(said.size() < 1000);
  }
}

TEST_CASE("The largest request is accepted but methods that compare documents have a limit",
          "[service][fusing]") {
  std::string lists;
  for (int l = 0; l < 64; ++l)
    lists += (l == 0 ? "" : ",") + (R"({"name":"l)" + std::to_string(l)) + R"(","results":[)" +
             repeated("\"d" + std::to_string(l) + "-#\"", 1000) + "]}";
  const Json answer = fused("{\"limit\":3,\"lists\":[" + lists + "]}");
  CHECK(answer.at("total") == Json(64000));
  CHECK(ids_of(answer) == "d0-0 d1-0 d2-0");
  CHECK(refusal_of("{\"method\":\"mc4\",\"lists\":[" + lists + "]}").find("at most 4096") !=
        std::string::npos);
  const auto is_taken = [](const std::string& method, int documents) {
    std::string some;
    for (int at = 0; at < documents; at += 1000)
      some += (at == 0 ? "" : ",") + (R"({"name":"l)" + std::to_string(at)) + R"(","results":[)" +
              repeated("\"d" + std::to_string(at) + "-#\"", std::min(1000, documents - at)) + "]}";
    const std::string text = R"({"method":")" + method + R"(","lists":[)" + some + "]}";
    const Json body = parse_json(text, "body").value();
    return service::read_fuse_request(body.as_object(), default_tracking_parameters()).has_value();
  };
  for (const char* method : {"copeland", "mc4"}) {
    CHECK(is_taken(method, 4096));
    CHECK_FALSE(is_taken(method, 4097));
  }
  for (const char* method : {"mc1", "mc2", "mc3", "rra"}) CHECK(is_taken(method, 64000));
}

TEST_CASE("A batch is answered in order and a refused request does not stop the others",
          "[service][fusing]") {
  const std::string one = R"({"lists":[{"name":"a","results":["x"]}]})";
  const std::string answer = service::fuse_lines(R"({"requests":[)" + one + R"(,{"lists":[]},7]})", {});
  const std::string single = service::fuse_lines(one, {});
  CHECK(
      answer ==
      R"({"answers":[)" + single.substr(0, single.size() - 1) +
          R"(,{"status":400,"detail":"lists: give at least one list"},{"status":400,"detail":"a request must be a JSON object"}]})" +
          "\n");
  int refused = 0;
  const std::string lines = service::fuse_lines(one + "\n\n  \n{}\n" + one, {}, [&] { ++refused; });
  CHECK(lines.starts_with(single));
  CHECK(lines.ends_with(single));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 3);
  CHECK(refused == 1);
}

TEST_CASE("Every fusion method fuses callers' lists or says what it needs", "[service][fusing]") {
  for (const fusion::FusionMethod& method : fusion::fusion_methods()) {
    INFO(method.name);
    const std::string weight = method.needs_weights ? "\"weight\":2," : "";
    const std::string request =
        "{\"method\":\"" + method.name + "\",\"explain\":true,\"lists\":[{\"name\":\"a\"," + weight +
        R"("results":[{"id":"x","score":2},{"id":"y","score":1}]},{"name":"b",)" + weight +
        R"("results":[{"id":"x","score":5},{"id":"z","score":4},{"id":"y","score":1}]}]})";
    if (method.is_supervised) {
      CHECK(refusal_of(request).find("learns from judgments") != std::string::npos);
      continue;
    }
    const Json answer = fused(request);
    REQUIRE(answer.as_object().contains("results"));
    CHECK(answer.at("results").at(0).at("id") == Json("x"));  // first in both lists
    CHECK(answer.at("total") == Json(3));
    // where contributions are given, they sum to the score
    for (const Json& result : answer.at("results").as_array()) {
      double sum = 0;
      bool has_weights = true;
      for (const Json& share : result.at("explanation").as_array()) {
        has_weights = has_weights && share.at("weight").is_number();
        if (has_weights) sum += share.at("weight").to_number<double>();
      }
      if (has_weights) CHECK(sum == Approx(result.at("score").to_number<double>()).margin(1e-12));
    }
  }
}

TEST_CASE("The command metafuse fuse --json answers each line of a file", "[service][fusing]") {
  const TemporaryFolder folder;
  const std::string one = R"({"lists":[{"name":"a","results":["x"]}]})";
  folder.write("good", one + "\n" + one + "\n");
  folder.write("bad", one + "\n{}\n");
  const auto good = run_command({METAFUSE_EXECUTABLE, "fuse", "--json", folder.path("good")});
  CHECK(good.status == 0);
  CHECK(good.out == service::fuse_lines(one + "\n" + one, {}));
  const auto bad = run_command({METAFUSE_EXECUTABLE, "fuse", "--json", folder.path("bad")});
  CHECK(bad.status == 65);
  CHECK(bad.out == service::fuse_lines(one + "\n{}", {}));
  CHECK(bad.err.find(":2: the first of 1 refused request;") != std::string::npos);
  CHECK(service::fuse_lines(one + "\n\n{]", {}).find("body:3:2: ") != std::string::npos);
  CHECK(run_command({METAFUSE_EXECUTABLE, "fuse", folder.path("good")}).status == 64);
}

namespace {

const std::string kDomainWithLists =
    "version: 1\ndomain: pages\ndepth: 10\nslots: {NAME: {required: true}}\ntemplates:\n"
    "  - {id: plain, engine: one, query: '{NAME}'}\nlists: [bm25, dense]\n";

/// One weak ranking, for the document that the list dense ranks first.
const std::string kModelOfLists = R"({"format":"metafuse-model","version":1,"learner":"rankboost",
"features":[{"name":"plain@one","kind":"rank","depth":10},{"name":"bm25","kind":"rank","depth":10},{"name":"dense","kind":"rank","depth":10}],
"unranked":"absent","body":{"weak_rankings":[{"feature":2,"rank":1,"q_default":0,"alpha":1}]},"training":{}})";

std::string fuse_over_http(TestServer& server, const std::string& body,
                           const std::string& type = "application/json") {
  return server.post("/v1/fuse", type, body);
}

}  // namespace

TEST_CASE("A domain's model fuses callers' lists and treats the documents of a missing list as unranked",
          "[service][fusing]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\n", kDomainWithLists);
  server.folder().write("models/pages.json", kModelOfLists);
  REQUIRE(server.app().reloader().reload().has_value());
  const std::string request =
      R"({"domain":"pages","query":"ada","explain":true,"lists":[{"name":"bm25","results":["a","b"]},{"name":"dense","results":["b","c"]}]})";
  const std::string answer = fuse_over_http(server, request);
  REQUIRE(status_in(answer) == 200);
  const Json fused = *parse_json(body_in(answer), "answer");
  CHECK(ids_of(fused) == "b a c");  // equal scores: a is first in a list, c second
  CHECK(fused.at("results").at(0).at("score").to_number<double>() == 1);
  CHECK(fused.at("results").at(0).at("explanation").at(0).at("feature") == Json("dense"));
  CHECK(fused.at("fusion").at("method") == Json("rankboost"));
  CHECK(server.fetcher().fetches() == 0);
  const std::string id(fused.at("search_id").as_string());
  const std::string click = R"({"search_id":")" + id + R"(","kind":"click","position":1})";
  CHECK(body_in(server.post("/v1/feedback", "application/json", click)) == R"({"outcome":"recorded"})");
  // or by its id as given in the answer
  const auto click_on = [&](const std::string& name) {
    return server.post("/v1/feedback", "application/json",
                       R"({"search_id":")" + id + R"(","id":")" + name + "\"}");
  };
  CHECK(body_in(click_on("b")) == R"({"outcome":"duplicate"})");
  CHECK(body_in(click_on("c")) == R"({"outcome":"recorded"})");
  CHECK(status_in(click_on("z")) == 422);
  CHECK(status_in(server.post("/v1/feedback", "application/json",
                              R"({"search_id":")" + id + R"(","id":"b","position":1})")) == 400);
  // without the list that the model reads, every score is 0
  const std::string partial =
      fuse_over_http(server, R"({"domain":"pages","lists":[{"name":"bm25","results":["z","y"]}]})");
  CHECK(ids_of(*parse_json(body_in(partial), "answer")) == "z y");
  // results below the domain's depth come after all others
  const std::string deep =
      fuse_over_http(server, R"({"domain":"pages","lists":[{"name":"bm25","results":[)" +
                                 repeated("\"d#\"", 12) + R"(]},{"name":"dense","results":["x"]}]})");
  CHECK(ids_of(*parse_json(body_in(deep), "answer")) == "x d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 d10 d11");
}

TEST_CASE("Lists that a domain does not declare are refused with similar names", "[service][fusing]") {
  TestServer server(TestServer::default_answer, "", kDomainWithLists);
  const auto refused = [&](const std::string& body, const std::string& said) {
    const std::string answer = fuse_over_http(server, body);
    INFO(answer);
    CHECK(status_in(answer) == 400);
    CHECK(answer.find("application/problem+json") != std::string::npos);
    CHECK(body_in(answer).find(said) != std::string::npos);
  };
  refused(R"({"domain":"pages","lists":[{"name":"bm26","results":[]}]})",
          R"(has no list \"bm26\"; did you mean bm25)");
  refused(R"({"domain":"page","lists":[{"name":"bm25","results":[]}]})", R"(no domain \"page\")");
  refused(R"({"domain":"pages","lists":[{"name":"bm25","weight":2,"results":[]}]})",
          "remove the weight of bm25");
  refused(R"({"domain":"pages","slots":{"WAT":"x"},"lists":[{"name":"bm25","results":[]}]})",
          R"(no slot \"WAT\")");
  // a domain that declares none has those of its templates
  TestServer without;
  CHECK(status_in(fuse_over_http(
            without, R"({"domain":"pages","lists":[{"name":"plain@one","results":["a"]}]})")) == 200);
  CHECK(status_in(fuse_over_http(without,
                                 R"({"domain":"pages","lists":[{"name":"bm25","results":["a"]}]})")) == 400);
  // a domain that has only callers' lists cannot be searched, and says so
  TestServer alone(TestServer::default_answer, "", "version: 1\ndomain: pages\nlists: [bm25]\n");
  CHECK(alone.get("/search?q=ada&format=json").find("callers bring its lists") != std::string::npos);
  CHECK(status_in(fuse_over_http(alone, R"({"domain":"pages","lists":[{"name":"bm25","results":["a"]}]})")) ==
        200);
}

TEST_CASE("Fusing over HTTP gives the same answer as the command line", "[service][fusing]") {
  TestServer server;
  const std::string one =
      R"({"lists":[{"name":"a","results":["x",{"id":"y","fields":{"k":[1.5,"ü"]}}]}],"explain":true})";
  CHECK(body_in(fuse_over_http(server, one)) + "\n" == service::fuse_lines(one, {}));
  const std::string lines = one + "\n{}\n" + one + "\n";
  const std::string answer = fuse_over_http(server, lines, "application/x-ndjson");
  CHECK(answer.find("Content-Type: application/x-ndjson") != std::string::npos);
  CHECK(body_in(answer) == service::fuse_lines(lines, {}));
  CHECK(status_in(fuse_over_http(server, one, "text/plain")) == 415);
  CHECK(status_in(fuse_over_http(server, std::string(service::kMaxFuseBytes + 1, ' '))) == 413);
  CHECK(status_in(fuse_over_http(server, "{}")) == 400);
}

TEST_CASE("A short request is fused while searches occupy every worker", "[service][fusing]") {
  std::promise<void> engines_answer;
  const std::shared_future<void> answered = engines_answer.get_future().share();
  TestServer server(
      [&](const ExpandedQuery& query) {
        answered.wait();
        return TestServer::default_answer(query);
      },
      "workers: 1\n");
  RawClient searching(server.port());
  searching.send("GET /search?q=ada&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (server.fetcher().ends().empty()) std::this_thread::yield();
  const std::string fused = fuse_over_http(server, R"({"lists":[{"name":"a","results":["x","y"]}]})");
  engines_answer.set_value();
  CHECK(status_in(fused) == 200);
  CHECK(ids_of(*parse_json(body_in(fused), "answer")) == "x y");
  CHECK(status_in(searching.read_response()) == 200);
}

TEST_CASE("Explanations are limited in results times lists", "[service][fusing][security]") {
  const auto request = [](int lists, int limit) {
    std::string text =
        R"({"method":"borda","explain":true,"limit":)" + std::to_string(limit) + R"(,"lists":[)";
    for (int list = 0; list < lists; ++list) {
      const std::string name = std::to_string(list);
      text += (list == 0 ? "" : ",") + (R"({"name":"l)" + name + R"(","results":[)") +
              repeated("\"" + name + "-#\"", 1000) + "]}";
    }
    return text + "]}";
  };
  // 50 lists and 2000 results are 100,000 cells
  const Json answer = fused(request(50, 2000));
  CHECK(answer.at("results").as_array().size() == 2000);
  const Json refused = fused(request(50, 2001));
  CHECK(refused.at("status") == Json(422));
  CHECK(std::string(refused.at("detail").as_string()).find("smaller \"limit\"") != std::string::npos);
}

TEST_CASE("An answer is at most sixteen times as long as its request and a megabyte",
          "[service][fusing][security]") {
  // each result of four bytes gets a placement with the list's name of 200 bytes
  std::string text = R"({"lists":[)";
  for (int list = 10; list < 26; ++list)
    text += (list == 10 ? "" : ",") + (R"({"name":")" + std::string(198, 'n') + std::to_string(list)) +
            R"(","results":[)" + repeated("\"#\"", 1000) + "]}";
  text += "]}";
  const auto refused = service::fuse_text(text, {});
  REQUIRE(refused.has_error());
  CHECK(refused.error().status == 422);
  CHECK(service::fuse_text(text.substr(0, text.size() - 1) + R"(,"limit":500})", {}).has_value());
  // lines share the limit of their text
  const std::string most = text.substr(0, text.size() - 1) + R"(,"limit":650})";
  CHECK(service::fuse_lines(most, {}).find("\"status\"") == std::string::npos);
  CHECK(service::fuse_lines(most + "\n" + most, {}).find("\"status\":422") != std::string::npos);
  // in a batch, the answers that fit are kept whole
  const std::string batch = R"({"requests":[)" + text + R"(,{"lists":[{"name":"a","results":["x"]}]}]})";
  const Json answers = fused(batch).at("answers");
  CHECK(answers.at(0).as_object().size() == 2);
  CHECK(answers.at(0).at("status") == Json(422));
  CHECK(ids_of(answers.at(1)) == "x");
}

TEST_CASE("Each request of a batch is paid by its size and method", "[service][fusing][security]") {
  std::vector<double> paid;
  service::FusingPlace place;
  place.admit = [&](double tokens) -> std::optional<service::AccessRefusal> {
    if (paid.size() == 3) return service::AccessRefusal{429, "rate", "slow down", 1};
    paid.push_back(tokens);
    return std::nullopt;
  };
  const std::string small = R"({"lists":[{"name":"a","results":["x"]}]})";
  const auto thousand = [](const std::string& method) {
    return R"({"method":")" + method + R"(","limit":1,"lists":[{"name":"a","results":[)" +
           repeated("\"#\"", 1000) + "]}]}";
  };
  const std::string lines = service::fuse_lines(
      small + "\n" + thousand("rrf") + "\n" + thousand("mc4") + "\n" + small + "\n", place);
  REQUIRE(paid.size() == 3);
  CHECK(paid[0] == Approx(0.1).margin(0.01));
  CHECK(paid[1] > paid[0]);
  CHECK(paid[2] > 10);  // a thousand documents compared with each other
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 4);
  CHECK(lines.ends_with("{\"status\":429,\"detail\":\"slow down\"}\n"));
}

TEST_CASE("Fusing over HTTP is limited in lines, rate and quota", "[service][fusing][security]") {
  const std::string small = R"({"lists":[{"name":"a","results":["x"]}]})";
  TestServer server(
      TestServer::default_answer,
      "limits: {requests_per_second: 0.001, burst: 3}\nkeys:\n  - {name: metered, roles: [search], "
      "quota_per_day: 2, sha256: " +
          sha256_hex("metered") + "}\n");
  const auto lines = [&](std::size_t count, const std::string& headers = "") {
    std::string body;
    for (std::size_t i = 0; i < count; ++i) body += small + "\n";
    return server.post("/v1/fuse", "application/x-ndjson", body, headers);
  };
  const auto count_of = [](const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  const std::string keyed = lines(3, "X-API-Key: metered\r\n");
  CHECK(count_of(keyed, "\"results\"") == 2);
  CHECK(count_of(keyed, "\"status\":429") == 1);
  // three tokens: one for the request covers ten lines, the other two twenty more
  const std::string anonymous = lines(100);
  CHECK(status_in(anonymous) == 200);
  CHECK(count_of(anonymous, "\"results\"") >= 28);
  CHECK(count_of(anonymous, "\"results\"") <= 31);
  CHECK(status_in(lines(1)) == 429);
  CHECK(status_in(lines(service::kMaxFuseRequests + 1, "X-API-Key: metered\r\n")) == 422);
}
