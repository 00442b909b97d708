#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/digest.h"
#include "core/json.h"
#include "service/access/gate.h"
#include "service/http/session.h"
#include "tests/support/manual_clock.h"
#include "tests/support/serve_process.h"
#include "tests/support/test_server.h"

// What a client must not be able to do, whatever it sends. Each test failed before its defence was built.

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

TEST_CASE("A preview from another site's page reaches no engine", "[service][security]") {
  TestServer server;
  const std::string body = R"({"query":"ada","live":true})";
  const auto ask = [&](const std::string& type, const std::string& headers) {
    return status_in(server.post("/v1/templates/pages/preview", type, body, headers));
  };
  CHECK(ask("text/plain", "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n") == 403);
  CHECK(ask("text/plain", "") == 415);
  CHECK(server.fetcher().fetches() == 0);
}

TEST_CASE("Only administrators may read the text of a template version", "[service][security]") {
  TestServer server(TestServer::default_answer, "store: state.db\nkeys: [{name: a, roles: [admin], sha256: " +
                                                    sha256_hex("admin-key") + "}]\n");
  const auto open = [&](const std::string& key) {
    return server.post("/templates/pages", "application/x-www-form-urlencoded",
                       "action=version-2&key=" + key);
  };
  CHECK(status_in(open("")) == 403);
  CHECK(status_in(open("guess")) == 403);
  CHECK(status_in(open("admin-key")) == 200);
}

TEST_CASE("Forms of our own pages send their origin even over plain HTTP", "[service][security]") {
  TestServer server;
  // with no-referrer, browsers send `Origin: null` with a form, as they do for a foreign page
  CHECK(server.get("/").find("\r\nReferrer-Policy: same-origin\r\n") != std::string::npos);
}

