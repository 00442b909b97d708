#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/serve_process.h"

using namespace metafuse::test;

namespace {

/// Generous limits: on busy cores a search may wait long, and a refusal would count as a dropped request.
const std::string kPatient = "limits: {max_queue: 1000, queue_seconds: 60}\n";

/// How the requests of the clients ended.
struct Counts {
  std::atomic<int> answered{0};
  std::atomic<int> dropped{0};
  std::mutex mutex;
  std::string last_dropped;  ///< the text that came instead of an answer

  void drop(const std::string& answer) {
    ++dropped;
    const std::lock_guard lock(mutex);
    last_dropped = answer.empty() ? "nothing" : answer;
  }
};

/// Sends requests over persistent connections until the server accepts no more connections.
void send_until_gone(std::uint16_t port, Counts& counts) {
  try {
    while (true) {
      auto last_sent = std::chrono::steady_clock::now();
      RawClient client(port);
      while (true) {
        client.send("GET /search?q=ada&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n");
        // On busy cores this thread may send so late that the server, which waits from the previous request
        // on, has already closed the connection.
        const auto sent = std::chrono::steady_clock::now();
        const bool was_late = sent - last_sent > std::chrono::milliseconds(300);
        last_sent = sent;
        const std::string answer = client.read_response();
        if (status_in(answer) == 200)
          ++counts.answered;
        else if (!answer.empty() || !was_late)
          counts.drop(answer);
        if (answer.empty() || answer.find("Connection: close") != std::string::npos) break;
      }
    }
  } catch (const std::runtime_error&) {
    return;  // refused: the listener is closed
  }
}

void end_under_load(int requests) {
  ServeProcess server("127.0.0.1:0", kPatient);
  const std::uint16_t port = server.port();
  Counts counts;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back([&] { send_until_gone(port, counts); });
  CHECK(becomes_true([&] { return counts.answered >= requests; }));
  CHECK(server.process().end(SIGTERM) == 0);
  for (std::thread& client : clients) client.join();
  INFO(counts.last_dropped);
  CHECK(counts.dropped == 0);
}

/// Every fourth file is broken.
void reload_under_load(int reloads) {
  ServeProcess server("127.0.0.1:0", kPatient);
  const std::uint16_t port = server.port();
  Counts counts;
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) clients.emplace_back([&] { send_until_gone(port, counts); });
  for (int i = 0; i < reloads; ++i) {
    if (i % 4 == 3)
      server.folder().write("templates/d.yaml", "version: [\n");
    else
      server.write_templates("Number" + std::to_string(i));
    const int before = counts.answered;
    ::kill(server.process().id(), SIGHUP);
    CHECK(becomes_true([&] { return counts.answered > before + 5; }));
  }
  CHECK(server.process().end(SIGTERM) == 0);
  for (std::thread& client : clients) client.join();
  INFO(counts.last_dropped);
  CHECK(counts.dropped == 0);
}

}  // namespace

TEST_CASE("SIGHUP with a broken file keeps the previous state and logs why", "[service][serve]") {
  ServeProcess server;
  CHECK(status_in(server.get("/readyz")) == 200);
  CHECK(server.get("/search?q=ada&format=json").find("https://ada.example/") != std::string::npos);
  server.write_templates("Second");
  ::kill(server.process().id(), SIGHUP);
  CHECK(becomes_true([&] { return server.get("/").find("Second") != std::string::npos; }));
  server.folder().write("templates/d.yaml", "version: 1\nwat: 2\n");
  ::kill(server.process().id(), SIGHUP);
  CHECK(becomes_true([&] { return read_file(server.log()).find("reload refused") != std::string::npos; }));
  CHECK(read_file(server.log()).find("d.yaml:2:1: ") != std::string::npos);
  CHECK(server.get("/").find("Second") != std::string::npos);
  CHECK(server.process().end(SIGTERM) == 0);
}

TEST_CASE("A port in use is one clear error", "[service][serve]") {
  ServeProcess first;
  ServeProcess second("127.0.0.1:" + std::to_string(first.port()));
  CHECK(second.process().wait() == 69);
  CHECK(read_file(second.log()).find("metafuse: cannot listen on 127.0.0.1:") != std::string::npos);
}

TEST_CASE("SIGTERM under load drops no accepted request", "[service][serve]") {
  end_under_load(200);
}

TEST_CASE("SIGTERM under load drops none of 10000 requests", "[service][serve][full]") {
  end_under_load(10000);
}

TEST_CASE("Reloads under load fail no request even if a quarter of the files are broken",
          "[service][serve]") {
  reload_under_load(8);
}

TEST_CASE("A total of 200 reloads under load with 50 broken files fail no request",
          "[service][serve][full]") {
  reload_under_load(200);
}

TEST_CASE("A reload applies new limits and names settings that need a restart", "[service][serve]") {
  ServeProcess server;
  CHECK(status_in(server.get("/search?q=ada&format=json")) == 200);
  server.folder().write(
      "metafuse.yaml",
      "version: 1\nlisten: 127.0.0.1:1\nworkers: 3\ntemplates: [templates/*.yaml]\nengines: "
      "[engines.yaml]\nstore_max_bytes: 5000000\ntrusted_proxies: [10.0.0.0/8]\nprivacy: {hash_queries: "
      "true}\nlimits: "
      "{requests_per_second: 0.001, burst: 1}\n");
  ::kill(server.process().id(), SIGHUP);
  CHECK(becomes_true(
      [&] { return read_file(server.log()).find(R"("event":"reloaded")") != std::string::npos; }));
  const std::string log = read_file(server.log());
  CHECK(log.find(R"("event":"needs a restart","key":"listen")") != std::string::npos);
  CHECK(log.find(R"("event":"needs a restart","key":"workers")") != std::string::npos);
  CHECK(log.find(R"("event":"needs a restart","key":"store_max_bytes")") != std::string::npos);
  CHECK(log.find(R"("event":"needs a restart","key":"trusted_proxies")") != std::string::npos);
  CHECK(log.find(R"("event":"needs a restart","key":"privacy.hash_queries")") != std::string::npos);
  CHECK(log.find(R"("key":"store")") == std::string::npos);
  CHECK(status_in(server.get("/search?q=ada&format=json")) == 200);
  const std::string refused = server.get("/search?q=ada&format=json");
  CHECK(status_in(refused) == 429);
  CHECK(refused.find("\r\nRetry-After: ") != std::string::npos);
  CHECK(server.process().end(SIGTERM) == 0);
}
