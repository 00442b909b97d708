// Engines that are searched with a query's vector: what each type sends and reads, and the endpoints that
// compute vectors.

#include "fetchers/calling/embedder.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/index/local_engine.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/chaos_server.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

const std::string kEndpoint =
    "embedding: {api: openai, base_url: 'http://127.0.0.1:9999', model: small, dimensions: 2, api_key: "
    "'${KEY}', "
    "query_prefix: 'query: '}\n";

std::optional<std::string> secret_for_test(std::string_view name) {
  return name == "KEY" ? std::optional<std::string>("s3cret") : std::nullopt;
}

/// Answers in place of the network and keeps the requests.
struct FakeServers {
  std::mutex mutex;
  std::vector<EngineRequest> requests;
  std::map<std::string, std::function<HttpAnswer(const EngineRequest&)>> answer_of;  ///< by a part of its URL
  std::vector<std::function<void()>> held;
  bool holds = false;  ///< answers are held until release()

  void answer(const std::string& url_part, const std::string& body, int status = 200) {
    answer_of[url_part] = [=](const EngineRequest& request) {
      HttpAnswer out;
      out.status = status;
      out.url = request.url;
      out.headers = {{"content-type", "application/json"}};
      out.body = body;
      return out;
    };
  }

  std::size_t asked(const std::string& url_part) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(std::count_if(
        requests.begin(), requests.end(),
        [&](const EngineRequest& request) { return request.url.find(url_part) != std::string::npos; }));
  }
};

class FakeTransport final : public Transport {
 public:
  /// in: inner - asked if no fake server answers
  explicit FakeTransport(FakeServers& servers, std::unique_ptr<Transport> inner = {})
      : servers_(servers), inner_(std::move(inner)) {}
  void send(EngineRequest request, Done done) override {
    HttpAnswer answer;
    answer.failure = Failure::refused;
    answer.message = "no such server";
    {
      const std::lock_guard lock(servers_.mutex);
      servers_.requests.push_back(request);
      bool is_known = false;
      for (const auto& [part, make] : servers_.answer_of)
        if (request.url.find(part) != std::string::npos) {
          answer = make(request);
          is_known = true;
        }
      if (!is_known && inner_) return inner_->send(std::move(request), std::move(done));
      if (servers_.holds) return servers_.held.push_back([done = std::move(done), answer] { done(answer); });
    }
    done(std::move(answer));
  }

 private:
  FakeServers& servers_;
  std::unique_ptr<Transport> inner_;
};

std::shared_ptr<Fetcher> fetcher_with(FakeServers& servers, const std::string& yaml,
                                      const Clock* clock = nullptr) {
  const auto file = parse_engine_file(yaml, "test.yaml");
  if (!file) FAIL(file.error().text);
  FetcherOptions options;
  options.secret_of = secret_for_test;
  options.learned_wait.is_on = false;
  if (clock != nullptr) options.clock = clock;
  options.wrap_transport = [&](std::unique_ptr<Transport>) {
    return std::make_unique<FakeTransport>(servers);
  };
  auto fetcher = make_fetcher(file->engines, std::move(options));
  if (!fetcher) FAIL(fetcher.error().text);
  return *fetcher;
}

std::vector<FetchedList> ask_engines(Fetcher& fetcher, const std::vector<std::string>& engines, int page = 1,
                                     const std::string& text = "open \"door\"") {
  static const SteadyClock clock;
  std::vector<ExpandedQuery> queries;
  for (const std::string& engine : engines) queries.push_back({"t", engine, text});
  return fetcher.fetch(queries,
                       {.depth = 7, .deadline = Deadline(clock, std::chrono::seconds(5)), .page = page}, {});
}

const std::string kVectorAnswer =
    R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-0.5]}]})";

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

TEST_CASE("A query is embedded once for all engines and its vector is cached", "[fetchers][embedding]") {
  FakeServers servers;
  servers.answer("/v1/embeddings", kVectorAnswer);
  servers.answer("/points/query", R"({"result":{"points":[]}})");
  const auto fetcher = fetcher_with(
      servers, kEndpoint +
                   "engines:\n  - {name: a, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n"
                   "  - {name: b, engine: qdrant, base_url: 'http://127.0.0.1:2', collection: b}\n");
  ask_engines(*fetcher, {"a", "b", "a"});
  ask_engines(*fetcher, {"b"});
  CHECK(servers.asked("/v1/embeddings") == 1);
  CHECK(servers.asked("/points/query") == 4);
  const EngineRequest& request = servers.requests.front();
  CHECK(request.body == R"({"model":"small","input":["query: open \"door\""],"encoding_format":"float"})");
  CHECK(std::find(request.headers.begin(), request.headers.end(),
                  std::pair<std::string, std::string>("Authorization", "Bearer s3cret")) !=
        request.headers.end());
  CHECK(request.own_origin == "127.0.0.1:9999");  // for the address guard: this private address and no other
  ask_engines(*fetcher, {"a"}, 1, "another");
  CHECK(servers.asked("/v1/embeddings") == 2);
}

