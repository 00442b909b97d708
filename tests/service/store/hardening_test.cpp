// Failures and attacks that a store and the caches must survive: colliding keys, failing transactions, broken
// disks, growing files, leaked secrets, and search ids in wrong hands.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <sqlite3.h>
#include <sys/stat.h>

#include "core/digest.h"
#include "core/name_lookup.h"
#include "service/learning/search_log.h"
#include "service/search/answer_cache.h"
#include "service/search/list_fusion.h"
#include "service/store/redis_client.h"
#include "tests/support/manual_clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sample_search.h"
#include "tests/support/tcp_relay.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::document_key;
using metafuse::test::kNewYear;
using metafuse::test::opened_store;
using metafuse::test::sample_search;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

void change_database(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  char* problem = nullptr;
  const int status = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &problem);
  INFO((problem == nullptr ? "" : problem));
  REQUIRE(status == SQLITE_OK);
  sqlite3_close(database);
}

/// A database whose writes fail or throw, as with a broken disk or a programming error.
class BrokenDatabase final : public SqlDatabase {
 public:
  explicit BrokenDatabase(bool throws) : throws_(throws) {}
  Result<void> write(const Transaction&, Wait) override {
    if (throws_) throw std::runtime_error("no memory");
    return fail(Code::try_again, "disk full");
  }
  Result<void> read(const Transaction&, Wait) override { return {}; }
  Result<void> check() override { return {}; }
  std::string_view milliseconds_now() const override { return "0"; }

 private:
  bool throws_;
};

}  // namespace

TEST_CASE("Every part of a request and every dependency of its lists changes the shared key",
          "[service][cache][security]") {
  LoadedDomain domain;
  domain.domain.name = "shoes";
  domain.etag = "e";
  domain.engines_digest = "d";
  SearchRequest request;
  std::set<std::string> keys{shared_key(domain, request)};
  std::size_t wanted = 1;
  const auto differs = [&](const LoadedDomain& d, const SearchRequest& r) {
    keys.insert(shared_key(d, r));
    CHECK(keys.size() == ++wanted);
  };
  const auto with = [&](auto change) {
    SearchRequest other = request;
    change(other);
    differs(domain, other);
  };
  for (const char* text : {"a", "b"}) {
    with([&](SearchRequest& r) { r.text = text; });
    with([&](SearchRequest& r) { r.slots.slots = {{"A", text}}; });
    with([&](SearchRequest& r) { r.slots.slots = {{text, "A"}}; });
    with([&](SearchRequest& r) { r.engines = {text}; });
    with([&](SearchRequest& r) { r.lists = {text}; });
    with([&](SearchRequest& r) { r.alternatives = {text}; });
    with([&](SearchRequest& r) { r.synonyms = {text}; });
    with([&](SearchRequest& r) { r.language = text; });
    with([&](SearchRequest& r) { r.time_range = text; });
    with([&](SearchRequest& r) { r.forwarded = {{"h", text}}; });
    with([&](SearchRequest& r) { r.forwarded = {{text, "h"}}; });
    with([&](SearchRequest& r) { r.variants = {{"t", text, false}}; });
    with([&](SearchRequest& r) { r.variants = {{"t", text, true}}; });
    with([&](SearchRequest& r) { r.variants = {{text, "t", true}}; });
  }
  for (const int number : {2, 3}) {
    with([&](SearchRequest& r) { r.depth = number; });
    with([&](SearchRequest& r) { r.safe_search = number; });
    with([&](SearchRequest& r) { r.hops = number; });
  }
  with([&](SearchRequest& r) { r.asks_all = true; });
  // the end of one part is never read as the beginning of the next
  with([&](SearchRequest& r) { r.lists = {"all lists"}; });
  with([&](SearchRequest& r) { r.alternatives = {"1"}; });
  with([&](SearchRequest& r) { r.engines = {"0"}; });
  with([&](SearchRequest& r) { r.engines = {"a", "b"}; });
  with([&](SearchRequest& r) { r.lists = {"a", "b"}; });
  with([&](SearchRequest& r) { r.engines = {"a"}, r.lists = {"b"}; });
  with([&](SearchRequest& r) { r.engines = {"ab"}; });
  with([&](SearchRequest& r) { r.engines = {"a"}, r.lists = {"1", "b"}; });
  with([&](SearchRequest& r) { r.engines = {"a", "1"}, r.lists = {"b"}; });
  with([&](SearchRequest& r) { r.engines = {"a"}, r.lists = {"0"}; });
  with([&](SearchRequest& r) { r.engines = {"a", "1"}; });
  with([&](SearchRequest& r) { r.engines = {"0", "0"}; });
  with([&](SearchRequest& r) { r.slots.slots = {{"0", "2"}}; });
  with([&](SearchRequest& r) { r.text = "a", r.language = "b"; });
  with([&](SearchRequest& r) { r.language = "a", r.time_range = "b"; });
  with([&](SearchRequest& r) { r.language = "ab"; });
  with([&](SearchRequest& r) { r.slots.slots = {{"A", "a"}, {"B", "b"}}; });
  with([&](SearchRequest& r) { r.slots.slots = {{"A", "b"}, {"B", "a"}}; });
  with([&](SearchRequest& r) { r.variants = {{"t", "a", false}, {"u", "b", false}}; });
  with([&](SearchRequest& r) { r.variants = {{"t", "a", false}, {"u", "b", true}}; });
  with([&](SearchRequest& r) { r.depth = 2, r.safe_search = 1; });
  with([&](SearchRequest& r) { r.depth = 1, r.safe_search = 2; });
  for (const auto member : {&LoadedDomain::etag, &LoadedDomain::engines_digest}) {
    LoadedDomain other = domain;
    other.*member = "x";
    differs(other, request);
  }
  LoadedDomain other = domain;
  other.domain.name = "hats";
  differs(other, request);
}

