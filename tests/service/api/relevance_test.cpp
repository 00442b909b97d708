#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

const std::string kJsonType = "application/json";
const std::string kDomain =
    "version: 1\ndomain: pages\ndepth: 10\nslots: {NAME: {required: true}}\ntemplates:\n"
    "  - {id: plain, engine: one, query: '{NAME}'}\nlists: [bm25]\n";

/// Gives 3 to the first of plain@one, 1 to the second and 0 to the third, or to those of bm25.
std::string model_with(const std::string& relevance) {
  return R"({"format":"metafuse-model","version":1,"learner":"rankboost",
"features":[{"name":"plain@one","kind":"rank","depth":10},{"name":"bm25","kind":"rank","depth":10}],
"unranked":"absent","body":{"weak_rankings":[{"feature":0,"rank":1,"q_default":0,"alpha":2},
{"feature":0,"rank":2,"q_default":0,"alpha":1},{"feature":1,"rank":1,"q_default":0,"alpha":2},
{"feature":1,"rank":2,"q_default":0,"alpha":1}]},)" +
         relevance + R"("training":{}})";
}

/// A server whose results have relevance 0.7, 0.3 and 0.1, or none.
struct RelevanceServer {
  explicit RelevanceServer(bool is_calibrated = true) : server(TestServer::default_answer, "", kDomain) {
    server.folder().write(
        "models/pages.json",
        model_with(is_calibrated ? R"("relevance":{"scores":[0,3],"values":[0.1,0.7]},)" : ""));
    const auto reloaded = server.app().reloader().reload();
    INFO((reloaded ? "" : reloaded.error().text));
    REQUIRE(reloaded.has_value());
  }

  Json post(const std::string& path, const std::string& body, int status = 200) {
    const std::string response = server.post(path, kJsonType, body);
    INFO(path << ' ' << body << '\n' << response);
    REQUIRE(status_in(response) == status);
    return *parse_json(body_in(response), "answer");
  }
  std::string tool(const std::string& arguments) {
    const Json answer = post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)"
                                     R"({"name":"search_pages","arguments":)" +
                                         arguments + "}}");
    return std::string(answer.at("result").at("content").at(0).at("text").as_string());
  }

  TestServer server;
};

std::size_t count(const Json& answer, const char* member = "results") {
  return answer.at(member).as_array().size();
}

}  // namespace

TEST_CASE("Results of a calibrated model have a relevance", "[service][relevance]") {
  RelevanceServer calibrated;
  const Json found = calibrated.post("/v1/search", R"({"query":"ada"})");
  REQUIRE(count(found) == 3);
  CHECK(found.at("results").at(0).at("relevance").to_number<double>() == Approx(0.7));
  CHECK(found.at("results").at(1).at("relevance").to_number<double>() == Approx(0.3));
  CHECK(found.at("results").at(2).at("relevance").to_number<double>() == Approx(0.1));
  CHECK_FALSE(found.as_object().contains("no_good_answer"));
  const Json searxng =
      *parse_json(body_in(calibrated.server.get("/search?q=ada&format=json&min_relevance=0.2")), "answer");
  REQUIRE(count(searxng) == 2);
  CHECK(searxng.at("results").at(1).at("fusion").at("relevance").to_number<double>() == Approx(0.3));
  CHECK(searxng.at("fusion").at("no_good_answer") == false);
  CHECK(calibrated.post("/retrieval", R"({"query":"ada"})").at("records").at(1).at("score") ==
        found.at("results").at(1).at("relevance"));
  CHECK(calibrated.post("/search", R"({"query":"ada"})").at("results").at(2).at("score") ==
        found.at("results").at(2).at("relevance"));
  CHECK(calibrated.tool(R"({"query":"ada"})").find("1. Title of a.example (relevance 0.70)") == 0);
}