TEST_CASE("Embeddings that differ in model, size or endpoint are asked for separately",
          "[fetchers][embedding]") {
  FakeServers servers;
  servers.answer("/embeddings", kVectorAnswer);
  servers.answer("/points/query", R"({"result":{"points":[]}})");
  std::string yaml = "engines:\n";
  std::vector<std::string> names;
  for (const char* embedding :
       {"base_url: 'http://127.0.0.1:9999', model: small", "base_url: 'http://127.0.0.1:9999', model: large",
        "base_url: 'http://127.0.0.1:9998', model: small",
        "base_url: 'http://127.0.0.1:9999', model: small, dimensions: 2"}) {
    names.push_back("e" + std::to_string(names.size()));
    yaml += "  - {name: " + names.back() +
            ", engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a, " +
            "embedding: {api: openai, " + embedding + "}}\n";
  }
  const auto fetcher = fetcher_with(servers, yaml);
  ask_engines(*fetcher, names);
  const std::size_t asked = servers.asked("/embeddings");
  CHECK(asked >= 3);
  ask_engines(*fetcher, names);
  CHECK(servers.asked("/embeddings") == asked);  // all are cached
  std::set<std::string> models;
  for (const EngineRequest& request : servers.requests)
    if (request.url.find("/embeddings") != std::string::npos) models.insert(request.url + " " + request.body);
  CHECK(models.size() == asked);
}

TEST_CASE("The vectors of the latest 4096 queries are kept", "[fetchers][embedding]") {
  FakeServers servers;
  servers.answer("/v1/embeddings", kVectorAnswer);
  servers.answer("/points/query", R"({"result":{"points":[]}})");
  const auto fetcher = fetcher_with(
      servers,
      kEndpoint + "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n");
  const auto is_asked_again = [&](int query) {
    const std::size_t before = servers.asked("/v1/embeddings");
    ask_engines(*fetcher, {"v"}, 1, "query " + std::to_string(query));
    return servers.asked("/v1/embeddings") > before;
  };
  for (int i = 0; i < 4096; ++i) ask_engines(*fetcher, {"v"}, 1, "query " + std::to_string(i));
  CHECK_FALSE(is_asked_again(0));  // now the one used last
  CHECK(is_asked_again(4096));
  CHECK_FALSE(is_asked_again(0));
  CHECK(is_asked_again(1));
}

TEST_CASE("Only failures of the endpoint itself stop it from being asked", "[fetchers][embedding]") {
  for (const int status : {499, 500, 501}) {
    INFO(status);
    FakeServers servers;
    servers.answer("/v1/embeddings", R"({"error":"no"})", status);
    const auto fetcher = fetcher_with(
        servers,
        kEndpoint +
            "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n");
    for (int i = 0; i < 8; ++i) ask_engines(*fetcher, {"v"}, 1, "query " + std::to_string(i));
    CHECK(servers.asked("/v1/embeddings") == (status >= 500 ? 5 : 8));
  }
}

TEST_CASE("A probe of an embedding endpoint ends whatever it is answered", "[fetchers][embedding][breaker]") {
  using Row = std::tuple<int, std::string, int>;  // status, body, how many of three further queries are sent
  for (const auto& [status, body, sent] :
       {Row{200, kVectorAnswer, 3}, Row{429, "slowly", 3}, Row{200, "{}", 3}, Row{503, "busy", 0}}) {
    INFO(status << ' ' << body);
    FakeServers servers;
    ManualClock clock;
    const auto fetcher = fetcher_with(
        servers,
        kEndpoint +
            "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n",
        &clock);
    int number = 0;
    const auto ask = [&] { ask_engines(*fetcher, {"v"}, 1, "query " + std::to_string(++number)); };
    servers.answer("/v1/embeddings", "down", 500);
    for (int i = 0; i < 6; ++i) ask();
    CHECK(servers.asked("/v1/embeddings") == 5);
    servers.answer("/v1/embeddings", body, status);
    clock.advance(std::chrono::seconds(2));
    ask();
    CHECK(servers.asked("/v1/embeddings") == 6);
    for (int i = 0; i < 3; ++i) ask();
    CHECK(servers.asked("/v1/embeddings") == 6 + static_cast<std::size_t>(sent));
    clock.advance(std::chrono::seconds(4));  // a failed probe doubles the pause
    ask();
    CHECK(servers.asked("/v1/embeddings") == 7 + static_cast<std::size_t>(sent));
  }
}