TEST_CASE("An answer from a shared cache keeps the keys of its hits", "[service][cache][security]") {
  LoadedDomain domain;
  domain.domain.name = "shoes";
  domain.domain.depth = 10;
  SearchAnswer answer;
  std::vector<fetchers::FetchedList> lists(1);
  lists[0].query = {"t", "e", "q"};
  Hit hit{"http://example.org/?session=1", "", "", "", "", std::nullopt};
  hit.key = "example.org/";  // made with the configuration's list of tracking parameters
  lists[0].list.hits = {hit};
  fuse_lists(domain, std::move(lists), answer);
  const auto back = read_answer_text(answer_text(answer), domain, {}, 1);
  REQUIRE(back.has_value());
  CHECK(back->lists[0].list.hits[0].key == "example.org/");
  CHECK(back->results[0].hit.key == "example.org/");
}

TEST_CASE("A transaction that fails midway leaves nothing and the next one works",
          "[service][store][security]") {
  const test::TemporaryFolder folder;
  const auto database = open_sqlite(folder.path("a.db"), StoreMode::serve);
  REQUIRE(database.has_value());
  SqlDatabase& db = **database;
  REQUIRE(db.write([](SqlSession& session) { return session.run("CREATE TABLE t (a bigint)"); }).has_value());
  const auto failed = db.write([](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("INSERT INTO t VALUES (1)"));
    return fail(Code::try_again, "midway");
  });
  CHECK(failed.error().text == "midway");
  const auto throwing = [](SqlSession& session) -> Result<void> {
    TRY_VOID(session.run("INSERT INTO t VALUES (1)"));
    throw std::runtime_error("no memory");
  };
  CHECK_THROWS_AS(db.write(throwing), std::runtime_error);
  REQUIRE(db.write([](SqlSession& session) { return session.run("INSERT INTO t VALUES (2)"); }).has_value());
  std::vector<std::int64_t> rows;
  REQUIRE(db.read([&](SqlSession& session) {
              return session.run("SELECT a FROM t", {}, [&](SqlRow row) -> Result<void> {
                rows.push_back(integer_of(row[0]));
                return {};
              });
            }).has_value());
  CHECK(rows == std::vector<std::int64_t>{2});
}

TEST_CASE("An answer that is shown a thousand times is stored as one row", "[service][store][security]") {
  const test::TemporaryFolder folder;
  const auto store = opened_store(folder.path("store.db"));
  const auto shown = std::make_shared<const StoredSearch>(sample_search());
  {
    SearchLog log(*store);
    for (int i = 0; i < 1000; ++i) {
      CHECK(log.add(shown));
      if (i % 300 == 0) log.flush();
    }
    log.flush();
    CHECK(log.written() == 1000);
  }
  int rows = 0;
  REQUIRE(store
              ->export_lines([&](std::string_view line) -> Result<void> {
                ++rows;
                CHECK(line.find("\"times\":1000") != std::string_view::npos);
                return {};
              })
              .has_value());
  CHECK(rows == 1);
  // equal content has the same id within one hour
  StoredSearch search = sample_search();
  const std::string id = content_id("s", search);
  search.at += 100;
  CHECK(content_id("s", search) == id);
  CHECK(content_id("t", search) != id);
  search.shown.pop_back();
  CHECK(content_id("s", search) != id);
  search = sample_search();
  search.at += 3600;
  CHECK(content_id("s", search) != id);
}

