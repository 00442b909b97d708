// Engines that are searched with a query's vector: what each type sends and reads.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "tests/fetchers/calling/fake_servers.h"
#include "tests/support/chaos_server.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

struct VectorServerCase {
  std::string keys;    ///< keys of the definition
  std::string url;     ///< expected URL of the request
  std::string body;    ///< expected body of the request
  std::string answer;  ///< an answer in the form of the API's documentation
};

const std::string kDocument = R"("url":"http://a.example/","title":"A door","content":"It opens.")";

const std::vector<VectorServerCase> kVectorServers = {
    {"engine: qdrant, base_url: 'http://127.0.0.1:6333/', collection: pages, vector_field: dense, filter: "
     "{must: [{key: "
     "lang, match: {value: en}}]}",
     "http://127.0.0.1:6333/collections/pages/points/query",
     R"({"query":[0.25,-0.5],"limit":7,"offset":7,"with_payload":true,"using":"dense","filter":{"must":[{"key":"lang","match":{"value":"en"}}]}})",
     R"({"result":{"points":[{"id":7,"version":1,"score":0.9,"payload":{)" + kDocument +
         R"(}}]},"status":"ok","time":0.001})"},
    {"engine: weaviate, base_url: 'http://127.0.0.1:8080', collection: Page",
     "http://127.0.0.1:8080/v1/graphql",
     R"({"query":"{Get{Page(nearVector:{vector:[0.25,-0.5]},limit:7,offset:7){ url title content _additional{id score} }}}"})",
     R"({"data":{"Get":{"Page":[{)" + kDocument + R"(,"_additional":{"id":"x","score":"0"}}]}}})"},
    {"engine: weaviate, base_url: 'http://127.0.0.1:8080', collection: Page, alpha: 0.5, fields: [url, "
     "title, text]",
     "http://127.0.0.1:8080/v1/graphql",
     R"({"query":"{Get{Page(hybrid:{query:\"open \\\"door\\\"\",vector:[0.25,-0.5],alpha:0.5},limit:7,offset:7){ url title text _additional{id score} }}}"})",
     R"({"data":{"Get":{"Page":[{"url":"http://a.example/","title":"A door","text":"It opens."}]}}})"},
    {"engine: milvus, base_url: 'http://127.0.0.1:19530', collection: pages, database: books, filter: 'year "
     "> 2000'",
     "http://127.0.0.1:19530/v2/vectordb/entities/search",
     R"({"collectionName":"pages","data":[[0.25,-0.5]],"annsField":"vector","limit":7,"offset":7,"outputFields":["url","title","content"],"dbName":"books","filter":"year > 2000"})",
     R"({"code":0,"cost":0,"data":[{"distance":0.9,"id":1,)" + kDocument + "}]}"},
    {"engine: vespa, base_url: 'http://127.0.0.1:8081', schema: page, ranking: closeness, target_hits: 50",
     "http://127.0.0.1:8081/search/",
     R"-({"yql":"select * from page where ({targetHits:50}nearestNeighbor(embedding,q))","input.query(q)":[0.25,-0.5],"hits":7,"offset":7,"ranking":"closeness"})-",
     R"({"root":{"id":"toplevel","relevance":1.0,"fields":{"totalCount":1},"children":[{"id":"index:x/0/1","relevance":0.9,"fields":{)" +
         kDocument + "}}]}}"},
    {"engine: vespa, base_url: 'http://127.0.0.1:8081', schema: page, hybrid: true",
     "http://127.0.0.1:8081/search/",
     R"-({"yql":"select * from page where userQuery() or ({targetHits:100}nearestNeighbor(embedding,q))","query":"open \"door\"","input.query(q)":[0.25,-0.5],"hits":7,"offset":7})-",
     R"({"root":{"children":[{"fields":{)" + kDocument + "}}]}}"},
    {"engine: typesense, base_url: 'http://127.0.0.1:8108', collection: pages, vector_field: embedding",
     "http://127.0.0.1:8108/multi_search",
     R"-({"searches":[{"collection":"pages","q":"*","page":2,"per_page":7,"vector_query":"embedding:([0.25,-0.5],k:7)"}]})-",
     R"({"results":[{"found":1,"hits":[{"document":{"id":"1",)" + kDocument +
         R"(},"vector_distance":0.1}],"page":1}]})"},
    {"engine: elasticsearch, base_url: 'http://127.0.0.1:9200', index: pages, query_type: knn, vector_field: "
     "dense, k: 20, "
     "num_candidates: 60",
     "http://127.0.0.1:9200/pages/_search",
     R"({"from":7,"size":7,"knn":{"field":"dense","query_vector":[0.25,-0.5],"k":20,"num_candidates":60}})",
     R"({"took":1,"hits":{"total":{"value":1},"hits":[{"_id":"1","_score":0.9,"_source":{)" + kDocument +
         "}}]}}"},
    {"engine: opensearch, base_url: 'http://127.0.0.1:9201', index: pages, query_type: knn, vector_field: "
     "dense",
     "http://127.0.0.1:9201/pages/_search",
     R"({"from":7,"size":7,"query":{"knn":{"dense":{"vector":[0.25,-0.5],"k":100}}}})",
     R"({"hits":{"hits":[{"_id":"1","_score":0.9,"_source":{)" + kDocument + "}}]}}"},
};
}  // namespace

