#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/http/transport.h"
#include "tests/fetchers/chaos_engines.h"
#include "tests/support/chaos_server.h"
#include "tests/support/tls_server.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::seconds;

namespace {

HttpRequest chaos_request(const ChaosServer& server, const std::string& fault) {
  HttpRequest request;
  request.engine = "e";
  request.url = "http://" + server.origin() + "/" + fault + "?q=x";
  request.own_origin = server.origin();
  return request;
}

TimePoint in_seconds(int count) {
  return std::chrono::steady_clock::now() + seconds(count);
}

}  // namespace

TEST_CASE("a thread that waits alone does the transport's work itself", "[fetchers][transport]") {
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

TEST_CASE("a wait that ends early leaves its transfers to the transport's own thread",
          "[fetchers][transport]") {
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

TEST_CASE("of two threads that wait neither holds up the other's answers", "[fetchers][transport]") {
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
  CHECK_FALSE(first.work(in_seconds(10), [] { return false; }));  // gives the work away, though its own hangs
  other.join();
}

TEST_CASE("a further TLS connection to an engine goes on with the session of an earlier one",
          "[fetchers][tls]") {
  const TlsServer server(R"({"results": [{"url": "http://a.example/", "title": "t"}]})");
  const std::vector<ExpandedQuery> two = {{"t", "e", "a"},
                                          {"t", "e", "b"}};  // one of them needs a new connection
  const SteadyClock clock;
  // where the first answer is there before the second transfer begins, that one takes its connection
  for (int attempt = 0; attempt < 50 && server.resumed() == 0; ++attempt) {
    const auto fetcher = fetcher_of(block("e", "https://" + server.origin("ok") + "/?q={query}",
                                          "verify: \"" + server.authority_file() + "\"", "5"));
    REQUIRE_FALSE(fetch_one(*fetcher, "e").has_failed());
    for (const FetchedList& list : fetcher->fetch(two, {.deadline = Deadline(clock, seconds(5))}, {}))
      CHECK_FALSE(list.has_failed());
  }
  CHECK(server.resumed() == 1);
}
