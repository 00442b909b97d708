#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/loopback_socket.h"

namespace metafuse::test {

/// A TCP port that passes bytes to a Unix socket and back until it is told to be a black hole: from then on
/// it accepts connections and never answers, like a firewall that drops packets.
class TcpRelay {
 public:
  /// in: target - the path of a Unix socket; empty: a black hole from the start
  explicit TcpRelay(std::string target = {}) : target_(std::move(target)), is_hole_(target_.empty()) {
    listener_ = bound_socket();
    ::listen(listener_, 64);
    thread_ = std::thread([this] { run(); });
  }
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;
  ~TcpRelay() {
    is_stopping_ = true;
    thread_.join();
    ::close(listener_);
    for (const Pair& pair : pairs_) {
      ::close(pair.client);
      if (pair.server >= 0) ::close(pair.server);
    }
  }

  std::uint16_t port() const { return port_of(listener_); }
  void swallow() { is_hole_ = true; }
  /// New connections are passed on again; earlier ones stay dead.
  void pass() { is_hole_ = false; }

 private:
  struct Pair {
    int client;
    int server;
  };

  void accept_one() {
    Pair pair{::accept(listener_, nullptr, nullptr), -1};
    if (!is_hole_) {
      pair.server = ::socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strncpy(address.sun_path, target_.c_str(), sizeof address.sun_path - 1);
      if (::connect(pair.server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        ::close(pair.server);
        pair.server = -1;
      }
    }
    pairs_.push_back(pair);
  }

  static bool copy(int from, int to) {
    char buffer[16384];
    const ssize_t size = ::recv(from, buffer, sizeof buffer, 0);
    return size > 0 && ::send(to, buffer, static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
  }

  void run() {
    while (!is_stopping_) {
      std::vector<pollfd> polls{{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_)
        if (pair.server >= 0 && !is_hole_)
          for (const int socket : {pair.client, pair.server}) polls.push_back({socket, POLLIN, 0});
      ::poll(polls.data(), polls.size(), 10);
      if ((polls[0].revents & POLLIN) != 0) accept_one();
      for (Pair& pair : pairs_) {
        if (is_hole_) pair.server = pair.server >= 0 ? (::close(pair.server), -1) : -1;
        for (const pollfd& ready : polls) {
          if ((ready.revents & (POLLIN | POLLHUP)) == 0 || pair.server < 0 || ready.fd == listener_) continue;
          const bool is_client = ready.fd == pair.client;
          if (!is_client && ready.fd != pair.server) continue;
          if (copy(ready.fd, is_client ? pair.server : pair.client)) continue;
          ::shutdown(pair.client, SHUT_RDWR);
          ::close(pair.server);
          pair.server = -1;
        }
      }
    }
  }

  std::string target_;
  std::atomic<bool> is_hole_;
  std::atomic<bool> is_stopping_{false};
  int listener_ = -1;
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace metafuse::test
