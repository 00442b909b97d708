#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/support/running_program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

/// A port of this machine that was free a moment ago.
inline int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, raw, size) != 0 || ::getsockname(socket, raw, &size) != 0)
    throw std::runtime_error("no free port");
  ::close(socket);
  return ntohs(address.sin_port);
}

/// A real Redis server that keeps nothing on disk.
class RedisServer {
 public:
  /// Starts a server; if Redis is not installed, skips the test and returns nullptr.
  static std::unique_ptr<RedisServer> start() {
    if (find_program("redis-server").empty()) {
      skip("install the Debian package redis-server (scripts/test --full)");
      return nullptr;
    }
    auto server = std::unique_ptr<RedisServer>(new RedisServer);
    server->run();
    return server;
  }

  int port() const { return port_; }
  pid_t id() const { return process_->id(); }
  void stop() { process_->end(SIGKILL); }
  void run() {
    process_ = std::make_unique<RunningProgram>(
        std::vector<std::string>{find_program("redis-server"), "--port", std::to_string(port_), "--bind",
                                 "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder_.path()},
        folder_.path("log"));
    for (int i = 0; i < 400; ++i) {
      const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<std::uint16_t>(port_));
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const bool is_up = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
      ::close(socket);
      if (is_up) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    throw std::runtime_error("Redis does not start");
  }

 private:
  RedisServer() = default;

  TemporaryFolder folder_;
  int port_ = free_port();
  std::unique_ptr<RunningProgram> process_;
};

}  // namespace metafuse::test