TEST_CASE("A store within a limit of bytes removes the oldest searches and keeps judged ones",
          "[service][store][security]") {
  const test::TemporaryFolder folder;
  const auto store = opened_store(folder.path("store.db"));
  std::vector<StoredSearch> searches;
  for (int i = 0; i < 500; ++i) searches.push_back(sample_search("shoes", kNewYear + i));
  REQUIRE(store->searches.add(searches).has_value());
  const std::uint64_t all = *store->bytes();
  CHECK(all >= 500 * lists_text(searches[0]).size());
  const StoredSearch& judged = searches[0];
  REQUIRE(store->judgments.set({"shoes", judged.query, document_key(0), "ann", 1, judged.id, kNewYear})
              .has_value());
  Click click{searches[1].id, 0, "shoes", Team::none, kNewYear, "p", "", 1};
  REQUIRE(store->clicks.add(click, {}).has_value());
  REQUIRE(store->keep_within(all).value() == RemovedCounts{});
  const auto removed = store->keep_within(all / 2);
  REQUIRE(removed.has_value());
  CHECK(removed->searches >= 250);
  CHECK(removed->searches <= 350);
  // a clicked search goes after all that nobody clicked
  CHECK(removed->clicks == 0);
  CHECK(*store->bytes() <= all / 2);
  CHECK(store->searches.find(judged.id)->has_value());
  CHECK(store->searches.find(searches[1].id)->has_value());
  CHECK_FALSE(store->searches.find(searches[2].id)->has_value());
  CHECK(store->searches.find(searches[499].id)->has_value());
  CHECK(store->keep_within(1).error().text.find("judged") != std::string::npos);
  CHECK_FALSE(store->searches.find(searches[1].id)->has_value());
  CHECK(store->clicks.of(searches[1].id)->empty());
  // removal by age lowers the sum of bytes too
  REQUIRE(store->reset_feedback("shoes", true, true).has_value());
  REQUIRE(store->remove_before(kNewYear + 10000).has_value());
  CHECK(*store->bytes() == 0);
}

TEST_CASE("Servers that store the same searches at once do not stop each other",
          "[service][store][security]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  const std::string url = server->new_database();
  const std::unique_ptr<Store> stores[] = {opened_store(url), opened_store(url)};
  std::atomic<int> failures{0};
  for (int round = 0; round < 60; ++round) {
    std::vector<StoredSearch> all;
    for (int i = 0; i < 12; ++i) all.push_back(sample_search());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    // the first six are already there; many searches are written otherwise than few
    REQUIRE(stores[0]->searches.add({all.data(), 6}).has_value());
    std::vector<std::thread> threads;
    for (const std::size_t first : {0U, 5U})
      threads.emplace_back([&, first] {
        const std::span<const StoredSearch> some(all.data() + first, all.size() - first);
        if (stores[first == 0 ? 0 : 1]->searches.add(some).has_error()) ++failures;
      });
    for (std::thread& thread : threads) thread.join();
    const auto times = [&](std::size_t i) { return (**stores[0]->searches.find(all[i].id)).times; };
    CHECK(times(0) == 2);
    CHECK(times(5) == 3);
    CHECK(times(11) == 2);
  }
  CHECK(failures == 0);
}

TEST_CASE("A search log survives a failing store and counts and reports what it drops",
          "[service][store][security]") {
  for (const bool throws : {false, true}) {
    Store store(std::make_unique<BrokenDatabase>(throws), "");
    std::atomic<int> events{0};
    std::string reason;
    SearchLog log(store);
    log.set_on_drop([&](std::uint64_t, const std::string& text) {
      reason = text;
      ++events;
    });
    const auto search = std::make_shared<const StoredSearch>(sample_search());
    for (int i = 0; i < 3; ++i) {
      CHECK(log.add(search));
      log.flush();
    }
    CHECK(log.dropped() == 3);
    CHECK(log.written() == 0);
    CHECK(events == 1);
    CHECK(reason == (throws ? "no memory" : "disk full"));
  }
}

