#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/command.h"
#include "tests/support/raw_client.h"
#include "tests/support/running_program.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Checks repeatedly until a claim holds, for at most 20 s.
inline bool becomes_true(const std::function<bool()>& claim) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < until) {
    if (claim()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A process `metafuse serve` with the embedded engine.
class ServeProcess {
 public:
  explicit ServeProcess(const std::string& listen = "127.0.0.1:0", const std::string& more_config = "") {
    write_templates("First");
    folder_.write("documents.jsonl", R"({"url":"https://ada.example/","title":"Ada","text":"ada lovelace"})"
                                     "\n");
    folder_.write("engines.yaml", "engines:\n  - {name: local, engine: local, database: local.db}\n");
    folder_.write("metafuse.yaml", "version: 1\nlisten: " + listen +
                                       "\ntemplates: [templates/*.yaml]\nengines: [engines.yaml]\n" +
                                       more_config);
    REQUIRE(run_metafuse({"index", "--database", folder_.path("local.db"), folder_.path("documents.jsonl")})
                .status == 0);
    start();
  }

  /// Starts the server again after it ended.
  void start() {
    port_ = 0;
    std::filesystem::remove(log());
    server_ = std::make_unique<RunningProgram>(
        std::vector<std::string>{METAFUSE_EXECUTABLE, "serve", "--config", folder_.path("metafuse.yaml")},
        log());
  }

  void write_templates(const std::string& description) const {
    folder_.write("templates/d.yaml", "version: 1\ndomain: d\ndescription: " + description +
                                          "\nslots: {NAME: {required: true}}\ntemplates:\n"
                                          "  - {id: a, engine: local, query: '{NAME|all}'}\n");
  }
  std::string log() const { return folder_.path("log"); }
  RunningProgram& process() { return *server_; }
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
  std::unique_ptr<RunningProgram> server_;
  std::uint16_t port_ = 0;
};

}  // namespace metafuse::test
