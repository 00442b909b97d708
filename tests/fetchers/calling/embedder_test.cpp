// Endpoints that compute vectors: what they are sent, what they answer, and when they are left alone.

#include "fetchers/calling/embedder.h"

#include <future>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/engines/index/local_engine.h"
#include "tests/fetchers/calling/fake_servers.h"
#include "tests/support/chaos_server.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

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

TEST_CASE("A fetcher takes over the vectors and the pause of the same endpoint",
          "[fetchers][embedding][breaker]") {
  FakeServers servers;
  servers.answer("/v1/embeddings", kVectorAnswer);
  servers.answer("/points/query", R"({"result":{"points":[]}})");
  ManualClock clock;
  const auto earlier = std::make_shared<EarlierFetchers>();
  const auto made = [&](const std::string& endpoint) {
    return fetcher_with(
        servers,
        endpoint + "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n",
        &clock, earlier);
  };
  std::string other = kEndpoint;
  other.replace(other.find("small"), 5, "large");
  const auto first = made(kEndpoint);
  ask_engines(*first, {"v"}, 1, "known");
  REQUIRE(servers.asked("/v1/embeddings") == 1);
  const auto changed = made(other);
  ask_engines(*changed, {"v"}, 1, "known");
  CHECK(servers.asked("/v1/embeddings") == 2);  // another model has other vectors
  const auto second = made(other);
  ask_engines(*second, {"v"}, 1, "known");
  CHECK(servers.asked("/v1/embeddings") == 2);
  servers.answer("/v1/embeddings", "down", 500);
  for (int i = 0; i < 6; ++i) ask_engines(*second, {"v"}, 1, "query " + std::to_string(i));
  CHECK(servers.asked("/v1/embeddings") == 7);
  const auto third = made(other);
  ask_engines(*third, {"v"}, 1, "another");
  CHECK(servers.asked("/v1/embeddings") == 7);  // still left alone
  CHECK_FALSE(ask_engines(*third, {"v"}, 1, "known").front().has_failed());
  const auto fourth = made(kEndpoint);
  ask_engines(*fourth, {"v"}, 1, "another");
  CHECK(servers.asked("/v1/embeddings") == 8);
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
       {Row{200, kVectorAnswer, 3}, Row{429, "slowly", 0}, Row{200, "{}", 3}, Row{503, "busy", 0}}) {
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

TEST_CASE("A probe of an embedding endpoint that was kept back tells nothing",
          "[fetchers][embedding][breaker]") {
  FakeServers servers;
  ManualClock clock;
  const auto fetcher = fetcher_with(
      servers,
      kEndpoint + "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n",
      &clock);
  int number = 0;
  const auto ask = [&] { ask_engines(*fetcher, {"v"}, 1, "query " + std::to_string(++number)); };
  servers.answer("/v1/embeddings", "down", 500);
  for (int i = 0; i < 6; ++i) ask();
  CHECK(servers.asked("/v1/embeddings") == 5);
  clock.advance(std::chrono::seconds(2));
  servers.answer_of["/v1/embeddings"] = [](const EngineRequest&) {
    HttpAnswer answer;
    answer.failure = Failure::not_allowed;
    return answer;
  };
  ask();
  servers.answer("/v1/embeddings", "down", 500);
  for (int i = 0; i < 6; ++i) ask();  // a probe, which fails
  CHECK(servers.asked("/v1/embeddings") == 7);
}

TEST_CASE("An embedding endpoint waits as long as it asks for", "[fetchers][embedding][breaker]") {
  FakeServers servers;
  ManualClock clock;
  const auto fetcher = fetcher_with(
      servers,
      kEndpoint + "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n",
      &clock);
  servers.answer_of["/v1/embeddings"] = [](const EngineRequest&) {
    return status_answer(429, {{"retry-after", "60"}});
  };
  int number = 0;
  const auto ask = [&] { ask_engines(*fetcher, {"v"}, 1, "query " + std::to_string(++number)); };
  ask();
  clock.advance(std::chrono::seconds(59));
  ask();
  CHECK(servers.asked("/v1/embeddings") == 1);
  clock.advance(std::chrono::seconds(2));
  ask();
  CHECK(servers.asked("/v1/embeddings") == 2);
}

TEST_CASE("An embedding endpoint is left alone from its last answer on", "[fetchers][embedding][breaker]") {
  FakeServers servers;
  ManualClock clock;
  const auto fetcher = fetcher_with(
      servers,
      kEndpoint + "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n",
      &clock);
  servers.answer_of["/v1/embeddings"] = [&](const EngineRequest&) {
    clock.advance(std::chrono::seconds(3));
    HttpAnswer answer;
    answer.status = 500;
    answer.elapsed = std::chrono::seconds(3);
    return answer;
  };
  int number = 0;
  const auto ask = [&] { ask_engines(*fetcher, {"v"}, 1, "query " + std::to_string(++number)); };
  for (int i = 0; i < 6; ++i) ask();
  CHECK(servers.asked("/v1/embeddings") == 5);
  clock.advance(std::chrono::seconds(2));
  ask();
  CHECK(servers.asked("/v1/embeddings") == 6);
}

TEST_CASE("The host of an embedding endpoint behind a proxy is looked up by the proxy alone",
          "[fetchers][embedding][security][proxy]") {
  for (const std::string proxy : {"", "proxy: 'http://127.0.0.1:1', "}) {
    const auto file = parse_engine_file(
        "embedding: {" + proxy + "base_url: 'http://v.example', model: m}\n" +
            "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n",
        "e.yaml");
    REQUIRE(file.has_value());
    std::promise<std::string> asked;  // look-ups run on threads of their own
    FetcherOptions options;
    options.reach_of_name = [&](const std::string& host) {
      asked.set_value(host);
      return Reach::everyone;
    };
    REQUIRE(make_fetcher(file->engines, options).has_value());
    auto host = asked.get_future();
    if (proxy.empty())
      CHECK(host.get() == "v.example");
    else
      CHECK(host.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  }
}

TEST_CASE("An endpoint that repeats its key does not show it to anybody", "[fetchers][embedding][security]") {
  for (const int status : {401, 200}) {
    FakeServers servers;
    servers.answer("/v1/embeddings", R"({"error":"the key s3cret is not valid"})", status);
    const auto fetcher = fetcher_with(
        servers,
        kEndpoint +
            "engines:\n  - {name: v, engine: qdrant, base_url: 'http://127.0.0.1:1', collection: a}\n");
    const FetchedList list = ask_engines(*fetcher, {"v"}).front();
    CHECK(list.has_failed());
    CHECK(list.message.find("s3cret") == std::string::npos);
    CHECK((list.message.find("the key REDACTED is not valid") != std::string::npos) == (status == 401));
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
  const Clock& clock = machine_clock();
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
