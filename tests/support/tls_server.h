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

/// An HTTPS server on loopback with one port per kind of fault: "ok", "self-signed", "expired",
/// "not-yet-valid", "wrong-host", "cut" (the handshake stops in the middle), "drip" (the handshake arrives
/// byte by byte, endlessly). Once a handshake succeeds, the answer to any request is `body`.
class TlsServer {
 public:
  explicit TlsServer(std::string body);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::string origin(std::string_view kind) const;
  /// A file with the certificate of the authority that signed all certificates but the self-signed one.
  const std::string& authority_file() const { return authority_file_; }
  /// How many handshakes so far resumed an earlier session.
  int resumed() const { return resumed_; }

 private:
  struct Listener {
    std::string_view kind;
    int socket = -1;
    TlsContext context;  ///< nullptr: the server writes the faulty handshake itself
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
