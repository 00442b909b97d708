#include <filesystem>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "tests/support/full_disk.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

std::string store_config(const std::string& more = "") {
  return "store: metafuse.db\nkeys:\n  - {name: judge, sha256: " + sha256_hex("judge-key") +
         ", roles: [judge]}\n  - {name: small, sha256: " + sha256_hex("small-key") +
         ", roles: [search], quota_per_day: 4}\n" + more;
}

std::string search_id(const std::string& response) {
  const auto value = parse_json(body_in(response), "answer");
  REQUIRE(value.has_value());
  return std::string(value->at("fusion").at("search_id").as_string());
}

std::string click(const std::string& id, int position) {
  return R"({"search_id":")" + id + R"(","kind":"click","position":)" + std::to_string(position) + "}";
}

}  // namespace

TEST_CASE("Clicks need a search id and a shown result and judgments need a judge's key",
          "[service][feedback]") {
  TestServer server(TestServer::default_answer, store_config());
  const std::string id = search_id(server.get("/search?q=ada&format=json&limit=2"));
  CHECK(id.size() == 48);
  const auto send = [&](const std::string& body, const std::string& headers = "") {
    return status_in(server.post("/v1/feedback", "application/json", body, headers));
  };
  CHECK(send(click(id, 1)) == 200);
  CHECK(send(click(id, 1)) == 200);
  CHECK(send(click(id, 3)) == 422);
  CHECK(send(click(std::string(32, '0'), 1)) == 404);
  CHECK(send("{}") == 400);
  const std::string judgment = R"({"search_id":")" + id + R"(","kind":"judgment","position":2,"grade":1})";
  CHECK(send(judgment) == 403);
  CHECK(send(judgment, "Authorization: Bearer judge-key\r\n") == 200);
  CHECK(send(judgment, "Authorization: Bearer wrong\r\n") == 401);
  const auto clicks = server.app().records().store->clicks.of(id);
  REQUIRE(clicks.has_value());
  CHECK(clicks->size() == 1);
  const auto judged = server.app().records().store->judgments.queries("pages");
  REQUIRE(judged.has_value());
  CHECK(judged->size() == 1);
}

TEST_CASE("The configuration limits the clicks per address and day", "[service][feedback]") {
  TestServer server(TestServer::default_answer, store_config("learning: {clicks_per_address: 2}\n"));
  for (const int status : {200, 200, 429}) {
    const std::string id = search_id(server.get("/search?q=ada&format=json"));
    CHECK(status_in(server.post("/v1/feedback", "application/json", click(id, 1))) == status);
  }
}

TEST_CASE("A key's quota counts expanded queries", "[service][keys]") {
  TestServer server(TestServer::default_answer, store_config());
  const std::string key = "Authorization: Bearer small-key\r\n";
  CHECK(status_in(server.get("/search?q=ada&format=json", key)) == 200);  // three of the quota's four
  const std::string refused = server.get("/search?q=bob&format=json", key);
  CHECK(status_in(refused) == 429);
  CHECK(refused.find("Retry-After: ") != std::string::npos);
  CHECK(status_in(server.get("/search?q=bob&format=json")) == 200);
}

TEST_CASE("Each address has a token bucket and needs_key requires a key", "[service][keys]") {
  TestServer server(TestServer::default_answer,
                    store_config("limits: {requests_per_second: 0.001, burst: 2}\n"));
  CHECK(status_in(server.get("/search?q=a&format=json")) == 200);
  CHECK(status_in(server.get("/search?q=b&format=json")) == 200);
  CHECK(status_in(server.get("/search?q=c&format=json")) == 429);
  CHECK(status_in(server.get("/healthz")) == 200);
  CHECK(status_in(server.get("/search?q=c&format=json", "X-API-Key: judge-key\r\n")) == 200);
  TestServer closed(TestServer::default_answer, store_config("needs_key: true\n"));
  CHECK(status_in(closed.get("/search?q=a&format=json")) == 401);
  CHECK(status_in(closed.get("/search?q=a&format=json", "X-API-Key: judge-key\r\n")) == 403);
  CHECK(status_in(closed.get("/search?q=a&format=json", "X-API-Key: small-key\r\n")) == 200);
}

