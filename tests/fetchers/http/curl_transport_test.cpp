#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/http/transport.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/chaos_server.h"
#include "tests/support/tls_server.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

EngineRequest chaos_request(const ChaosServer& server, const std::string& fault) {
  EngineRequest request;
  request.engine = "e";
  request.url = "http://" + server.origin() + "/" + fault + "?q=x";
  request.own_origin = server.origin();
  return request;
}

TimePoint in_seconds(int count) {
  return std::chrono::steady_clock::now() + seconds(count);
}

/// The answers to requests in the order in which they arrived.
struct Endings {
  struct One {
    int number;
    HttpAnswer answer;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<One> all;

  Transport::Done note(int number) {
    return [this, number](HttpAnswer answer) {
      const std::lock_guard lock(mutex);
      all.push_back({number, std::move(answer)});
      changed.notify_all();
    };
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return all.size() >= count; });
  }
};

}  // namespace

TEST_CASE("A thread that waits alone does the transport's work itself", "[fetchers][transport]") {
  const ChaosServer server;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  for (int search = 0; search < 3; ++search) {
    TransportWait wait(*transport, true);
    int answered = 0;
    const auto own_thread = std::this_thread::get_id();
    for (int i = 0; i < 4; ++i)
      transport->send(chaos_request(server, "ok"), [&](const HttpAnswer& answer) {
        CHECK(answer.status == 200);
        CHECK(std::this_thread::get_id() == own_thread);
        ++answered;
      });

    while (answered < 4)
      REQUIRE(wait.work(in_seconds(10), [&, before = answered] { return answered > before; }));
  }
}

TEST_CASE("While a thread reads its answer, the requests of other threads are answered",
          "[fetchers][transport][security]") {
  const ChaosServer server;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  std::mutex mutex;
  std::condition_variable changed;
  bool is_reading = false;
  bool has_other = false;
  std::thread other([&] {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return is_reading; });
    }
    TransportWait wait(*transport, true);
    transport->send(chaos_request(server, "ok"), [&](const HttpAnswer&) {
      const std::lock_guard lock(mutex);
      has_other = true;
      changed.notify_all();
    });
    CHECK_FALSE(wait.work(in_seconds(10), [] { return false; }));
    std::unique_lock lock(mutex);
    changed.wait_for(lock, seconds(10), [&] { return has_other; });
  });
  {
    TransportWait wait(*transport, true);
    int answered = 0;
    transport->send(chaos_request(server, "ok"), [&](const HttpAnswer&) { ++answered; });
    while (answered == 0) REQUIRE(wait.work(in_seconds(10), [&] { return answered > 0; }));
    std::unique_lock lock(mutex);
    is_reading = true;  // and takes long: it ends only with the other thread's answer
    changed.notify_all();
    CHECK(changed.wait_for(lock, seconds(10), [&] { return has_other; }));
    lock.unlock();
    CHECK_FALSE(wait.work(in_seconds(10), [] { return false; }));
  }
  other.join();

  TransportWait wait(*transport, true);
  int answered = 0;
  transport->send(chaos_request(server, "ok"), [&](const HttpAnswer&) { ++answered; });
  // a thread that has just left may still hold the transport for a moment
  for (int tries = 0; answered == 0 && tries < 10'000; ++tries)
    if (!wait.work(in_seconds(10), [&] { return answered > 0; }))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(answered == 1);
}

TEST_CASE("What a thread sends without waiting is answered while the waiting thread reads",
          "[fetchers][transport][security]") {
  const ChaosServer server;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  Endings endings;
  {
    TransportWait wait(*transport, true);
    transport->send(chaos_request(server, "hang-after-request"), [](const HttpAnswer&) {});
    std::thread([&] { transport->send(chaos_request(server, "ok"), endings.note(1)); }).join();
    CHECK_FALSE(wait.work(in_seconds(10), [] { return true; }));  // and now it reads for long
    endings.wait_for(1);
  }
}

TEST_CASE("A wait that ends early leaves its transfers to the transport's thread", "[fetchers][transport]") {
  const ChaosServer server;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  std::atomic<int> answered = 0;
  {
    TransportWait wait(*transport, true);
    transport->send(chaos_request(server, "ok"), [&](const HttpAnswer&) { ++answered; });
  }
  while (answered == 0) std::this_thread::yield();
  CHECK(answered == 1);
}

TEST_CASE("Two waiting threads do not delay each other's answers", "[fetchers][transport]") {
  const ChaosServer server;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  TransportWait first(*transport, true);
  transport->send(chaos_request(server, "hang-after-request"), [](const HttpAnswer&) {});
  std::atomic<bool> is_answered = false;
  std::thread other([&] {
    TransportWait second(*transport, true);
    CHECK_FALSE(second.work(in_seconds(0), [] { return false; }));
    transport->send(chaos_request(server, "ok"), [&](const HttpAnswer&) { is_answered = true; });
    while (!is_answered) std::this_thread::yield();
  });
  CHECK_FALSE(first.work(in_seconds(10), [] { return false; }));  // hands over although its request hangs
  other.join();
}

