// Kills the server process with SIGKILL while clients judge results, and checks the store after each restart.

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "core/random.h"
#include "service/store/store.h"
#include "tests/support/serve_process.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

/// Ids of the searches whose judgment the server acknowledged.
struct Acknowledged {
  std::mutex mutex;
  std::vector<std::string> ids;

  std::size_t count() {
    const std::lock_guard lock(mutex);
    return ids.size();
  }
};

/// One of many queries that all find the one document: each bit of `number` selects one of two words.
std::string query_of(int number) {
  std::string out = "ada";
  for (int bit = 0; bit < 14; ++bit) out += (number >> bit) % 2 == 0 ? "+ada" : "+lovelace";
  return out;
}

/// Searches and judges the first result, over and over, until the server is gone.
void judge_until_gone(std::uint16_t port, std::atomic<int>& number, Acknowledged& acknowledged) {
  try {
    RawClient connection(port);
    while (true) {
      connection.send("GET /search?q=" + query_of(++number) +
                      "&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const std::string answer = connection.read_response();
      if (answer.empty()) return;
      const auto json = parse_json(body_in(answer), "answer");
      if (!json.has_value() || !json->at("fusion").as_object().contains("search_id")) continue;
      const std::string id(json->at("fusion").at("search_id").as_string());
      const std::string body = R"({"search_id":")" + id + R"(","kind":"judgment","position":1,"grade":1})";
      connection.send(
          "POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nX-API-Key: judge-key\r\nContent-Type: "
          "application/json\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body);
      const std::string judged = connection.read_response();
      if (judged.empty()) return;
      if (status_in(judged) != 200) continue;
      const std::lock_guard lock(acknowledged.mutex);
      acknowledged.ids.push_back(id);
    }
  } catch (const std::runtime_error&) {
    return;
  }
}

void kill_under_load(int kills) {
  ServeProcess server(
      "127.0.0.1:0",
      "default_domain: d\nstore: state.db\nkeys: [{name: judge, roles: [search, judge], sha256: " +
          sha256_hex("judge-key") + "}]\n");
  Random random(11);
  Acknowledged acknowledged;
  std::atomic<int> number{0};
  for (int i = 0; i < kills; ++i) {
    if (i > 0) server.start();
    const std::uint16_t port = server.port();
    const std::size_t wanted = acknowledged.count() + 1 + random.below(12);
    std::vector<std::thread> clients;
    for (int c = 0; c < 3; ++c) clients.emplace_back([&] { judge_until_gone(port, number, acknowledged); });
    REQUIRE(becomes_true([&] { return acknowledged.count() >= wanted; }));
    server.process().end(SIGKILL);
    for (std::thread& client : clients) client.join();
    auto store = service::open_store(server.folder().path("state.db"));
    REQUIRE(store.has_value());
    REQUIRE((*store)->check().has_value());
    std::set<std::string> judged;
    const auto queries = (*store)->judgments.queries("d");
    REQUIRE(queries.has_value());
    for (const auto& query : *queries) judged.insert(query.query);
    for (const std::string& id : acknowledged.ids) {
      const auto search = (*store)->searches.find(id);
      REQUIRE(search.has_value());
      REQUIRE(search->has_value());
      REQUIRE(judged.contains((*search)->query));
    }
    if (i % 20 == 19) acknowledged.ids.clear();  // each was checked after 1 to 20 restarts
  }
  CHECK(number >= kills);
}

}  // namespace

TEST_CASE("A server that is killed under write load loses no acknowledged judgment", "[service][kill]") {
  kill_under_load(5);
}

TEST_CASE("A server that is killed 500 times under write load loses no acknowledged judgment",
          "[service][kill][full]") {
  kill_under_load(500);
}