TEST_CASE("Results below the least relevance are left out in every dialect with a threshold",
          "[service][relevance]") {
  RelevanceServer calibrated;
  const Json some = calibrated.post("/v1/search", R"({"query":"ada","min_relevance":0.3})");
  CHECK(count(some) == 2);
  CHECK(some.at("total") == 2);
  CHECK(some.at("has_more") == false);
  CHECK(some.at("no_good_answer") == false);
  CHECK(some.at("below_min_relevance") == 1);
  CHECK(count(calibrated.post("/search", R"({"query":"ada","min_relevance":0.3})")) == 2);
  CHECK(count(calibrated.post("/retrieval", R"({"query":"ada","retrieval_setting":{"score_threshold":0.3}})"),
              "records") == 2);
  const Json fused = calibrated.post(
      "/v1/fuse",
      R"({"domain":"pages","min_relevance":0.3,"lists":[{"name":"bm25","results":["x","y","z"]}]})");
  REQUIRE(count(fused) == 2);
  CHECK(fused.at("results").at(1).at("relevance").to_number<double>() == Approx(0.3));
  CHECK(fused.at("total") == 2);
  CHECK(fused.at("below_min_relevance") == 1);
  CHECK(calibrated.tool(R"({"query":"ada","min_relevance":0.3})").find("d.example") == std::string::npos);
  const std::string stream = calibrated.server.get("/v1/search/stream?q=ada&min_relevance=0.3");
  CHECK(stream.find("\"below_min_relevance\":1") != std::string::npos);
  CHECK(stream.find("d.example") == std::string::npos);
}

TEST_CASE("An agent is told that nothing is good enough", "[service][relevance]") {
  RelevanceServer calibrated;
  const Json none = calibrated.post("/v1/search", R"({"query":"ada","min_relevance":0.9})");
  CHECK(count(none) == 0);
  CHECK(none.at("no_good_answer") == true);
  CHECK(none.at("below_min_relevance") == 3);
  CHECK(calibrated.tool(R"({"query":"ada","min_relevance":0.9})") ==
        "No good answer: the best result has a relevance of 0.70, below 0.9.\n");
  CHECK(calibrated.post("/search", R"({"query":"ada","min_relevance":0.9})").at("no_good_answer") == true);
  CHECK(calibrated
            .post("/v1/fuse",
                  R"({"domain":"pages","min_relevance":0.9,"lists":[{"name":"bm25","results":["x"]}]})")
            .at("no_good_answer") == true);
}

TEST_CASE("Without a calibrated model there is no relevance, and asking for one says what to do",
          "[service][relevance]") {
  RelevanceServer plain(false);
  const Json found = plain.post("/v1/search", R"({"query":"ada"})");
  REQUIRE(count(found) == 3);
  CHECK_FALSE(found.at("results").at(0).as_object().contains("relevance"));
  CHECK(plain.tool(R"({"query":"ada"})").find("relevance") == std::string::npos);
  CHECK(count(plain.post("/v1/search", R"({"query":"ada","min_relevance":0})")) == 3);
  const std::string wanted = R"("query":"ada","min_relevance":0.5})";
  const Json refused = plain.post("/v1/search", "{" + wanted, 400);
  const std::string text(refused.at("detail").as_string());
  CHECK(text.find("domain pages have no relevance") != std::string::npos);
  CHECK(text.find("was not calibrated") != std::string::npos);
  CHECK(text.find("--calibrate") != std::string::npos);
  CHECK(plain.post("/search", "{" + wanted, 400).at("detail").at("error").as_string() == text);
  CHECK(plain.tool("{" + wanted) == text);
  CHECK(status_in(plain.server.get("/search?q=ada&format=json&min_relevance=0.5")) == 400);
  CHECK(
      plain.post("/v1/fuse", R"({"domain":"pages","lists":[{"name":"bm25","results":["x"]}],)" + wanted, 400)
          .at("detail")
          .as_string() == text);
  CHECK(std::string(plain.post("/v1/fuse", R"({"lists":[{"name":"bm25","results":["x"]}],)" + wanted, 400)
                        .at("detail")
                        .as_string())
            .find("needs a domain") != std::string::npos);
  for (const std::string wrong : {"-0.1", "1.1", "\"0.5\""})
    plain.post("/v1/search", R"({"query":"ada","min_relevance":)" + wrong + "}", 400);
  // a threshold of Dify is then one of the relative score
  CHECK(count(plain.post("/retrieval", R"({"query":"ada","retrieval_setting":{"score_threshold":0.9}})"),
              "records") == 1);
}

TEST_CASE("Search tools offer a least relevance where results have one", "[service][relevance]") {
  const auto offers = [](RelevanceServer&& one) {
    const Json tools = one.post("/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    return tools.at("result")
        .at("tools")
        .at(0)
        .at("inputSchema")
        .at("properties")
        .as_object()
        .contains("min_relevance");
  };
  CHECK(offers(RelevanceServer(true)));
  CHECK_FALSE(offers(RelevanceServer(false)));
}