TEST_CASE("HEAD of a stream has no body", "[service][security]") {
  TestServer server;
  RawClient client(server.port());
  client.send(
      "HEAD /v1/search/stream?q=ada HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answers = client.read_all();
  CHECK(answers.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"));
  CHECK(answers.substr(answers.find("\r\n\r\n") + 4).starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("A connection closes if any Connection header asks for it", "[service][security]") {
  TestServer server;
  for (const char* lines : {"Connection: close\r\n", "Connection: close, TE\r\n", "Connection: TE,Close\r\n",
                            "Connection: TE\r\nConnection: close\r\n"}) {
    INFO(lines);
    RawClient client(server.port());
    client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + std::string(lines) + "\r\n");
    const std::string answer = client.read_all();  // would never return if the connection stayed open
    CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
  }
}

TEST_CASE("An exception of a handler fails only its own request even within a stream",
          "[service][security]") {
  TestServer server([](const ExpandedQuery& query) -> fetchers::FetchedList {
    if (query.text.find("throw") != std::string::npos && query.engine == "two")
      throw std::runtime_error("us");
    return TestServer::default_answer(query);
  });
  RawClient client(server.port());
  const std::string host = " HTTP/1.1\r\nHost: localhost\r\n";
  client.send("GET /v1/search/stream?q=throw" + host + "\r\nGET /search?q=throw&format=json" + host +
              "\r\nGET /search?q=ada&format=json" + host + "Connection: close\r\n\r\n");
  const std::string answers = client.read_all();
  const std::size_t end = answers.find("\r\n0\r\n\r\n");
  REQUIRE(end != std::string::npos);
  CHECK(answers.find("HTTP/1.1 500") > end);  // there is no second head inside the stream
  CHECK(answers.substr(end + 7).starts_with("HTTP/1.1 500"));
  CHECK(answers.substr(answers.rfind("HTTP/1.1 ")).starts_with("HTTP/1.1 200"));
}

TEST_CASE("Idle connections are closed to make room for new ones", "[service][security]") {
  TestServer server(TestServer::default_answer, "limits: {max_connections: 8}\n");
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 8; ++i) {
    idle.push_back(std::make_unique<RawClient>(server.port()));
    idle.back()->send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(status_in(idle.back()->read_response()) == 200);
  }
  CHECK(status_in(server.get("/search?q=ada&format=json")) == 200);
  CHECK(idle.front()->read_all().empty());  // the one that was idle longest is closed
  CHECK(server.server().counts().displaced >= 1);
}

TEST_CASE("A client may hold only its share of the connections", "[service][security]") {
  TestServer server(TestServer::default_answer, "limits: {connections_per_client: 3}\n");
  std::vector<std::unique_ptr<RawClient>> open;
  for (int i = 0; i < 4; ++i) {
    open.push_back(std::make_unique<RawClient>(server.port()));
    open.back()->send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(status_in(open.back()->read_response()) == (i < 3 ? 200 : 503));
  }
}

TEST_CASE("The client with most connections loses its longest idle one", "[service][security]") {
  ConnectionTable table;
  std::vector<std::string> closed;
  std::vector<ConnectionTable::Seat> seats;
  const auto sit = [&](const std::string& client, const std::string& name) {
    auto seat = table.add(client, 4, 0);
    if (!seat) return false;
    seat->set_close([&closed, name] { closed.push_back(name); });
    seats.push_back(std::move(*seat));
    return true;
  };
  for (const char* name : {"a1", "b1", "b2", "b3"}) CHECK(sit(std::string(1, name[0]), name));
  seats[1].set_waiting(false);  // b1's request is being answered
  CHECK(sit("c", "c1"));
  CHECK(closed == std::vector<std::string>{"b2"});
  CHECK(sit("d", "d1"));  // each client has one connection, b has two
  CHECK(closed.back() == "b3");
  for (auto& seat : seats) seat.set_waiting(false);
  CHECK_FALSE(sit("e", "e1"));
  seats[0].set_waiting(true);
  CHECK(sit("e", "e1"));
  CHECK(closed.back() == "a1");
}

TEST_CASE("A batch costs as many tokens as its calls", "[service][security]") {
  TestServer server(TestServer::default_answer, "limits: {requests_per_second: 0.001, burst: 5}\n");
  const auto batch = [&](int calls) {
    std::string body;
    for (int i = 0; i < calls; ++i)
      body += (i > 0 ? "," : "") + std::string(R"({"jsonrpc":"2.0","id":)") + std::to_string(i) +
              R"(,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"q)" +
              std::to_string(i) + "\"}}}";
    return status_in(server.post("/mcp", "application/json", "[" + body + "]"));
  };
  CHECK(batch(20) == 429);
  CHECK(server.fetcher().fetches() == 0);
  CHECK(batch(4) == 200);  // of the five tokens the refused batch took one
  CHECK(server.fetcher().fetches() == 4);
  CHECK(batch(1) == 429);
}

TEST_CASE("Open routes have a rate limit and probes have none", "[service][security]") {
  TestServer server(TestServer::default_answer, "limits: {requests_per_second: 0.001, burst: 1}\n");
  int served = 0;
  for (int i = 0; i < 20; ++i) served += status_in(server.get("/")) == 200 ? 1 : 0;
  CHECK(served == 10);
  CHECK(status_in(server.get("/v1/evaluation")) == 429);
  for (int i = 0; i < 20; ++i) {
    CHECK(status_in(server.get("/healthz")) == 200);
    CHECK(status_in(server.get("/readyz")) == 200);
    CHECK(status_in(server.get("/metrics")) == 200);
  }
}

TEST_CASE("A server that listens beyond loopback has a rate limit by default", "[service][security]") {
  const auto served = [](const std::string& host) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->config.listen_host = host;
    snapshot->config.server_names = {"*"};
    Metrics metrics;
    ManualClock clock;
    Gate gate({snapshot->config, metrics, clock, [] { return UnixTime{0}; }, {}});
    RouteRules rules;
    rules.access = Access::search;
    rules.cost = Cost::normal;
    int count = 0;
    for (int i = 0; i < 100; ++i) {
      Exchange exchange;
      exchange.snapshot = snapshot;
      exchange.request.peer = "192.0.2.7";
      exchange.arrived = clock.now();
      if (!gate.check(&rules, exchange)) ++count;
    }
    return count;
  };
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1", "search.example"}) CHECK(served(host) == 20);
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) CHECK(served(host) == 100);
}

TEST_CASE("Metrics and probes do not wait for a worker", "[service][security]") {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  std::atomic<int> held{0};
  TestServer server(
      [&](const ExpandedQuery& query) {
        ++held;
        end.wait();
        return TestServer::default_answer(query);
      },
      "workers: 1\nlimits: {max_queue: 1}\n");
  RawClient busy(server.port());
  busy.send("GET /search?q=ada&format=json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  REQUIRE(becomes_true([&] { return held > 0; }));
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) CHECK(status_in(server.get(path)) == 200);
  may_end.set_value();
  CHECK(status_in(busy.read_all()) == 200);
}

