#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "core/name_lookup.h"
#include "service/search/answer_cache.h"
#include "service/store/redis_client.h"
#include "service/store/store.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sample_search.h"
#include "tests/support/tcp_relay.h"
#include "tests/support/temporary_folder.h"

// Stores, caches and name servers that hang: no caller waits for them longer than its bound.

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::opened_store;
using metafuse::test::sample_search;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A longer wait has no bound: each wait that is tested here ends within two seconds on idle cores and would
/// last five seconds, ten seconds or for ever without its bound.
constexpr milliseconds kMuch{4500};

/// Polls until the claim is true, for at most 20 s.
bool becomes_so(const std::function<bool()>& claim) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!claim())
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

Duration time_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - begin;
}

/// A URL of the test server that goes through a relay.
std::string relayed(const std::string& url, const test::TcpRelay& relay) {
  const std::string name = url.substr(std::string("postgresql:///").size(), url.find('?') - 14);
  return "postgresql://tester@127.0.0.1:" + std::to_string(relay.port()) + "/" + name;
}

}  // namespace

TEST_CASE("A PostgreSQL that stops answering delays a few requests by half a second and no more",
          "[service][store][security]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  const std::string url = server->new_database();
  const std::string folder = url.substr(url.find("host=") + 5, url.find("&user") - url.find("host=") - 5);
  test::TcpRelay relay(folder + "/.s.PGSQL.5432");
  const auto store = opened_store(relayed(url, relay));
  const StoredSearch search = sample_search();
  REQUIRE(store->searches.add({&search, 1}).has_value());
  CHECK(store->trouble().empty());
  relay.swallow();
  // Each call waits in vain for an answer until the server is no longer asked.
  for (int i = 0; i < 5; ++i)
    CHECK(time_of([&] { CHECK(store->searches.find(search.id).error().code == Code::unavailable); }) < kMuch);
  CHECK_FALSE(store->trouble().empty());
  CHECK(becomes_so([&] {
    return store->searches.find(search.id).error().text.find("not asked again for a second") !=
           std::string::npos;
  }));
  relay.pass();
  CHECK(becomes_so([&] { return store->searches.find(search.id).has_value(); }));
  CHECK(store->trouble().empty());
  relay.swallow();
  // Background work waits long, but not once the process ends.
  CHECK(time_of([&] {
          std::thread hurries([&] {
            std::this_thread::sleep_for(milliseconds(200));
            store->hurry();
          });
          CHECK_FALSE(store->bytes().has_value());
          hurries.join();
        }) < kMuch);
}

TEST_CASE("Opening a PostgreSQL that never answers fails in time", "[service][store][security]") {
  const test::TcpRelay hole;
  CHECK(time_of([&] {
          const auto store =
              open_store("postgresql://tester@127.0.0.1:" + std::to_string(hole.port()) + "/db");
          REQUIRE(store.has_error());
          CHECK(store.error().code == Code::unavailable);
        }) < kMuch);
  const auto wrong = open_store("postgresql://u:secret@[::1/db");
  REQUIRE(wrong.has_error());
  CHECK(wrong.error().code == Code::bad_config);
  CHECK(wrong.error().text.find("secret") == std::string::npos);
}

TEST_CASE("A Redis that answers byte by byte or never is disconnected", "[service][redis][security]") {
  const Clock& clock = machine_clock();
  const test::TcpRelay hole;
  RedisClient silent({"127.0.0.1", hole.port(), 0, ""}, clock);
  CHECK(time_of([&] { CHECK_FALSE(silent.get("a").has_value()); }) < kMuch);

  const int listener = test::bound_socket();
  ::listen(listener, 4);
  std::atomic<bool> is_done{false};
  std::thread drips([&] {
    const int client = ::accept(listener, nullptr, nullptr);
    const std::string reply = "$1000\r\n" + std::string(1000, 'x');
    for (std::size_t i = 0; i < reply.size() && !is_done; ++i) {
      if (::send(client, &reply[i], 1, MSG_NOSIGNAL) != 1) break;
      std::this_thread::sleep_for(milliseconds(10));
    }
    ::close(client);
  });
  RedisClient dripping({"127.0.0.1", test::port_of(listener), 0, ""}, clock);
  CHECK(time_of([&] { CHECK_FALSE(dripping.get("a").has_value()); }) < kMuch);
  is_done = true;
  drips.join();
  ::close(listener);
}

