#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "tests/support/postgres_server.h"
#include "tests/support/tcp_relay.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;
using std::chrono::milliseconds;

namespace {

std::string id_in(const std::string& response) {
  const auto value = parse_json(body_in(response), "answer");
  REQUIRE(value.has_value());
  const Json* id = value->at("fusion").as_object().if_contains("search_id");
  return id == nullptr || !id->is_string() ? std::string() : std::string(id->get_string());
}

std::string click_body(const std::string& id) {
  return R"({"search_id":")" + id + R"(","kind":"click","position":1})";
}

int rows_in(TestServer& server) {
  server.app().records().search_log->flush();
  int rows = 0;
  REQUIRE(server.app()
              .records()
              .store
              ->export_lines([&](std::string_view) -> Result<void> {
                ++rows;
                return {};
              })
              .has_value());
  return rows;
}

std::string key_entry(const std::string& name, const std::string& more) {
  return "  - {name: " + name + ", sha256: " + sha256_hex(name + "-key") + ", " + more + "}\n";
}

std::string shows(const std::string& name) {
  return "Authorization: Bearer " + name + "-key\r\n";
}

}  // namespace

TEST_CASE("A search that asks not to be tracked is answered but not stored", "[service][privacy][security]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\n");
  for (const char* header : {"DNT: 1\r\n", "Sec-GPC: 1\r\n"})
    for (int i = 0; i < 4; ++i) CHECK(id_in(server.get("/search?q=ada&format=json", header)).empty());
  CHECK(rows_in(server) == 0);
  // nor if the answer was rendered for somebody else; and the other way round
  for (int i = 0; i < 4; ++i) CHECK(id_in(server.get("/search?q=ada&format=json")).size() == 48);
  CHECK(id_in(server.get("/search?q=ada&format=json", "DNT: 1\r\n")).empty());
  CHECK(id_in(server.get("/search?q=ada&format=json", "DNT: 0\r\n")).size() == 48);
  CHECK(rows_in(server) == 1);
}

TEST_CASE("Many equal searches are stored as one row and each can be clicked", "[service][store][security]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\n");
  std::set<std::string> ids;
  for (int i = 0; i < 30; ++i) ids.insert(id_in(server.get("/search?q=ada&format=json")));
  CHECK(ids.size() == 30);
  CHECK(rows_in(server) == 1);
  for (const std::string& id : ids)
    if (ids.size() - static_cast<std::size_t>(std::distance(ids.begin(), ids.find(id))) < 4)
      CHECK(status_in(server.post("/v1/feedback", "application/json", click_body(id))) == 200);
}

TEST_CASE("Searches without results have an id and are stored", "[service][store]") {
  TestServer server([](const ExpandedQuery&) { return list_of({}); }, "store: metafuse.db\n");
  const std::string id = id_in(server.get("/search?q=nothing&format=json"));
  CHECK(id.size() == 48);
  server.app().records().search_log->flush();
  const auto found = server.app().records().store->searches.find(id);
  REQUIRE(found.has_value());
  REQUIRE(found->has_value());
  CHECK((**found).shown.empty());
  CHECK((**found).slots.slots.at("NAME") == "nothing");
}

TEST_CASE("A search id is useless from another address", "[service][feedback][security]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\ntrusted_proxies: [127.0.0.1]\n");
  const std::string here = "X-Forwarded-For: 192.0.2.1\r\n";
  const std::string id = id_in(server.get("/search?q=ada&format=json", here));
  const auto send = [&](const std::string& from) {
    return status_in(server.post("/v1/feedback", "application/json", click_body(id), from));
  };
  CHECK(send("X-Forwarded-For: 192.0.2.2\r\n") == 404);
  CHECK(send(here) == 200);
}

