#include "service/http/session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "service/http/server.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

enum class Slow { header, body, chunks, read };

/// A client that never finishes: it sends a head or a body byte by byte, or does not read the answer.
struct SlowClient {
  SlowClient(std::uint16_t port, Slow kind_in)
      : kind(kind_in), connection(port, kind_in == Slow::read ? 4096 : 0) {
    if (kind == Slow::header) connection.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
    if (kind == Slow::body)
      connection.send(
          "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          "Content-Length: 100000\r\n\r\n");
    if (kind == Slow::chunks)
      connection.send(
          "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          "Transfer-Encoding: chunked\r\n\r\n");
    if (kind == Slow::read) connection.send("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  void trickle() {
    if (kind != Slow::read) connection.send(kind == Slow::chunks ? "1\r\nx\r\n" : "x");
  }

  Slow kind;
  RawClient connection;
};

struct SlowLoad {
  int clients = 0;  ///< of each kind
  std::string limits;
  double seconds = 0;      ///< all slow clients must be disconnected within this time
  double most_p99_ms = 0;  ///< upper bound for normal searches at the same time
};

void check_slow_clients(const SlowLoad& load) {
  TestServer server(TestServer::default_answer, load.limits);
  std::vector<std::unique_ptr<SlowClient>> slow;
  for (int i = 0; i < load.clients; ++i)
    for (const Slow kind : {Slow::header, Slow::body, Slow::chunks, Slow::read})
      slow.push_back(std::make_unique<SlowClient>(server.port(), kind));
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<double> normal_ms;
  std::size_t round = 0;
  RawClient normal(server.port());
  while (server.server().counts().accepted < slow.size() + 1) std::this_thread::yield();
  while (normal_ms.empty() || (server.server().counts().open > 1 && passed() < 3 * load.seconds)) {
    for (std::size_t i = round++ % 50; i < slow.size(); i += 50) slow[i]->trickle();
    const auto asked = std::chrono::steady_clock::now();
    normal.send("GET /search?q=n" + std::to_string(round) +
                "&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n");
    REQUIRE(status_in(normal.read_response()) == 200);
    normal_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - asked).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const double seconds = passed();
  std::sort(normal_ms.begin(), normal_ms.end());
  const double p99 = normal_ms[normal_ms.size() * 99 / 100];
  INFO(slow.size() << " slow clients cut within " << seconds << " s, p99 of " << normal_ms.size()
                   << " normal searches " << p99 << " ms");
  CHECK(server.server().counts().open <= 1);
  CHECK(seconds <= load.seconds);
  CHECK(p99 <= load.most_p99_ms);
  if (load.clients >= 1000) WARN("cut within " << seconds << " s, normal p99 " << p99 << " ms");
}

}  // namespace

TEST_CASE("Slow clients are disconnected while others are served", "[service][slow]") {
  check_slow_clients(
      {10, "limits: {header_seconds: 0.3, body_seconds: 0.3, write_seconds: 0.3}\n", 60, 60'000});
}

// The limits leave most of the 10 s to a busy machine. A client that gains time by sending another byte is
// never cut, however long the test waits.
TEST_CASE("With 1000 slow clients of each kind all are cut in 10 s and normal p99 stays below 250 ms",
          "[service][slow][full]") {
  check_slow_clients(
      {1000, "limits: {max_connections: 5000, header_seconds: 2, body_seconds: 3, write_seconds: 4}\n", 10,
       250});
}

TEST_CASE("A connection that could not be closed to make room counts again", "[service][slow][security]") {
  service::ConnectionTable table;
  struct Client {
    std::optional<service::ConnectionTable::Seat> seat;
    int closed = 0;
  };
  const auto join = [&](Client& client, const std::string& address) {
    auto seat = table.add(address, 2, 0);
    if (!seat) return false;
    client.seat.emplace(std::move(*seat));
    client.seat->set_close([&client] { ++client.closed; });
    return true;
  };
  std::array<Client, 6> clients;
  REQUIRE(join(clients[0], "a"));
  REQUIRE(join(clients[1], "a"));
  REQUIRE(join(clients[2], "b"));  // the longest idle one has to leave
  CHECK(clients[0].closed == 1);
  clients[0].seat->set_waiting(false);  // but a request came first
  clients[0].seat->stay();
  // three connections stay, so two have to leave for the next one
  REQUIRE(join(clients[3], "c"));
  CHECK(clients[1].closed == 1);
  CHECK(clients[2].closed == 1);
  clients[1].seat.reset();
  clients[2].seat.reset();
  clients[3].seat->set_waiting(false);
  CHECK_FALSE(join(clients[4], "d"));  // two are busy
  clients[0].seat.reset();
  CHECK(join(clients[5], "d"));
}

TEST_CASE("Unread answers of a client are limited in bytes", "[service][slow][security]") {
  service::UnsentAnswers unsent;
  const std::size_t most = service::UnsentAnswers::kMostOfClient;
  const auto large = unsent.add("a", 2 * most, false);  // one answer is always sent
  CHECK(large != nullptr);
  CHECK(unsent.add("a", 1, false) == nullptr);
  auto whole = unsent.add("b", most, false);
  CHECK(whole != nullptr);
  CHECK(unsent.add("b", 1, false) == nullptr);
  whole.reset();
  const auto little = unsent.add("b", 1, false);
  CHECK(little != nullptr);
  CHECK(unsent.add("b", most - 1, false) != nullptr);
  const auto of_proxy = unsent.add("proxy", most, true);
  const auto more_of_proxy = unsent.add("proxy", 7 * most, true);
  CHECK((of_proxy != nullptr && more_of_proxy != nullptr));
  CHECK(unsent.add("proxy", 1, true) == nullptr);
}

TEST_CASE("A client that does not read its answers gets no more large ones", "[service][slow][security]") {
  const bool is_shared = GENERATE(false, true);  // a body of its own, or a frame that answers share
  std::atomic<int> answers{0};
  const auto handler = [&](const service::HttpRequest&, std::shared_ptr<service::Responder> out) {
    std::string text(20 << 20, 'x');
    service::HttpResponse response = service::make_response(200, "text/plain", "");
    if (is_shared)
      response.frame = std::make_shared<const service::BodyFrame>(service::BodyFrame{{std::move(text)}, {}});
    else
      response.body = std::move(text);
    out->send(std::move(response));
    ++answers;
  };
  const auto server = std::move(service::HttpServer::start({}, handler).value());
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  {
    RawClient lazy(server->port(), 4096);
    lazy.send(request);
    while (answers == 0) std::this_thread::yield();
    RawClient second(server->port());
    second.send(request);
    const std::string refused = second.read_response();
    CHECK(status_in(refused) == 503);
    CHECK(refused.find("Retry-After: 1") != std::string::npos);
  }
  while (server->counts().open > 0) std::this_thread::yield();
  RawClient third(server->port());
  for (int i = 0; i < 2; ++i) {  // what it has read does not count
    third.send(request);
    CHECK(status_in(third.read_response()) == 200);
  }
  server->stop(std::chrono::seconds(1));
}

TEST_CASE("A client that sends far too long a body gets its refusal whole", "[service][http]") {
  TestServer server;
  const std::string head =
      "POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string body(20 << 20, ' ');
  for (const bool is_chunked : {false, true}) {
    RawClient client(server.port());
    REQUIRE(client.send(head + (is_chunked ? "Transfer-Encoding: chunked\r\n\r\n1400000\r\n"
                                           : "Content-Length: 20971520\r\n\r\n")));
    CHECK(client.send(body));  // all of it, before the answer is read
    const std::string answer = client.read_all();
    CHECK(status_in(answer) == 413);
    CHECK(body_in(answer).ends_with("}\n"));
  }
}

TEST_CASE("A client that goes on sending what is refused is cut off", "[service][slow][security]") {
  TestServer server;
  RawClient client(server.port());
  client.send("POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1099511627776\r\n\r\n");
  const std::string piece(1 << 20, ' ');
  int pieces = 0;
  while (pieces < 1000 && client.send(piece)) ++pieces;
  CHECK(pieces < 200);
}

TEST_CASE("An answer in pieces to a client that does not read is cut off", "[service][slow][security]") {
  const std::string piece(1 << 20, 'x');
  const auto handler = [&](const service::HttpRequest& request, std::shared_ptr<service::Responder> out) {
    out->begin(service::make_response(200, "text/plain", ""));
    const int pieces = request.path == "/long" ? 40 : 8;
    for (int i = 0; i < pieces; ++i) out->write(piece);
    out->end();
  };
  const auto server = std::move(service::HttpServer::start({}, handler).value());
  const auto ask = [](RawClient& client, const std::string& path) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  };
  {
    RawClient lazy(server->port(), 4096);
    ask(lazy, "/long");
    while (server->counts().accepted == 0 || server->counts().open > 0) std::this_thread::yield();
    CHECK(server->counts().timed_out == 0);
  }
  for (int i = 0; i < 6; ++i) {  // what was sent or given up does not count
    RawClient client(server->port());
    ask(client, "/short");
    CHECK(body_in(client.read_all()).ends_with("\r\n0\r\n\r\n"));
  }
  server->stop(std::chrono::seconds(1));
}

TEST_CASE("An answer in pieces to HTTP/1.0 ends with its connection", "[service][http]") {
  TestServer server;
  RawClient client(server.port());
  client.send("GET /v1/search/stream?q=ada HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  const std::string answer = client.read_all();
  CHECK(answer.find("event: final") != std::string::npos);
  CHECK(answer.find("Connection: close") != std::string::npos);
  CHECK(answer.find("Transfer-Encoding") == std::string::npos);
}