TEST_CASE("A name lookup does not wait longer than its bound", "[service][security]") {
  NameLookup local("localhost");
  const auto found = local.addresses(seconds(10));
  CHECK(std::find(found.begin(), found.end(), "127.0.0.1") != found.end());
  NameLookup nowhere("no-such-host.invalid");
  CHECK(time_of([&] { CHECK(nowhere.addresses(milliseconds(1)).empty()); }) < kMuch);
  CHECK(NameLookup("192.0.2.1").addresses(Duration::zero()) == std::vector<std::string>{"192.0.2.1"});
  CHECK(NameLookup("2001:db8::1").addresses(Duration::zero()) == std::vector<std::string>{"2001:db8::1"});
}

TEST_CASE("A request joins only work with an earlier deadline and waits no longer than its own",
          "[service][cache][security]") {
  const Clock& clock = machine_clock();
  AnswerCache cache(10, seconds(10), clock);
  std::atomic<bool> may_end{false};
  std::atomic<int> made{0};
  const auto slow = [&]() -> Result<SearchAnswer> {
    ++made;
    while (!may_end) std::this_thread::sleep_for(milliseconds(1));
    return SearchAnswer{};
  };
  const auto quick = [&]() -> Result<SearchAnswer> {
    ++made;
    return fail(Code::usage, "its own");
  };
  const TimePoint now = clock.now();
  std::thread first([&] {
    bool was_cached = false;
    CHECK(cache.get("same", slow, was_cached, now + milliseconds(400)).has_value());
  });
  while (made == 0) std::this_thread::yield();
  bool was_cached = true;
  // its deadline is earlier than that of the running work, so it does its own
  CHECK(cache.get("same", quick, was_cached, now + milliseconds(100)).error().text == "its own");
  CHECK_FALSE(was_cached);
  // a later deadline: it joins, and gives up when the work is not done in time
  CHECK(time_of([&] {
          const auto got = cache.get("same", quick, was_cached, now + milliseconds(500));
          CHECK(got.error().code == Code::try_again);
        }) < kMuch);
  CHECK(was_cached);
  CHECK(made == 2);
  CHECK(cache.waiting() == 0);
  may_end = true;
  first.join();
  CHECK(cache.get("same", quick, was_cached, clock.now()).has_value());
}

TEST_CASE("A request that joined work with much less time asks again for what that lacks",
          "[service][cache][security]") {
  const Clock& clock = machine_clock();
  AnswerCache cache(10, seconds(10), clock);
  std::atomic<bool> may_end{false};
  std::atomic<int> made{0};
  const auto lacking = [&]() -> Result<SearchAnswer> {
    ++made;
    while (!may_end) std::this_thread::yield();
    SearchAnswer answer;
    answer.lists.emplace_back().failure = fetchers::Failure::timeout;
    return answer;
  };
  const auto whole = [&]() -> Result<SearchAnswer> {
    ++made;
    return SearchAnswer{};
  };
  const TimePoint end = clock.now() + seconds(10);
  const auto lacks_lists = [&](const std::function<Result<SearchAnswer>()>& make, milliseconds more) {
    bool was_cached = false;
    const auto answer = cache.get("q", make, was_cached, end + more);
    return answer && (*answer)->has_failures();
  };
  std::atomic<int> lacking_answers{0};
  std::thread first([&] { lacking_answers += lacks_lists(lacking, milliseconds(0)) ? 1 : 0; });
  while (made == 0) std::this_thread::yield();
  std::thread equal([&] { lacking_answers += lacks_lists(whole, milliseconds(100)) ? 1 : 0; });
  std::thread longer([&] { lacking_answers += lacks_lists(whole, seconds(5)) ? 1 : 0; });
  while (cache.waiting() < 2) std::this_thread::yield();
  may_end = true;
  first.join();
  equal.join();
  longer.join();
  CHECK(lacking_answers == 2);
  CHECK(made == 2);
}