TEST_CASE("A failing endpoint fails only the lists that need it and is then not asked for a while",
          "[fetchers][embedding]") {
  FakeServers servers;
  servers.answer("/v1/embeddings", R"({"error":"overloaded"})", 503);
  servers.answer("/words", R"({"results":[{"url":"http://w.example/","title":"w"}]})");
  const auto fetcher = fetcher_with(
      servers, kEndpoint +
                   "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n"
                   "  - {name: w, engine: json_engine, search_url: 'http://127.0.0.1:2/words?q={query}', "
                   "results_query: results, "
                   "url_query: url, title_query: title}\n");
  for (int i = 0; i < 8; ++i) {
    const auto lists = ask_engines(*fetcher, {"v", "w"}, 1, "query " + std::to_string(i));
    CHECK(lists[0].failure == (i < 5 ? Failure::http_status : Failure::breaker_open));
    CHECK(lists[0].message.find("embedding") != std::string::npos);
    CHECK(lists[1].list.hits.size() == 1);
  }
  // After the pause one probe is sent. The vector engine itself was never asked and counted no failure.
  CHECK(servers.asked("/v1/embeddings") == 5);
  CHECK(servers.asked("/points/query") == 0);
}

TEST_CASE("Answers of embedding endpoints are read in three forms and others are refused",
          "[fetchers][embedding]") {
  Embedding embedding;
  const auto read = [&](Embedding::Api api, const std::string& body, std::size_t texts) {
    embedding.api = api;
    return read_embedding_answer(embedding, body, texts);
  };
  using Vectors = std::vector<std::vector<float>>;
  using Api = Embedding::Api;
  CHECK(read(Api::openai, R"({"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}]})", 2)
            .value() == Vectors{{1, 2}, {3, 4}});
  CHECK(read(Api::ollama, R"({"model":"m","embeddings":[[1,2],[3,4]]})", 2).value() ==
        Vectors{{1, 2}, {3, 4}});
  CHECK(read(Api::tei, "[[1,2],[3,4]]", 2).value() == Vectors{{1, 2}, {3, 4}});
  for (const char* bad :
       {"", "{}", "[", "[[]]", "[[1,\"x\"]]", "[[1e300]]", "[null]", "[[1],[2]]", "[[[1]]]", "7"}) {
    INFO(bad);
    CHECK(read(Api::tei, bad, 1).error().code == Code::bad_data);
  }
  CHECK(read(Api::tei, "[[1,2],[3]]", 2).error().code == Code::bad_data);
  CHECK(read(Api::openai, R"({"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]})", 2)
            .error()
            .code == Code::bad_data);
  embedding.dimensions = 3;
  CHECK(read(Api::tei, "[[1,2]]", 1).error().text.find("dimensions") != std::string::npos);
  embedding.model = "m";
  embedding.requests_dimensions = true;
  embedding.api = Api::ollama;
  const std::vector<std::string> texts = {"a \"b\""};
  CHECK(embedding_body(embedding, texts) ==
        R"({"model":"m","input":["a \"b\""],"truncate":true,"dimensions":3})");
  embedding.requests_dimensions = false;
  embedding.api = Api::tei;
  CHECK(embedding_body(embedding, texts) == R"({"inputs":["a \"b\""],"normalize":true,"truncate":true})");
}