TEST_CASE("The secret is kept in a file beside the store", "[service][store][security]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  const std::string secret = *opened_store(path)->privacy.secret();
  struct stat status {};
  REQUIRE(::stat((path + ".secret").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(bytes_of(path + ".secret") == secret + "\n");
  CHECK(bytes_of(path).find(secret) == std::string::npos);
  CHECK(*opened_store(path)->privacy.secret() == secret);
  // another store's secret is an error, and so is a missing one
  std::ofstream(path + ".secret") << std::string(64, 'b') << '\n';
  CHECK(opened_store(path)->privacy.secret().error().code == Code::bad_config);
  std::filesystem::remove(path + ".secret");
  CHECK(opened_store(path)->privacy.secret().error().code == Code::no_input);
}

TEST_CASE("A store with hashed queries contains no address of a result", "[service][store][security]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  StoredSearch search = sample_search();
  search.documents[2] = "verysecret.example/page";
  {
    const auto store = opened_store(path);
    REQUIRE(store->searches.add({&search, 1}).has_value());
    for (const char* judge : {"ann", "bob"})
      REQUIRE(
          store->judgments.set({"shoes", search.query, search.documents[2], judge, 1, search.id, kNewYear})
              .has_value());
    const std::string secret = *store->privacy.secret();
    const std::string hashed = hashed_document(secret, search.documents[2]);
    REQUIRE(store->judgments.set({"shoes", search.query, hashed, "bob", 2, search.id, kNewYear}).has_value());
    REQUIRE(store->privacy.hide_queries().has_value());
    REQUIRE(store->privacy.hide_queries().has_value());
    CHECK((**store->searches.find(search.id)).documents[2] == hashed);
    const auto judged = store->judgments.queries("shoes");
    REQUIRE(judged->at(0).judgments.size() == 2);
    CHECK(judged->at(0).judgments[1].document == hashed);
    CHECK(judged->at(0).judgments[1].grade == 2);
    // feedback by URL still finds its result
    FeedbackRules rules;
    rules.secret = secret;
    FeedbackRequest request;
    request.search = search.id;
    request.url = "http://verysecret.example/page";
    CHECK(shown_position(**store->searches.find(search.id), request, rules) == 2);
  }
  change_database(path, "VACUUM");
  CHECK(bytes_of(path).find("verysecret") == std::string::npos);
  CHECK(bytes_of(path).find("red \\\"shoes") == std::string::npos);
}

TEST_CASE("A search id is valid only for the address prefix that received it",
          "[service][feedback][security]") {
  const test::TemporaryFolder folder;
  const auto store = opened_store(folder.path("store.db"));
  const StoredSearch search = sample_search();
  REQUIRE(store->searches.add({&search, 1}).has_value());
  FeedbackRules rules;
  rules.secret = "s";
  FeedbackRequest request;
  request.position = 1;
  const auto outcome = [&](const FeedbackSender& sender) {
    return take_feedback(*store, request, sender, rules, kNewYear + 1).value();
  };
  request.search = delivered_id("s", search.id, "192.0.2.1/32");
  CHECK(is_search_id(request.search));
  CHECK(stored_id(request.search) == search.id);
  CHECK(delivered_id("s", search.id, "192.0.2.1/32") != request.search);
  CHECK(outcome({"192.0.2.2", "", false}) == FeedbackOutcome::unknown_search);
  CHECK(outcome({"192.0.2.1", "", false}) == FeedbackOutcome::recorded);
  CHECK(outcome({"192.0.2.1", "", false}) == FeedbackOutcome::duplicate);
  CHECK(outcome({"192.0.2.2", "ann", false}) ==
        FeedbackOutcome::duplicate);  // a key may send clicks for its own users
  request.search.back() = request.search.back() == '0' ? '1' : '0';
  CHECK(outcome({"192.0.2.1", "", false}) == FeedbackOutcome::unknown_search);
  request.search = search.id;  // the id without its binding to an address
  CHECK(outcome({"192.0.2.1", "", false}) == FeedbackOutcome::unknown_search);
  CHECK(store->clicks.of(search.id)->empty());
}

TEST_CASE("A click is accepted for six hours and not a second longer", "[service][feedback][security]") {
  const test::TemporaryFolder folder;
  const auto store = opened_store(folder.path("store.db"));
  const StoredSearch search = sample_search();
  REQUIRE(store->searches.add({&search, 1}).has_value());
  FeedbackRequest request;
  request.search = search.id;
  const auto outcome = [&](std::uint32_t position, UnixTime now) {
    request.position = position;
    return take_feedback(*store, request, {"192.0.2.1", "ann", false}, {}, now).value();
  };
  CHECK(outcome(1, search.at + 6 * 3600) == FeedbackOutcome::recorded);
  CHECK(outcome(2, search.at + 6 * 3600 + 1) == FeedbackOutcome::expired);
}

TEST_CASE("Servers whose clocks differ around midnight keep each other's salts",
          "[service][store][security]") {
  const test::TemporaryFolder folder;
  const auto store = opened_store(folder.path("store.db"));
  const std::string today = *store->privacy.daily_salt(20000);
  const std::string tomorrow = *store->privacy.daily_salt(20001);
  for (int i = 0; i < 3; ++i) {
    CHECK(*store->privacy.daily_salt(20000) == today);
    CHECK(*store->privacy.daily_salt(20001) == tomorrow);
  }
  REQUIRE(store->privacy.forget_addresses(20001).has_value());
  CHECK(*store->privacy.daily_salt(20000) == today);
  REQUIRE(store->privacy.forget_addresses(20002).has_value());
  CHECK(*store->privacy.daily_salt(20000) != today);
  CHECK(*store->privacy.daily_salt(20001) == tomorrow);
}

TEST_CASE("Equivalent queries have one digest", "[service][store][identity]") {
  const auto digest = [](const BaseQuery& query) { return query_digest("s", "d", query, "Q"); };
  const std::string plain = digest({{{"QUERY", "vpn broken"}}});
  for (const char* text : {"Vpn Broken", "  vpn   broken ", "vpn\tbroken\n", "\xef\xbc\xb6pn broken",
                           "vpn\xc2\xa0"
                           "broken"})
    CHECK(digest({{{"Q", text}}}) == plain);
  CHECK(digest({{{"Q", "vpn broken"}, {"CITY", "  "}}}) == plain);
  CHECK(digest({{{"Q", "vpn broken"}, {"CITY", "Bern"}}}) != plain);
  CHECK(digest({{{"CITY", "vpn broken"}}}) != plain);
  CHECK(digest({{{"Q", "vpnbroken"}}}) != plain);
  CHECK(folded_query("STRASSE") == folded_query("stra\xc3\x9f"
                                                "e"));
  CHECK(folded_query("e\xcc\x81") == "\xc3\xa9");
  CHECK(folded_query("a\xff") == "a\xef\xbf\xbd");
  CHECK(folded_query(" \xe3\x80\x80 ").empty());
}

TEST_CASE("Equivalent stored queries are merged in one transaction and the later judgment wins",
          "[service][store][identity]") {
  const test::TemporaryFolder folder;
  const auto store = opened_store(folder.path("store.db"));
  const std::string forms[] = {"vpn broken", "Vpn Broken", "other"};
  const auto add = [&](const std::string& text, const char* slot, UnixTime at, int grade) {
    StoredSearch search = sample_search("shoes", at);
    search.slots.slots = {{slot, text}};
    search.query = sha256_hex(slot + text).substr(0, 32);  // the digest of an earlier version
    REQUIRE(store->searches.add({&search, 1}).has_value());
    REQUIRE(store->judgments.set({"shoes", search.query, document_key(0), "ann", grade, search.id, at})
                .has_value());
    return search.id;
  };
  add(forms[0], "QUERY", kNewYear + 5, 3);
  const std::string id = add(forms[1], "Q", kNewYear + 9, 1);
  add(forms[0], "Q", kNewYear, 2);
  add(forms[2], "Q", kNewYear, 2);
  CHECK(store->judgments.queries("shoes")->size() == 4);
  CHECK(*store->privacy.unify_queries("shoes", "Q") == 4);
  CHECK(*store->privacy.unify_queries("shoes", "Q") == 0);
  const auto judged = store->judgments.queries("shoes");
  REQUIRE(judged->size() == 2);
  const std::string unified = query_digest(*store->privacy.secret(), "shoes", {{{"Q", "vpn broken"}}}, "Q");
  const auto at = std::find_if(judged->begin(), judged->end(),
                               [&](const JudgedQuery& query) { return query.query == unified; });
  REQUIRE(at != judged->end());
  REQUIRE(at->judgments.size() == 1);
  CHECK(at->judgments[0].grade == 1);
  CHECK((**store->searches.find(id)).query == unified);
}
