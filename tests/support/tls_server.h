#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/support/tls_certificates.h"

namespace metafuse::test {

/// HTTPS on loopback, a port for each kind: "ok", "self-signed", "expired", "not-yet-valid", "wrong-host",
/// "cut" (the handshake ends in its middle), "drip" (the handshake comes byte by byte, for ever). Where a
/// handshake is made, the answer to any request is `body`.
class TlsServer {
 public:
  explicit TlsServer(std::string body);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::string origin(std::string_view kind) const;
  /// A file with the certificate of the authority that signed all but the self-signed one.
  const std::string& authority_file() const { return authority_file_; }
  /// Handshakes so far that went on with an earlier session.
  int resumed() const { return resumed_; }

 private:
  struct Listener {
    std::string_view kind;
    int socket = -1;
    TlsContext context;  ///< nullptr: the handshake goes wrong by hand
  };

  void accept_all();
  void serve(const Listener& listener, int socket);
  void drip(int socket) const;
  void talk(SSL_CTX* context, int socket);

  std::string body_;
  TemporaryFolder folder_;
  std::string authority_file_;
  std::vector<Listener> listeners_;
  int stop_read_ = -1, stop_write_ = -1;
  std::atomic<int> resumed_{0};
  std::mutex mutex_;
  std::condition_variable left_;
  std::set<int> open_;
  std::thread acceptor_;
};

}  // namespace metafuse::test