TEST_CASE("Mistakes in definitions of embeddings are reported", "[fetchers][embedding]") {
  const auto mistake = [](const std::string& yaml) {
    const auto file = parse_engine_file(yaml, "e.yaml");
    return file ? std::string("none") : file.error().text;
  };
  const std::string qdrant = "engines:\n  - {name: q, engine: qdrant, collection: c";
  CHECK(mistake(qdrant + "}\n").find("needs the query's vector") != std::string::npos);
  CHECK(mistake(qdrant + ", embedding: {api: openia, base_url: 'http://h/', model: m}}\n")
            .find("did you mean openai") != std::string::npos);
  CHECK(mistake(qdrant + ", embedding: {base_url: 'http://h/'}}\n").find("model") != std::string::npos);
  CHECK(mistake(qdrant + ", embedding: {url: 'http://h/e', base_url: 'http://h/', model: m}}\n")
            .find("keep one") != std::string::npos);
  CHECK(mistake(qdrant + ", embedding: {base_url: 'http://h/', model: m, request_dimensions: true}}\n")
            .find("request_dimensions needs") != std::string::npos);
  CHECK(mistake(qdrant + ", embedding: {base_url: 'http://h/', model: m, colour: red}}\n").find("colour") !=
        std::string::npos);
  CHECK(mistake("engines:\n  - {name: q, engine: qdrant, collection: 'a b', embedding: {base_url: "
                "'http://h/', model: "
                "m}}\n")
            .find("is not a valid name") != std::string::npos);
  CHECK(mistake("engines:\n  - {name: s, engine: solr, collection: c, embedding: {base_url: 'http://h/', "
                "model: m}}\n")
            .find("does not use {vector}") != std::string::npos);
  CHECK(mistake("engines:\n  - {name: t, engine: typesense, collection: c}\n").find("query_by") !=
        std::string::npos);
  CHECK(mistake(kEndpoint + qdrant + "}\n") == "none");
}

TEST_CASE("The embedded vector engine embeds queries with the endpoint of its index",
          "[fetchers][embedding]") {
  const TemporaryFolder folder;
  IndexOptions options;
  options.vectors.source = VectorOptions::Source::endpoint;
  options.vectors.model = "small";
  options.vectors.embed = [](std::span<const std::string> texts) -> Result<std::vector<std::vector<float>>> {
    std::vector<std::vector<float>> out;
    for (const std::string& text : texts)
      out.push_back(text.starts_with("near") ? std::vector<float>{1, -2} : std::vector<float>{-1, 2});
    return out;
  };
  REQUIRE(build_local_index(folder.path("v.db"),
                            {folder.write("d.jsonl",
                                          "{\"url\":\"http://far/\",\"title\":\"far\"}\n"
                                          "{\"url\":\"http://near/\",\"title\":\"near\"}\n")},
                            options)
              .has_value());
  FakeServers servers;
  servers.answer("/v1/embeddings", kVectorAnswer);
  const std::string engine =
      "engines:\n  - {name: v, engine: local_vector, database: '" + folder.path("v.db") + "'}\n";
  const auto list = ask_engines(*fetcher_with(servers, kEndpoint + engine), {"v"}).front();
  INFO(list.message);
  REQUIRE(list.list.hits.size() == 1);
  CHECK(list.list.hits[0].url == "http://near/");
  const auto other =
      kEndpoint.substr(0, kEndpoint.find("small")) + "large" + kEndpoint.substr(kEndpoint.find("small") + 5);
  CHECK(ask_engines(*fetcher_with(servers, other + engine), {"v"}).front().message.find("same model") !=
        std::string::npos);
  servers.answer("/v1/embeddings", "{}");
  CHECK(ask_engines(*fetcher_with(servers, kEndpoint + engine), {"v"}).front().failure ==
        Failure::bad_answer);
}

TEST_CASE("Giving up the wait for a vector leaks nothing", "[fetchers][embedding]") {
  FakeServers servers;
  servers.answer("/v1/embeddings", kVectorAnswer);
  servers.holds = true;
  auto fetcher =
      fetcher_with(servers, kEndpoint +
                                "engines:\n  - {name: a, engine: qdrant, base_url: 'http://127.0.0.1:1', "
                                "collection: a}\n");
  const SteadyClock clock;
  const ExpandedQuery query{"t", "a", "x"};
  const auto list =
      fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, std::chrono::milliseconds(20))}, {}).front();
  CHECK(list.failure == Failure::timeout);
  std::weak_ptr<Fetcher> gone = fetcher;
  fetcher.reset();
  CHECK(gone.expired());
}

TEST_CASE("No fault of an embedding endpoint breaks a search", "[fetchers][embedding][chaos]") {
  const ChaosServer server;
  for (const Fault& fault : faults()) {
    INFO(fault.name);
    const std::string url = server.url(fault.name);
    const auto file = parse_engine_file("embedding: {api: tei, url: '" + url.substr(0, url.find('?')) +
                                            "', timeout: 0.3}\nengines:\n  - {name: q, engine: qdrant, "
                                            "base_url: 'http://" +
                                            server.origin() + "', collection: c}\n",
                                        "chaos.yaml");
    if (!file) FAIL(file.error().text);
    const auto fetcher = make_fetcher(file->engines, {});
    REQUIRE(fetcher.has_value());
    const auto list = ask_engines(**fetcher, {"q"}).front();
    CHECK(list.has_failed());
    CHECK_FALSE(list.message.empty());
  }
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