TEST_CASE("Site preferences raise or block sites and change only through forms of this site",
          "[service][page]") {
  TestServer server;
  const auto order = [&](const std::string& cookie) {
    const auto answer = parse_json(
        body_in(server.get("/search?q=ada&format=json", "Cookie: preferences=sites=" + cookie + "\r\n")),
        "a");
    std::string hosts;
    for (const Json& result : answer->at("results").as_array())
      hosts += std::string(result.at("url").as_string()).substr(7, 1);
    return hosts;
  };
  CHECK(order("") == "badc");
  CHECK(order("+c.example") == "cbad");
  CHECK(order("-b.example|!d.example") == "acb");
  const std::string form = "raise=c.example&back=%2Fsearch%3Fq%3Dada";
  const std::string type = "application/x-www-form-urlencoded";
  const std::string set = server.post("/preferences", type, form);
  CHECK(status_in(set) == 303);
  CHECK(set.find("Location: /search?q=ada\r\n") != std::string::npos);
  CHECK(set.find("Set-Cookie: preferences=sites=+c.example; ") != std::string::npos);
  CHECK(status_in(server.post("/preferences", type, form, "Origin: http://evil.example\r\n")) == 403);
  CHECK(status_in(server.post("/preferences", type, form, "Sec-Fetch-Site: cross-site\r\n")) == 403);
  const std::string away = server.post("/preferences", type, "raise=x&back=https://evil.example/");
  CHECK(away.find("Location: /\r\n") != std::string::npos);
}

TEST_CASE("SearXNG's clients find /config and completions and OpenSearch", "[service][searxng]") {
  TestServer server(
      [](const ExpandedQuery& query) {
        fetchers::FetchedList list = TestServer::default_answer(query);
        list.list.suggestions = {"ada lovelace"};
        return list;
      },
      "trusted_proxies: [127.0.0.1]\ncache: {entries: 0}\n");
  CHECK(body_in(server.get("/config")).find("\"instance_name\":\"metafuse\"") != std::string::npos);
  for (int i = 1; i <= 5; ++i)  // what fewer senders' searches brought is not offered
    server.get("/search?q=ada", "X-Forwarded-For: 10.0.0." + std::to_string(i) + "\r\n");
  CHECK(body_in(server.get("/autocompleter?q=ada")) == R"(["ada",["ada lovelace"]])");
  CHECK(body_in(server.get("/opensearch.xml")).find("{searchTerms}") != std::string::npos);
}

TEST_CASE("On a full disk feedback on a search that was not stored is asked for again",
          "[service][feedback]") {
  TestServer server(TestServer::default_answer, store_config());
  const std::string stored = search_id(server.get("/search?q=ada&format=json&limit=2"));
  REQUIRE(status_in(server.post("/v1/feedback", "application/json", click(stored, 1))) == 200);
  std::string refused, grades, ready, metrics;
  {
    const FullDisk full(std::filesystem::file_size(server.folder().path("metafuse.db-wal")));
    const std::string id = search_id(server.get("/search?q=grace&format=json&limit=2"));
    refused = server.post("/v1/feedback", "application/json", click(id, 1));
    grades = server.post("/v1/judgments/pages/grades", "application/json",
                         R"({"search_id":")" + id + R"(","grades":[{"position":1,"grade":2}]})",
                         "Authorization: Bearer judge-key\r\n");
    ready = server.get("/readyz");
    metrics = server.get("/metrics");
  }
  CHECK(status_in(refused) == 503);
  CHECK(refused.find("Retry-After: ") != std::string::npos);
  CHECK(status_in(grades) == 503);
  CHECK(ready.find("store: does not answer or takes no changes") != std::string::npos);
  CHECK(metrics.find("metafuse_store_available 0") != std::string::npos);
  const std::string id = search_id(server.get("/search?q=hedy&format=json&limit=2"));
  CHECK(status_in(server.post("/v1/feedback", "application/json", click(id, 1))) == 200);
  CHECK(server.get("/readyz").find("store:") == std::string::npos);
}