TEST_CASE("A further TLS connection to an engine resumes an earlier session", "[fetchers][tls]") {
  const TlsServer server(R"({"results": [{"url": "http://a.example/", "title": "t"}]})");
  const std::vector<ExpandedQuery> two = {{"t", "e", "a"},
                                          {"t", "e", "b"}};  // one of them needs a new connection
  const Clock& clock = machine_clock();
  // if the first answer arrives before the second transfer begins, the second one reuses its connection
  for (int attempt = 0; attempt < 50 && server.resumed() == 0; ++attempt) {
    const auto fetcher = fetcher_of(block("e", "https://" + server.origin("ok") + "/?q={query}",
                                          "verify: \"" + server.authority_file() + "\"", "5"));
    REQUIRE_FALSE(fetch_one(*fetcher, "e").has_failed());
    for (const FetchedList& list : fetcher->fetch(two, {.deadline = Deadline(clock, seconds(5))}, {}))
      CHECK_FALSE(list.has_failed());
  }
  CHECK(server.resumed() == 1);
}

TEST_CASE("An engine's running requests are limited and further ones wait for one to end",
          "[fetchers][transport][limits]") {
  const ChaosServer server;
  Endings endings;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  const auto send = [&](const std::string& engine, const std::string& fault, int number, Duration timeout) {
    EngineRequest request = chaos_request(server, fault);
    request.engine = engine;
    request.max_connections = 2;
    request.timeout = timeout;
    transport->send(std::move(request), endings.note(number));
  };
  send("e", "hang-after-request", 1, milliseconds(300));
  send("e", "hang-after-request", 2, seconds(600));
  send("e", "ok", 3, seconds(60));
  send("f", "ok", 4, seconds(60));
  endings.wait_for(3);
  std::vector<int> order;
  for (const auto& one : endings.all) {
    CHECK(one.answer.failure == (one.number == 1 ? Failure::timeout : Failure::none));
    if (one.number != 4) order.push_back(one.number);  // the other engine has its own limit
  }
  CHECK(order == std::vector<int>{1, 3});
}

TEST_CASE("One sender's requests that fill an engine's connections make only its own wait",
          "[fetchers][transport][limits]") {
  const ChaosServer server;
  Endings endings;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  const auto send = [&](const std::string& sender, const std::string& fault, int number) {
    EngineRequest request = chaos_request(server, fault);
    request.sender = sender;
    request.max_connections = 4;
    request.timeout = seconds(600);
    transport->send(std::move(request), endings.note(number));
  };
  send("other", "ok", 0);
  for (int number = 1; number <= 8; ++number) send("crowd", "hang-after-request", number);
  send("other", "ok", 9);
  endings.wait_for(2);
  CHECK(endings.all[0].number + endings.all[1].number == 9);  // 0 and 9, in any order
}

TEST_CASE("Requests start no faster than the engine's rate and are refused if they wait too long",
          "[fetchers][transport][limits]") {
  const ChaosServer server;
  Endings endings;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  const auto send = [&](const std::string& engine, double per_second, int number, Duration timeout) {
    EngineRequest request = chaos_request(server, "ok");
    request.engine = engine;
    request.requests_per_second = per_second;
    request.timeout = timeout;
    transport->send(std::move(request), endings.note(number));
  };
  send("slow", 0.1, 1, seconds(60));
  endings.wait_for(1);
  send("slow", 0.1, 2, milliseconds(50));  // its turn comes in ten seconds
  endings.wait_for(2);
  const auto begin = std::chrono::steady_clock::now();
  for (const int number : {3, 4}) send("quick", 20, number, seconds(60));
  endings.wait_for(4);
  CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(50));
  for (const int number : {5, 6, 7}) send("free", 0, number, seconds(60));
  endings.wait_for(7);
  for (const auto& [number, answer] : endings.all) {
    INFO(number);
    CHECK(answer.failure == (number == 2 ? Failure::rate_limited : Failure::none));
  }
  CHECK(endings.all[1].answer.message.find("max_connections or requests_per_second left no room") !=
        std::string::npos);
  CHECK(server.requests() == 6);
}

TEST_CASE("Up to 4096 requests may wait for an engine and the next is refused at once",
          "[fetchers][transport][limits]") {
  const ChaosServer server;
  Endings endings;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  const auto send = [&](int number) {
    EngineRequest request = chaos_request(server, "hang-after-request");
    request.max_connections = 1;
    request.timeout = seconds(600);
    transport->send(std::move(request), endings.note(number));
  };
  send(0);
  while (server.requests() < 1) std::this_thread::yield();
  for (int i = 1; i <= 4096; ++i) send(i);
  send(4097);
  endings.wait_for(1);
  CHECK(endings.all.size() == 1);
  CHECK(endings.all[0].number == 4097);
  CHECK(endings.all[0].answer.failure == Failure::rate_limited);
  CHECK(endings.all[0].answer.message.find("too many requests wait") != std::string::npos);
}

TEST_CASE("A request with a control character in a header is refused and not sent",
          "[fetchers][transport][security]") {
  const ChaosServer server;
  const auto transport = make_curl_transport(*AddressGuard::make({}));
  const std::pair<std::string, std::string> wrong[] = {
      {"X", "y\r\nContent-Length: 0\r\n\r\nGET /smuggled HTTP/1.1"},
      {"X", "a line\n"},
      {"X", std::string("zero\0", 5)},
      {"X\r\nY", "name"}};
  for (const auto& [name, value] : wrong) {
    Endings endings;
    EngineRequest request = chaos_request(server, "ok");
    request.headers = {{"Accept", "*/*"}, {name, value}};
    transport->send(std::move(request), endings.note(0));
    endings.wait_for(1);
    CHECK(endings.all[0].answer.failure == Failure::not_allowed);
    CHECK(endings.all[0].answer.message.find("control character") != std::string::npos);
  }
  CHECK(server.requests() == 0);

  Endings endings;
  EngineRequest request = chaos_request(server, "ok");
  request.headers = {{"X", "a\ttab is allowed"}, {"Y", ""}};
  transport->send(std::move(request), endings.note(0));
  endings.wait_for(1);
  CHECK(endings.all[0].answer.status == 200);
}
