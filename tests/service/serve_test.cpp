#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/child_process.h"
#include "tests/support/raw_client.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse::test;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Looks again until a claim holds, at most 20 s.
bool becomes_true(const std::function<bool()>& claim) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < until) {
    if (claim()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// `metafuse serve` over the embedded engine.
class ServeProcess {
 public:
  explicit ServeProcess(const std::string& listen = "127.0.0.1:0") {
    write_templates("First");
    folder_.write("documents.jsonl", R"({"url":"https://ada.example/","title":"Ada","text":"ada lovelace"})"
                                     "\n");
    folder_.write("engines.yaml", "engines:\n  - {name: local, engine: local, database: local.db}\n");
    folder_.write("metafuse.yaml", "version: 1\nlisten: " + listen +
                                       "\ntemplates: [templates/*.yaml]\nengines: [engines.yaml]\n");
    ChildProcess index({METAFUSE_EXECUTABLE, "index", "--database", folder_.path("local.db"),
                        folder_.path("documents.jsonl")},
                       log());
    REQUIRE(index.wait() == 0);
    server_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{METAFUSE_EXECUTABLE, "serve", "--config", folder_.path("metafuse.yaml")},
        log());
  }

  void write_templates(const std::string& description) const {
    folder_.write("templates/d.yaml", "version: 1\ndomain: d\ndescription: " + description +
                                          "\nslots: {NAME: {required: true}}\ntemplates:\n"
                                          "  - {id: a, engine: local, query: '{NAME|all}'}\n");
  }
  std::string log() const { return folder_.path("log"); }
  ChildProcess& process() { return *server_; }
  const TemporaryFolder& folder() const { return folder_; }

  std::uint16_t port() {
    if (port_ != 0) return port_;
    const std::string start = "http://127.0.0.1:";
    REQUIRE(becomes_true([&] {
      const std::string text = read_file(log());
      const std::size_t at = text.find(start);
      if (at == std::string::npos || text.find('\n', at) == std::string::npos) return false;
      port_ = static_cast<std::uint16_t>(std::stoi(text.substr(at + start.size())));
      return true;
    }));
    return port_;
  }
  std::string get(const std::string& target) {
    RawClient client(port());
    client.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.read_all();
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> server_;
  std::uint16_t port_ = 0;
};

/// What the requests of one client came to.
struct Counts {
  std::atomic<int> answered{0};
  std::atomic<int> dropped{0};
};

/// Sends requests over connections that are kept until the server closes them, until it accepts no more.
void send_until_gone(std::uint16_t port, Counts& counts) {
  try {
    while (true) {
      RawClient client(port);
      while (true) {
        client.send("GET /search?q=ada&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const std::string answer = client.read_response();
        if (status_in(answer) == 200)
          ++counts.answered;
        else
          ++counts.dropped;
        if (answer.empty() || answer.find("Connection: close") != std::string::npos) break;
      }
    }
  } catch (const std::runtime_error&) {
    return;  // refused: the listener is closed
  }
}

void end_under_load(int requests) {
  ServeProcess server;
  const std::uint16_t port = server.port();
  Counts counts;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back([&] { send_until_gone(port, counts); });
  CHECK(becomes_true([&] { return counts.answered >= requests; }));
  CHECK(server.process().end(SIGTERM) == 0);
  for (std::thread& client : clients) client.join();
  CHECK(counts.dropped == 0);
}

}  // namespace

TEST_CASE("SIGHUP reloads; a file with mistakes keeps what served, and the log says why",
          "[service][serve]") {
  ServeProcess server;
  CHECK(status_in(server.get("/readyz")) == 200);
  CHECK(server.get("/search?q=ada&format=json").find("https://ada.example/") != std::string::npos);
  server.write_templates("Second");
  ::kill(server.process().pid(), SIGHUP);
  CHECK(becomes_true([&] { return server.get("/").find("Second") != std::string::npos; }));
  server.folder().write("templates/d.yaml", "version: 1\nwat: 2\n");
  ::kill(server.process().pid(), SIGHUP);
  CHECK(becomes_true([&] { return read_file(server.log()).find("reload refused") != std::string::npos; }));
  CHECK(read_file(server.log()).find("d.yaml:2:1: ") != std::string::npos);
  CHECK(server.get("/").find("Second") != std::string::npos);
  CHECK(server.process().end(SIGTERM) == 0);
}

TEST_CASE("A port that is taken is one clear error", "[service][serve]") {
  ServeProcess first;
  ServeProcess second("127.0.0.1:" + std::to_string(first.port()));
  const int status = second.process().wait();
  CHECK(WEXITSTATUS(status) == 69);
  CHECK(read_file(second.log()).find("metafuse: cannot listen on 127.0.0.1:") != std::string::npos);
}

TEST_CASE("SIGTERM under load drops no request", "[service][serve]") {
  end_under_load(200);
}

TEST_CASE("SIGTERM under load drops none of 10,000 requests", "[service][serve][full]") {
  end_under_load(10000);
}

TEST_CASE("200 reloads under load, 50 of broken files, fail no request", "[service][serve][full]") {
  ServeProcess server;
  const std::uint16_t port = server.port();
  Counts counts;
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) clients.emplace_back([&] { send_until_gone(port, counts); });
  for (int i = 0; i < 200; ++i) {
    if (i % 4 == 3)
      server.folder().write("templates/d.yaml", "version: [\n");
    else
      server.write_templates("Number" + std::to_string(i));
    const int before = counts.answered;
    ::kill(server.process().pid(), SIGHUP);
    CHECK(becomes_true([&] { return counts.answered > before + 5; }));
  }
  CHECK(server.process().end(SIGTERM) == 0);
  for (std::thread& client : clients) client.join();
  CHECK(counts.dropped == 0);
}