TEST_CASE("A key reaches its domains and engines until it expires and has its own rate",
          "[service][keys][security]") {
  TestServer server(TestServer::default_answer,
                    "store: metafuse.db\nneeds_key: true\nkeys:\n" +
                        key_entry("all", "roles: [search, judge, admin]") +
                        key_entry("hats", "roles: [search, judge, admin], domains: [hats]") +
                        key_entry("two", "roles: [search], engines: [two]") +
                        key_entry("none", "roles: [search], engines: [three]") +
                        key_entry("old", "roles: [search], expires: 2020-01-01") +
                        key_entry("slow", "roles: [search], requests_per_second: 0.001, burst: 2"));
  const auto search = [&](const std::string& name, const std::string& more = "") {
    return server.get("/search?q=ada&format=json" + more, shows(name));
  };
  const std::string all = search("all");
  REQUIRE(status_in(all) == 200);
  CHECK(all.find("a.example") != std::string::npos);
  CHECK(status_in(search("hats")) == 403);
  CHECK(status_in(search("old")) == 401);
  CHECK(status_in(search("none")) == 403);
  for (int i = 0; i < 4; ++i) {  // also when the answer is cached for everybody
    const std::string two = search("two");
    REQUIRE(status_in(two) == 200);
    CHECK(two.find("a.example") == std::string::npos);
    CHECK(two.find("c.example") != std::string::npos);
    CHECK(status_in(search("hats")) == 403);
    CHECK(search("all").find("a.example") != std::string::npos);
  }
  CHECK(status_in(search("two", "&engines=one")) == 403);
  CHECK(status_in(search("slow")) == 200);
  CHECK(status_in(search("slow")) == 200);
  CHECK(status_in(search("slow")) == 429);
  CHECK(status_in(server.get("/v1/templates/pages", shows("all"))) == 200);
  const std::string id = id_in(all);
  const std::string judgment = R"({"search_id":")" + id + R"(","kind":"judgment","position":1,"grade":1})";
  CHECK(status_in(server.post("/v1/feedback", "application/json", judgment, shows("hats"))) == 404);
  CHECK(status_in(server.post("/v1/feedback", "application/json", judgment, shows("all"))) == 200);
}

TEST_CASE("With a hanging PostgreSQL feedback gets 503 and searches and shutdown are not delayed",
          "[service][store][security]") {
  const auto postgres = PostgresServer::start();
  if (postgres == nullptr) return;
  const std::string url = postgres->new_database();
  const std::string folder = url.substr(url.find("host=") + 5, url.find("&user") - url.find("host=") - 5);
  TcpRelay relay(folder + "/.s.PGSQL.5432");
  const std::string name = url.substr(14, url.find('?') - 14);
  TestServer server(TestServer::default_answer, "store: \"postgresql://tester@127.0.0.1:" +
                                                    std::to_string(relay.port()) + "/" + name + "\"\n");
  const std::string id = id_in(server.get("/search?q=ada&format=json"));
  CHECK(status_in(server.post("/v1/feedback", "application/json", click_body(id))) == 200);
  CHECK(body_in(server.get("/readyz")).starts_with("ready\nserves "));
  Store& store = *server.app().records().store;
  const TimePoint over = machine_clock().now();
  CHECK(store.searches.find(id, over).error().code == Code::try_again);
  CHECK(store.privacy.daily_salt(1, over).error().code == Code::try_again);
  CHECK(store.clicks.add({}, {}, over).error().code == Code::try_again);
  CHECK(store.judgments.set(StoredJudgment(), over).error().code == Code::try_again);
  CHECK(store.searches.find(id)->has_value());  // a passed deadline is no failure of the store
  relay.swallow();
  const auto timed = [](const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::steady_clock::now() - begin;
  };
  std::vector<std::thread> clients;
  std::atomic<int> refusals{0};
  std::atomic<int> late{0};
  for (int i = 0; i < 20; ++i)
    clients.emplace_back([&] {
      const auto took = timed([&] {
        if (status_in(server.post("/v1/feedback", "application/json", click_body(id))) == 503) ++refusals;
      });
      if (took > milliseconds(5000)) ++late;  // a second on idle cores, 25 without the bound
    });
  for (int i = 0; i < 10; ++i)
    CHECK(timed([&] {
            CHECK(status_in(server.get("/search?q=ada" + std::to_string(i) + "&format=json")) == 200);
          }) < milliseconds(5000));
  for (std::thread& client : clients) client.join();
  CHECK(refusals == 20);
  CHECK(late == 0);
  const std::string ready = server.get("/readyz");
  CHECK(status_in(ready) == 200);
  CHECK(ready.find("store: does not answer") != std::string::npos);
  CHECK(ready.find("127.0.0.1") == std::string::npos);
  const std::string refused = server.post("/v1/feedback", "application/json", click_body(id));
  CHECK(status_in(refused) == 503);
  CHECK(refused.find("127.0.0.1") == std::string::npos);
  CHECK(refused.find("tester") == std::string::npos);
  CHECK(timed([&] { server.app().stop(); }) < milliseconds(6000));
}

