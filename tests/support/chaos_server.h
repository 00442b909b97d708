#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fetchers/fetcher.h"

namespace metafuse::test {

/// One way in which an engine goes wrong.
struct Fault {
  std::string_view name;  ///< the path that asks for it
  /// What the fetch layer may call it; none: an answer that is in order.
  std::vector<fetchers::Failure> outcomes;
};

/// Every fault, and a healthy answer first.
std::span<const Fault> faults();

/// An engine on a free loopback port that misbehaves on demand: `GET /FAULT?q=...` answers three JSON results
/// after its fashion. Never sleeps: what hangs waits for the server's end or the client's leaving.
class ChaosServer {
 public:
  ChaosServer();
  ~ChaosServer();
  ChaosServer(const ChaosServer&) = delete;
  ChaosServer& operator=(const ChaosServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string origin() const { return "127.0.0.1:" + std::to_string(port_); }
  /// The search_url of an engine with this fault.
  std::string url(std::string_view fault) const;
  /// Requests whose header arrived, by all connections.
  int requests() const { return requests_; }
  /// The last request's bytes.
  std::string last_request() const;

 private:
  void accept_all();
  void serve(int socket);
  void answer(int socket, std::string_view fault, std::string_view request);
  bool send_all(int socket, std::string_view bytes) const;
  void hang(int socket) const;
  bool waits(int milliseconds, int socket) const;

  int listener_ = -1;
  int deaf_listener_ = -1;  ///< connections are made by the kernel, and nobody reads
  int stop_read_ = -1, stop_write_ = -1;
  std::uint16_t port_ = 0;
  std::uint16_t closed_port_ = 0;
  std::uint16_t deaf_port_ = 0;
  std::atomic<int> requests_{0};
  mutable std::mutex mutex_;
  std::string last_request_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace metafuse::test