TEST_CASE("Vector servers are searched with the query's vector and their answers are read",
          "[fetchers][vector_servers]") {
  for (const VectorServerCase& one : kVectorServers) {
    INFO(one.keys);
    FakeServers servers;
    servers.answer("/v1/embeddings", kVectorAnswer);
    servers.answer(one.url, one.answer);
    const auto fetcher = fetcher_with(servers, kEndpoint + "engines:\n  - {name: v, " + one.keys + "}\n");
    const auto list = ask_engines(*fetcher, {"v"}, 2).front();
    INFO(list.message);
    REQUIRE(list.failure == Failure::none);
    REQUIRE(servers.requests.size() == 2);
    CHECK(servers.requests[1].method == "POST");
    CHECK(servers.requests[1].url == one.url);
    CHECK(parse_json(servers.requests[1].body, "sent").value() == parse_json(one.body, "expected").value());
    REQUIRE(list.list.hits.size() == 1);
    CHECK(list.list.hits[0].url == "http://a.example/");
    CHECK(list.list.hits[0].title == "A door");
    CHECK(list.list.hits[0].snippet == "It opens.");
  }
}

TEST_CASE("Pinecone and keyword services are asked as documented", "[fetchers][vector_servers]") {
  FakeServers servers;
  servers.answer("/v1/embeddings", kVectorAnswer);
  servers.answer(":1/query", R"({"matches":[{"id":"1","score":0.9,"metadata":{)" + kDocument +
                                 "}}],\"namespace\":\"n\"}");
  servers.answer("/1/indexes/", R"({"hits":[{"objectID":"1",)" + kDocument + R"(}],"nbHits":1,"page":0})");
  servers.answer("/multi_search", R"({"results":[{"hits":[{"document":{)" + kDocument + "}}]}]}");
  const auto fetcher = fetcher_with(
      servers,
      kEndpoint +
          "engines:\n  - {name: p, engine: pinecone, base_url: 'http://127.0.0.1:1', namespace: n, api_key: "
          "'${KEY}'}\n"
          "  - {name: a, engine: algolia, application_id: APP, index: my pages, api_key: '${KEY}'}\n"
          "  - {name: t, engine: typesense, collection: pages, query_by: 'title,content', filter: "
          "'lang:=en'}\n");
  const auto lists = ask_engines(*fetcher, {"p", "a", "t"});
  for (const auto& list : lists) CHECK(list.list.hits.size() == 1);
  CHECK(servers.asked("/v1/embeddings") == 1);
  std::map<std::string, EngineRequest> by_url;
  for (const EngineRequest& request : servers.requests) by_url[request.url] = request;
  const auto header = [&](const std::string& url, const std::string& name) {
    for (const auto& [key, value] : by_url.at(url).headers)
      if (key == name) return value;
    return std::string();
  };
  const std::string pinecone = "http://127.0.0.1:1/query";
  CHECK(by_url.at(pinecone).body ==
        R"({"vector":[0.25,-0.5],"topK":7,"includeMetadata":true,"namespace":"n"})");
  CHECK(header(pinecone, "Api-Key") == "s3cret");
  const std::string algolia = "https://APP-dsn.algolia.net/1/indexes/my%20pages/query";
  REQUIRE(by_url.contains(algolia));
  CHECK(by_url.at(algolia).body == R"({"query":"open \"door\"","page":0,"hitsPerPage":7})");
  CHECK(header(algolia, "X-Algolia-Application-Id") == "APP");
  const std::string typesense = "http://localhost:8108/multi_search";
  CHECK(
      by_url.at(typesense).body ==
      R"({"searches":[{"collection":"pages","q":"open \"door\"","page":1,"per_page":7,"query_by":"title,content","filter_by":"lang:=en"}]})");
  CHECK(ask_engines(*fetcher, {"p"}, 2).front().list.hits.empty());  // Pinecone has one page
}
TEST_CASE("Every fault of a vector server ends in time with a named reason",
          "[fetchers][vector_servers][chaos]") {
  const ChaosServer server;
  FakeServers servers;
  servers.answer("/v1/embeddings", kVectorAnswer);
  for (const Fault& fault : faults()) {
    INFO(fault.name);
    std::string yaml = kEndpoint + "engines:\n";
    std::vector<std::string> names;
    for (const char* keys :
         {"qdrant, collection: c", "weaviate, collection: C", "milvus, collection: c",
          "pinecone, namespace: n", "vespa, schema: s", "typesense, collection: c, vector_field: v",
          "algolia, application_id: A, index: i", "opensearch, index: i, query_type: knn, vector_field: v"}) {
      names.push_back("e" + std::to_string(names.size()));
      yaml += "  - {name: " + names.back() + ", timeout: 0.3, base_url: '" + server.url(fault.name) +
              "', engine: " + keys + "}\n";
    }
    const auto file = parse_engine_file(yaml, "chaos.yaml");
    if (!file) FAIL(file.error().text);
    FetcherOptions options;
    options.secret_of = secret_for_test;
    options.wrap_transport = [&](std::unique_ptr<Transport> inner) {
      return std::make_unique<FakeTransport>(servers, std::move(inner));
    };
    const auto fetcher = make_fetcher(file->engines, std::move(options));
    REQUIRE(fetcher.has_value());
    const auto begin = std::chrono::steady_clock::now();
    for (const FetchedList& list : ask_engines(**fetcher, names)) {
      // For Vespa an answer without hits means no results; all others must send a list.
      CHECK(list.list.hits.empty());
      CHECK((list.has_failed() || list.query.engine == "e4"));
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  }
}
