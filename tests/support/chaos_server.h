#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tests/support/chaos_faults.h"
#include "tests/support/tls_server.h"

namespace metafuse::test {

/// An engine on a free loopback port that misbehaves on demand: `GET /FAULT?q=...` answers with three JSON
/// results in the manner of that fault. It never sleeps; a fault that hangs waits until the server stops or
/// the client leaves.
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
  /// The line of the engine's definition that makes it trust the server's certificates.
  std::string trust() const { return "verify: \"" + tls_.authority_file() + "\""; }
  /// The number of requests whose header arrived, over all connections.
  int requests() const { return requests_; }
  /// From now on, requests with this word as the query hang.
  void hang_requests_of(std::string_view word);
  int hung_requests() const { return hung_requests_; }
  /// The last request's bytes.
  std::string last_request() const;

 private:
  class Connection;

  void accept_all();
  void serve(int socket);

  int listener_ = -1;
  int deaf_listener_ = -1;  ///< the kernel accepts connections, but nobody reads from them
  int stop_read_ = -1, stop_write_ = -1;
  std::uint16_t port_ = 0;
  std::uint16_t closed_port_ = 0;
  std::uint16_t deaf_port_ = 0;
  TlsServer tls_;
  std::atomic<int> requests_{0};
  std::atomic<int> hung_requests_{0};
  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::string last_request_;
  std::string hung_word_;
  int connections_ = 0;
  std::thread acceptor_;
};

}  // namespace metafuse::test
