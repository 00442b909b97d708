// What loading the engines of a configuration needs, and what it keeps of an earlier load.

#include "service/config/engines.h"

#include <chrono>

#include <catch2/catch.hpp>

#include "tests/support/http_wire.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

std::optional<std::string> no_secret(std::string_view) {
  return std::nullopt;
}

}  // namespace

TEST_CASE("Engines that are disabled need no secret", "[service][config]") {
  const TemporaryFolder folder;
  const auto loaded = [&](const std::string& keys) {
    service::ServerConfig config;
    const std::string embedding = "embedding: {base_url: 'http://v.example', model: m, api_key: '${KEY}'}, ";
    config.engines = {folder.write(
        "engines.yaml",
        "engines:\n  - {name: a, engine: mariadb, database: d, password: '${KEY}', query_str: 'SELECT :query "
        "AS "
        "url', " +
            keys + "}\n  - {name: b, engine: local_vector, database: one.db, " + embedding + keys +
            "}\n  - {name: c, engine: qdrant, base_url: 'http://q.example', collection: c, " + embedding +
            keys + "}\n")};
    const auto engines = service::load_engines(config, no_secret);
    return engines ? std::string("loaded") : engines.error().text;
  };
  CHECK(loaded("disabled: true") == "loaded");
  CHECK(loaded("disabled: false").find("needs the secret KEY") != std::string::npos);
}

TEST_CASE("An engine of a settings.yml whose secret is not set is left out alone", "[service][config]") {
  const TemporaryFolder folder;
  const std::string embedding = ", embedding: {base_url: 'http://v.example', model: m, api_key: '${KEY}'}}\n";
  service::ServerConfig config;
  config.engines = {folder.write(
      "settings.yml",
      "search: {safe_search: 0}\nengines:\n"
      "  - {name: p, engine: postgresql, database: d, password: '${KEY}', query_str: 'SELECT :query AS "
      "url'}\n"
      "  - {name: q, engine: qdrant, base_url: 'http://q.example', collection: c" +
          embedding + "  - {name: l, engine: local_vector, database: one.db" + embedding +
          "  - {name: j, engine: json_engine, search_url: 'http://j.example/?q={query}', results_query: r, "
          "url_query: u, title_query: t}\n")};
  const auto engines = service::load_engines(config, no_secret);
  INFO((engines ? "" : engines.error().text));
  REQUIRE(engines.has_value());
  const Clock& clock = machine_clock();
  const std::vector<ExpandedQuery> queries = {{"t", "p", "x"}, {"t", "q", "x"}};
  for (const auto& list :
       engines->fetcher->fetch(queries, {.deadline = Deadline(clock, std::chrono::seconds(5))}, {}))
    CHECK(list.message == "the engine is disabled in its definition");
}

TEST_CASE("A pause that an engine asked for outlives a reload", "[service][config][reload]") {
  const WireServer server(serving_http([](const std::string& head) {
    return head.starts_with("GET /busy") ? http_response("429 Too Many Requests", "Retry-After: 100\r\n")
                                         : http_response("200 OK", "Content-Type: application/json\r\n",
                                                         R"({"r":[{"u":"http://a.example/","t":"A"}]})");
  }));
  const TemporaryFolder folder;
  service::ServerConfig config;
  const std::string origin = "http://127.0.0.1:" + std::to_string(server.port());
  std::string blocks = "engines:\n";
  for (const std::string name : {"busy", "free"})
    blocks += "  - {name: " + name + ", engine: json_engine, search_url: '" + origin + "/" + name +
              "?q={query}', results_query: r, url_query: u, title_query: t}\n";
  config.engines = {folder.write("engines.yaml", blocks)};
  const auto earlier = std::make_shared<fetchers::EarlierFetchers>();
  const auto failure_of_busy = [](const service::LoadedEngines& engines) {
    const Clock& clock = machine_clock();
    const std::vector<ExpandedQuery> queries = {{"t", "busy", "x"}, {"t", "free", "x"}};
    return engines.fetcher->fetch(queries, {.deadline = Deadline(clock, std::chrono::seconds(5))}, {})
        .front()
        .failure;
  };
  const auto first = service::load_engines(config, no_secret, earlier);
  REQUIRE(first.has_value());
  CHECK(failure_of_busy(*first) == fetchers::Failure::rate_limited);
  const auto second = service::load_engines(config, no_secret, earlier);
  REQUIRE(second.has_value());
  CHECK(failure_of_busy(*second) == fetchers::Failure::breaker_open);
  CHECK(failure_of_busy(service::load_engines(config, no_secret).value()) == fetchers::Failure::rate_limited);
}
