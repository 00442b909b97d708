// Proxies: when one fails, the error names it, and nothing goes to the engine by another way.

#include <atomic>
#include <string>

#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/chaos_server.h"
#include "tests/support/http_wire.h"
#include "tests/support/loopback_socket.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

/// A port that nobody listens on, or where connections are accepted and never answered.
class MutePort {
 public:
  explicit MutePort(bool listens) : socket_(bound_socket()) {
    if (listens) REQUIRE(::listen(socket_, 8) == 0);
  }
  ~MutePort() { ::close(socket_); }
  MutePort(const MutePort&) = delete;
  MutePort& operator=(const MutePort&) = delete;
  std::string origin() const { return "127.0.0.1:" + std::to_string(port_of(socket_)); }

 private:
  int socket_;
};

FetchedList asked_through(const std::string& proxy, const std::string& url, const std::string& more = "") {
  return fetch_one(*fetcher_of(block("e", url, "proxy: '" + proxy + "'" + more, "0.4")), "e");
}

}  // namespace

TEST_CASE("A proxy that is not there or refuses is named, and nothing is sent around it",
          "[fetchers][security][proxy]") {
  const ChaosServer server;
  const MutePort closed(false);
  for (const std::string scheme : {"http", "socks5", "tor"}) {
    INFO(scheme);
    const FetchedList list = asked_through(scheme + "://" + closed.origin(), server.url("ok"));
    CHECK(list.failure == Failure::refused);
    CHECK(list.message.find("the proxy " + closed.origin() + " refuses or cannot be reached") == 0);
    CHECK(list.message.find("nothing was sent another way") != std::string::npos);
  }
  CHECK(server.requests() == 0);
  // A proxy that does not let us through to a TLS server, and one that speaks no SOCKS.
  const ChaosServer proxy;
  const FetchedList refused = asked_through("http://" + proxy.origin(), server.url("tls-ok"));
  CHECK(refused.message.find("the proxy " + proxy.origin() + " refuses") == 0);
  CHECK(refused.message.find("HTTP 404") != std::string::npos);
  CHECK(server.requests() == 0);
}

TEST_CASE("A proxy that never answers is named when the engine's time is over",
          "[fetchers][security][proxy]") {
  const ChaosServer server;
  const MutePort mute(true);
  for (const std::string scheme : {"http", "socks5", "tor"}) {
    INFO(scheme);
    const FetchedList list = asked_through(scheme + "://" + mute.origin(), server.url("ok"));
    CHECK(list.failure == Failure::timeout);
    CHECK(list.message.find("through the proxy " + mute.origin()) != std::string::npos);
  }
  CHECK(server.requests() == 0);
}

TEST_CASE("Through a proxy no redirect leads to a private name", "[fetchers][security][proxy][ssrf]") {
  const auto requests_for = [](const std::string& host, Failure& failure) {
    std::atomic<int> requests = 0;
    const WireServer proxy(serving_http([&](const std::string&) {
      return ++requests == 1 ? http_response("302 Found", "Location: http://" + host + "/x\r\n")
                             : http_response("404 Not Found", "");
    }));
    failure =
        asked_through("http://127.0.0.1:" + std::to_string(proxy.port()), "http://engine.example/?q={query}")
            .failure;
    return requests.load();
  };
  Failure failure = Failure::none;
  for (const std::string host :
       {"vault.internal", "metadata.google.internal", "nas.local", "router.lan:8080", "x.home.arpa",
        "a.localhost", "intranet", "NAS.Local.", "127.0.0.1", "0x7f.1", "[::1]"}) {
    INFO(host);
    CHECK(requests_for(host, failure) == 1);
    CHECK(failure == Failure::not_allowed);
  }
  CHECK(requests_for("other.example", failure) == 2);
}

TEST_CASE("The password of a proxy is in no message", "[fetchers][security][proxy]") {
  const ChaosServer server;
  const MutePort closed(false);
  const FetchedList list = asked_through("http://ada:hushhush@" + closed.origin(), server.url("ok"));
  CHECK(list.message.find("the proxy " + closed.origin()) == 0);
  CHECK(list.message.find("hush") == std::string::npos);
}

TEST_CASE("A page that lets in only who brings back its cookie is read", "[fetchers][proxy]") {
  const ChaosServer server;
  const FetchedList list = fetch_one(*fetcher_of(block("e", server.url("cookie-wall"))), "e");
  CHECK(list.list.hits.size() == 3);
  CHECK(server.requests() == 2);
  // a loop that no cookie ends
  const FetchedList loop = fetch_one(*fetcher_of(block("e", server.url("redirect-loop"))), "e");
  CHECK(loop.failure == Failure::bad_answer);
  CHECK(loop.message.find("to itself") != std::string::npos);
}
