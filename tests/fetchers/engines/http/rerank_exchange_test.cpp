#include "fetchers/engines/http/rerank_exchange.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using metafuse::test::answer_of;
using metafuse::test::Script;
using metafuse::test::scripted_options;

namespace {

std::vector<Hit> three_documents() {
  std::vector<Hit> out;
  for (const std::string name : {"a", "b", "c"}) {
    Hit hit;
    hit.url = "http://" + name + ".example/";
    hit.title = "Title " + name;
    hit.snippet = "text of " + name;
    hit.key = name + ".example/";
    out.push_back(std::move(hit));
  }
  return out;
}

HttpAccess access_of(RerankApi api) {
  HttpAccess out;
  out.rerank = api;
  out.rerank_model = "m";
  return out;
}

/// The hosts in the order of an answer, or what is wrong with it.
std::string order_of(RerankApi api, const std::string& answer) {
  const auto documents = three_documents();
  const auto list = read_rerank_answer(access_of(api), answer, documents);
  if (!list) return list.error().text;
  std::string out;
  for (const Hit& hit : list->hits) out += hit.key.substr(0, 1);
  return out;
}

FetchedList asked(const std::string& more, FetcherOptions options, bool has_documents = true) {
  const Clock& clock = machine_clock();
  auto file = parse_engine_file(
      "engines:\n  - {name: cross, engine: rerank, base_url: \"http://rerank.example\"" + more + "}\n",
      "e.yaml");
  if (!file) FAIL(file.error().text);
  const ExpandedQuery query{"cross", "cross", "red fox"};
  const auto fetcher = make_fetcher(std::move(file->engines), std::move(options));
  if (!fetcher) FAIL(fetcher.error().text);
  FetchOptions wanted{.depth = 50, .deadline = Deadline(clock, std::chrono::seconds(2))};
  if (has_documents) wanted.documents = std::make_shared<const std::vector<Hit>>(three_documents());
  return (*fetcher)->fetch({&query, 1}, wanted, {}).front();
}

}  // namespace

TEST_CASE("A reranker's request has the shape of its API", "[fetchers][rerank]") {
  const auto documents = three_documents();
  const auto body = [&](RerankApi api) {
    return *parse_json(rerank_body(access_of(api), "red fox", documents), "body");
  };
  CHECK(
      body(RerankApi::jina) ==
      *parse_json(R"({"model":"m","query":"red fox","documents":["Title a\ntext of a","Title b\ntext of b",)"
                  R"("Title c\ntext of c"],"top_n":3})",
                  "body"));
  CHECK(body(RerankApi::voyage).at("top_k") == 3);
  CHECK(body(RerankApi::tei).at("texts").as_array().size() == 3);
  CHECK_FALSE(body(RerankApi::tei).as_object().contains("documents"));
  auto long_one = documents;
  long_one[0].snippet = std::string(1 << 20, 'x') + "\xff";
  CHECK(rerank_body(access_of(RerankApi::jina), "q", long_one).size() < 5000);
}

TEST_CASE("A reranker's answer is an order of the documents that it was sent", "[fetchers][rerank]") {
  const std::string scores =
      R"([{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":-3},{"index":1,"relevance_score":0.9}])";
  CHECK(order_of(RerankApi::jina, R"({"results":)" + scores + "}") == "bca");  // equal scores: as sent
  CHECK(order_of(RerankApi::voyage, R"({"data":)" + scores + "}") == "bca");
  CHECK(order_of(RerankApi::tei, R"([{"index":1,"score":1},{"index":0,"score":2},{"index":2,"score":0}])") ==
        "abc");
}

TEST_CASE("An answer that is no order of the documents is named and not used", "[fetchers][rerank]") {
  const auto wrong = [](const std::string& items) {
    return order_of(RerankApi::jina, R"({"results":[)" + items + "]}");
  };
  const std::string two = R"({"index":0,"relevance_score":1},{"index":1,"relevance_score":1},)";
  CHECK(wrong(two + R"({"index":3,"relevance_score":1})") == "the reranker's answer names document 3 of 3");
  CHECK(wrong(two + R"({"index":-1,"relevance_score":1})") ==
        "the reranker's answer has a result without an index");
  CHECK(wrong(two + R"({"index":1,"relevance_score":1})") == "the reranker's answer names document 1 twice");
  CHECK(wrong(two + R"({"index":2,"relevance_score":null})") ==
        "the reranker's answer has no number as the score of document 2");
  CHECK(wrong(two + R"({"index":2,"relevance_score":1e999})").starts_with("the reranker's answer"));
  CHECK(wrong(two + "7") == "the reranker's answer has a result that is no object");
  CHECK(wrong(R"({"index":0,"relevance_score":1})") == "the reranker's answer has 1 scores for 3 documents");
  CHECK(wrong("") == "the reranker's answer has 0 scores for 3 documents");
  CHECK(order_of(RerankApi::jina, R"({"results":[{"index":0,"relevance_score":NaN}]})") ==
        "the reranker's answer is no JSON");
  CHECK(order_of(RerankApi::jina, "<html>") == "the reranker's answer is no JSON");
  CHECK(order_of(RerankApi::jina, "") == "the reranker's answer is no JSON");
  CHECK(order_of(RerankApi::jina, R"({"error":"no"})") == "the reranker's answer has no list of results");
  CHECK(order_of(RerankApi::tei, R"({"results":[]})") == "the reranker's answer has no list of results");
}

TEST_CASE("An engine of the type rerank asks its address and orders the documents", "[fetchers][rerank]") {
  Script script{
      [](const EngineRequest& request) {
        CHECK(request.method == "POST");
        CHECK(request.url == "http://rerank.example/v1/rerank");
        CHECK(parse_json(request.body, "body")->at("model") == "big");
        return answer_of(R"({"results":[{"index":2,"relevance_score":3},{"index":0,"relevance_score":2},)"
                         R"({"index":1,"relevance_score":1}]})");
      },
      {}};
  const FetchedList list = asked(", model: big, api_key: k", scripted_options(script));
  INFO(list.message);
  REQUIRE_FALSE(list.has_failed());
  REQUIRE(list.list.hits.size() == 3);
  CHECK(list.list.hits[0].title == "Title c");
  CHECK(list.list.hits[2].title == "Title b");
}

TEST_CASE("A reranker that fails is a list that failed, and it cannot be searched", "[fetchers][rerank]") {
  Script broken{[](const EngineRequest&) { return answer_of("<html>busy</html>"); }, {}};
  CHECK(asked("", scripted_options(broken)).failure == Failure::bad_answer);
  Script unused{[](const EngineRequest&) { return answer_of("{}"); }, {}};
  CHECK(asked("", scripted_options(unused), false).failure == Failure::not_allowed);
  const auto wrong =
      parse_engine_file("engines:\n  - {name: x, engine: rerank, base_url: \"http://x\", api: bert}\n", "e");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().text.find("known are jina, cohere, voyage, tei, llama.cpp and vllm") !=
        std::string::npos);
}