TEST_CASE("Programs started by the server inherit no socket", "[service][security]") {
  TestServer server;
  RawClient client(server.port());
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(status_in(client.read_response()) == 200);
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    const int number = std::stoi(entry.path().filename().string());
    if (!target.starts_with("socket:") || number <= STDERR_FILENO) continue;
    ++sockets;
    CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(sockets >= 3);
}

TEST_CASE("Requests do not wait for a reader of the log", "[service][security]") {
  ServeProcess files;  // only its folder is used
  const std::string pipe = files.folder().path("pipe");
  const std::string out = files.folder().path("out");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // this end is never read
  RunningProgram server({"/bin/sh", "-c", "exec \"$0\" serve --config \"$1\" >\"$2\" 2>\"$3\"",
                         METAFUSE_EXECUTABLE, files.folder().path("metafuse.yaml"), out, pipe},
                        files.folder().path("sh"));
  const std::string start = "http://127.0.0.1:";
  REQUIRE(becomes_true([&] { return read_file(out).find('\n') != std::string::npos; }));
  const auto port = static_cast<std::uint16_t>(std::stoi(read_file(out).substr(start.size())));
  RawClient client(port);
  // 64 KiB fill the pipe and some thousand lines fill the queue behind it
  const auto ask = [&](const std::string& path) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return client.read_response();
  };
  int served = 0;
  for (int i = 0; i < 6000; ++i) served += status_in(ask("/config")) == 200 ? 1 : 0;
  CHECK(served == 6000);
  const std::string metrics = ask("/metrics");
  CHECK(metrics.find("\nmetafuse_log_lines_dropped_total ") != std::string::npos);
  CHECK(metrics.find("\nmetafuse_log_lines_dropped_total 0\n") == std::string::npos);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(server.end(SIGTERM) == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(9));
  ::close(reader);
}

TEST_CASE("SIGTERM ends the process in time even if an engine hangs", "[service][security]") {
  ServeProcess server("127.0.0.1:0", "deadline: 100\nlimits: {drain_seconds: 1}\n");
  CHECK(status_in(server.get("/readyz")) == 200);
  server.folder().write("engines.yaml",
                        "engines:\n  - {name: local, engine: command, command: [/bin/sleep, '{{QUERY}}'], "
                        "timeout: 100, delimiter: {chars: ' ', keys: [url]}}\n");
  ::kill(server.process().id(), SIGHUP);
  REQUIRE(becomes_true(
      [&] { return read_file(server.log()).find(R"("event":"reloaded")") != std::string::npos; }));
  RawClient hanging(server.port());
  hanging.send("GET /search?q=100&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n");
  REQUIRE(becomes_true(
      [&] { return server.get("/metrics").find("\nmetafuse_workers_running 1\n") != std::string::npos; }));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(server.process().end(SIGTERM) == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));  // not 100
  CHECK(read_file(server.log()).find(R"("level":"warning","event":"stopped late")") != std::string::npos);
}

TEST_CASE("Heads and bodies have separate deadlines", "[service][security]") {
  const std::string stalled_head = "GET / HTTP/1.1\r\nHost: localhost\r\nX: ";
  const std::string stalled_body =
      "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "15\r\nConnection: close\r\n\r\n{\"query\"";
  {
    TestServer server(TestServer::default_answer, "limits: {header_seconds: 600, body_seconds: 0.1}\n");
    RawClient body(server.port());
    body.send(stalled_body);
    REQUIRE(becomes_true([&] { return server.server().counts().timed_out == 1; }));
    CHECK(status_in(body.read_all()) == 408);
  }
  TestServer server(TestServer::default_answer, "limits: {header_seconds: 0.1, body_seconds: 600}\n");
  RawClient body(server.port());
  body.send(stalled_body);
  for (unsigned i = 1; i <= 3; ++i) {  // longer than the head's deadline
    RawClient head(server.port());
    head.send(stalled_head);
    REQUIRE(becomes_true([&] { return server.server().counts().timed_out == i; }));
    CHECK(status_in(head.read_all()) == 408);
  }
  body.send(":\"ada\"}");
  CHECK(status_in(body.read_all()) == 200);
}
