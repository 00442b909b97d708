// Many more clients than the server has workers: every request is answered completely or refused.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

/// How the searches of many clients ended.
struct Crowd {
  std::atomic<int> complete{0};
  std::atomic<int> refused{0};
  std::atomic<int> wrong{0};
};

void ask_often(std::uint16_t port, int requests, int client, Crowd& crowd) {
  RawClient connection(port);
  for (int i = 0; i < requests; ++i) {
    connection.send("GET /search?q=c" + std::to_string(client) + "x" + std::to_string(i) +
                    "&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string answer = connection.read_response();
    const bool is_whole = answer.find("\"unresponsive_engines\":[]") != std::string::npos &&
                          answer.find("http://d.example/") != std::string::npos;
    if (status_in(answer) == 200 && is_whole)
      ++crowd.complete;
    else if (status_in(answer) == 503 && answer.find("\r\nRetry-After: ") != std::string::npos)
      ++crowd.refused;
    else
      ++crowd.wrong;
  }
}

void overload(int clients, int requests) {
  // two workers, at least 1 ms per fetched list, and many more clients than workers
  TestServer server(
      [](const ExpandedQuery& query) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return TestServer::default_answer(query);
      },
      "workers: 2\nlimits: {max_queue: 4, queue_seconds: 0.01}\ncache: {entries: 0}\n");
  Crowd crowd;
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i)
    threads.emplace_back([&, i] { ask_often(server.port(), requests, i, crowd); });
  for (std::thread& thread : threads) thread.join();
  CHECK(crowd.wrong == 0);
  CHECK(crowd.complete > 0);
  CHECK(crowd.refused > 0);
  CHECK(crowd.complete + crowd.refused == clients * requests);
  // after the crowd has gone, every search is served
  Crowd after;
  ask_often(server.port(), 20, 0, after);
  CHECK(after.complete == 20);
  CHECK(server.get("/metrics")
            .find("metafuse_refused_total{reason=\"overload\"} " + std::to_string(crowd.refused)) !=
        std::string::npos);
}

}  // namespace

TEST_CASE("Under overload every answer is complete or says when to retry", "[service][overload]") {
  overload(16, 20);
}

TEST_CASE("Each of 10 240 requests of 64 simultaneous clients is answered or refused",
          "[service][overload][full]") {
  overload(64, 160);
}