TEST_CASE("A server merges the equivalent queries of an older store into one", "[service][store][identity]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("old.db");
  const std::vector<std::pair<std::string, std::string>> forms[] = {
      {{"NAME", "Ada Lovelace"}},
      {{"NAME", "ada  lovelace "}, {"PLACE", " "}},                 // blanks and an empty slot
      {{"QUERY", "ADA LOVELACE"}},                                  // plain, in capitals
      {{"NAME", "\xef\xbc\xa1\xef\xbc\xa4\xef\xbc\xa1 Lovelace"}},  // in full width: NFKC
  };
  {
    const auto store = open_store(path);
    REQUIRE(store.has_value());
    UnixTime at = 1735689600;
    for (const auto& slots : forms) {
      StoredSearch search;
      search.id = new_search_id();
      search.domain = "pages";
      for (const auto& [name, value] : slots) search.slots.slots[name] = value;
      search.query = sha256_hex(slots_text(search.slots)).substr(0, 32);  // each form was its own query
      search.at = ++at;
      search.documents = {"a.example"};
      search.lists = {{"plain@one", 10, false, {0}}};
      search.shown = {{0, Team::none}};
      REQUIRE((*store)->searches.add({&search, 1}).has_value());
      REQUIRE((*store)
                  ->judgments
                  .set({"pages", search.query, "a.example", "ann", static_cast<int>(at % 3), search.id, at})
                  .has_value());
    }
    REQUIRE((*store)->judgments.queries("pages")->size() == std::size(forms));
  }
  std::string asked;
  {
    TestServer server(TestServer::default_answer, "store: " + path + "\n");
    asked = id_in(server.get("/search?q=ada+LOVELACE&format=json"));
    REQUIRE_FALSE(asked.empty());
    rows_in(server);
  }
  const auto store = open_store(path);
  REQUIRE(store.has_value());
  const std::string digest =
      query_digest(*(*store)->privacy.secret(), "pages", {{{"NAME", "ada lovelace"}}}, "NAME");
  const auto judged = (*store)->judgments.queries("pages");
  REQUIRE(judged->size() == 1);
  CHECK(judged->front().query == digest);
  REQUIRE(judged->front().judgments.size() == 1);
  CHECK(judged->front().judgments.front().at == 1735689600 + 4);  // the latest judgment is kept
  const auto queries = (*store)->searches.asked_queries("pages", 10);
  REQUIRE(queries->size() == 1);
  CHECK(queries->front().query == digest);
  CHECK((**(*store)->searches.find(asked)).query == digest);
  CHECK(*(*store)->privacy.plain_slot("pages") == "NAME");
}

TEST_CASE("A page beyond the last result is not stored", "[service][store][security]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\n");
  CHECK(id_in(server.get("/search?q=ada&format=json&pageno=90")).empty());
  CHECK(rows_in(server) == 0);
  CHECK(id_in(server.get("/search?q=ada&format=json")).size() == 48);
  CHECK(rows_in(server) == 1);
}
