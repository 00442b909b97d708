// Every engine type with failing servers: HTTP engines with the chaos server's faults, databases with a wire
// that drops, delays, changes and inserts bytes between the client and a real server.

#include <algorithm>
#include <chrono>

#include <catch2/catch.hpp>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/fetchers/calling/holdings.h"
#include "tests/support/chaos_server.h"
#include "tests/support/mariadb_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/skip.h"
#include "tests/support/wire_server.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Engine types that are HTTP presets, with the keys that each needs besides its address.
const std::vector<std::pair<std::string, std::string>> kServerTypes = {
    {"elasticsearch", "index: i"},
    {"opensearch", "index: i, query_type: knn, vector_field: v"},
    {"solr", "collection: c"},
    {"meilisearch", "index: i"},
    {"typesense", "collection: c, query_by: title, vector_field: v"},
    {"algolia", "application_id: A, index: i"},
    {"qdrant", "collection: c"},
    {"weaviate", "collection: C"},
    {"milvus", "collection: c"},
    {"pinecone", ""},
    {"vespa", "schema: s"},
    {"searx_engine", ""},
    {"metafuse", ""},
    {"groonga", "table: t"},
};

void check_server_type(const ChaosServer& server, const std::string& type, const std::string& keys) {
  const std::string vectors = "embedding: {base_url: 'http://" + server.origin() + "/ok-vector', model: m}";
  for (const Fault& fault : faults()) {
    INFO(type << ", " << fault.name);
    std::string address = server.url(fault.name);
    address.erase(address.find('?'));
    const bool is_trusted = fault.name.starts_with("tls-") && fault.name != "tls-self-signed";
    const bool wants_vector =
        keys.find("vector_field") != std::string::npos ||
        std::string_view("qdrant weaviate milvus pinecone vespa").find(type) != std::string_view::npos;
    const auto fetcher =
        fetcher_of("  - {name: e, engine: " + type + ", base_url: '" + address + "', timeout: 0.4, " +
                   (keys.empty() ? "" : keys + ", ") + (is_trusted ? server.trust() + ", " : "") +
                   (wants_vector ? vectors + ", " : "") + "description: d}\n");
    const auto begin = std::chrono::steady_clock::now();
    const FetchedList list = fetch_one(*fetcher, "e");
    CHECK(std::chrono::steady_clock::now() - begin < seconds(8));
    INFO(name_of(list.failure) << ": " << list.message);
    // The chaos server's correct answer is not in this type's format: it is a bad answer, or has no results.
    const auto& outcomes = fault.outcomes;
    const bool is_named = std::find(outcomes.begin(), outcomes.end(), list.failure) != outcomes.end() ||
                          list.failure == Failure::bad_answer || list.failure == Failure::http_status ||
                          (!list.has_failed() && list.list.hits.empty());
    CHECK(is_named);
    CHECK(list.has_failed() == !list.message.empty());
    if (list.has_failed()) CHECK(list.list.hits.empty());
  }
}

/// Puts each fault into the wire before a real server. The search must end in time with a list or a named
/// reason and leak nothing, and the server must still answer afterwards.
void check_database(const std::function<int()>& upstream, const std::function<std::string(int port)>& block) {
  const Holdings before;
  for (const WireFault& fault : wire_faults()) {
    INFO(fault.name);
    const FaultyWire wire(fault, upstream);
    const auto fetcher = fetcher_of(block(wire.port()));
    const auto begin = std::chrono::steady_clock::now();
    const FetchedList list = fetch_one(*fetcher, "e", milliseconds(1500));
    CHECK(std::chrono::steady_clock::now() - begin < seconds(8));
    INFO(name_of(list.failure) << ": " << list.message);
    CHECK(list.has_failed() == !list.message.empty());
    if (list.has_failed()) CHECK(list.list.hits.empty());
    for (const Hit& hit : list.list.hits) CHECK(hit.url.starts_with("http"));
  }
  const Holdings after;
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.threads == before.threads);
  const FaultyWire sound({"sound", WireFault::Kind::cut, std::size_t{1} << 40}, upstream);
  const auto fetcher = fetcher_of(block(sound.port()));
  const FetchedList list = fetch_one(*fetcher, "e", seconds(10));
  INFO(list.message);
  CHECK(list.list.hits.size() == 2);
}

}  // namespace

TEST_CASE("Engines of every server type end in time under every fault", "[fetchers][chaos][engines][full]") {
  CHECK(faults().size() >= 40);
  const ChaosServer server;
  for (const auto& [type, keys] : kServerTypes) check_server_type(server, type, keys);
}

TEST_CASE("Engines on PostgreSQL survive a faulty wire", "[fetchers][databases][chaos][engines][full]") {
  CHECK(wire_faults().size() >= 40);
  const auto server = PostgresServer::start();
  if (!server) return;
  const std::string url = server->new_database();
  const std::string name = url.substr(14, url.find('?') - 14);
  check_database([&] { return connected_to(server->socket()); },
                 [&](int port) {
                   return "  - {name: e, engine: postgresql, timeout: 0.5, connection: 'postgresql://tester@"
                          "127.0.0.1:" +
                          std::to_string(port) + "/" + name +
                          "', query_str: \"SELECT 'http://p/' || n AS url, :query AS title FROM "
                          "generate_series(1, 2) AS n\"}\n";
                 });
}

TEST_CASE("Engines on PostgreSQL through ODBC survive a faulty wire",
          "[fetchers][databases][odbc][chaos][engines][full]") {
  const auto server = PostgresServer::start();
  if (!server) return;
  const std::string url = server->new_database();
  const std::string name = url.substr(14, url.find('?') - 14);
  const auto block = [&](int port) {
    return "  - {name: e, engine: odbc, timeout: 0.5, connection: 'Driver=PostgreSQL "
           "Unicode;Servername=127.0.0.1;"
           "Port=" +
           std::to_string(port) + ";Database=" + name +
           ";Username=tester', query_str: \"SELECT 'http://p/' || n AS url, CAST(:query AS text) AS title "
           "FROM "
           "generate_series(1, 2) AS n\"}\n";
  };
  const FetchedList driver = fetch_one(*fetcher_of(block(1)), "e", seconds(5));
  if (driver.message.find("file not found") != std::string::npos ||
      driver.message.find("Data source name not found") != std::string::npos) {
    skip("install the Debian package odbc-postgresql (scripts/test --full)");
    return;
  }
  CHECK(driver.failure == Failure::refused);
  check_database([&] { return connected_to(server->socket()); }, block);
}

TEST_CASE("Engines on MariaDB survive a faulty wire", "[fetchers][databases][chaos][engines][full]") {
  const auto server = MariadbServer::start();
  if (!server) return;
  server->run("CREATE DATABASE docs; CREATE USER reader@localhost IDENTIFIED BY 'secret';");
  check_database(
      [&] { return connected_to(server->socket()); },
      [&](int port) {
        return "  - {name: e, engine: mariadb, timeout: 0.5, host: 127.0.0.1, port: " + std::to_string(port) +
               ", database: information_schema, username: reader, password: secret, query_str: "
               "\"SELECT 'http://m/1' AS url, :query AS title UNION SELECT 'http://m/2', 'two'\"}\n";
      });
}
