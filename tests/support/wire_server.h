#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace metafuse::test {

/// A TCP server on a free loopback port that runs a function on a thread of its own for each connection. Its
/// destructor shuts down all connections and waits for the functions.
class WireServer {
 public:
  /// Serves one connection; need not close the socket.
  using Serve = std::function<void(int socket)>;

  explicit WireServer(Serve serve);
  ~WireServer();
  WireServer(const WireServer&) = delete;
  WireServer& operator=(const WireServer&) = delete;

  std::uint16_t port() const { return port_; }
  int connections() const { return accepted_; }

 private:
  void accept_all();

  Serve serve_;
  int listener_ = -1;
  int stop_read_ = -1, stop_write_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// One way in which the bytes of a database server can be wrong.
struct WireFault {
  enum class Kind {
    close,   ///< at once, before any byte is sent
    reset,   ///< after `after` bytes from the server
    hang,    ///< nothing is ever sent
    says,    ///< sends `bytes` instead of the server's
    cut,     ///< closes the connection after `after` bytes from the server
    stall,   ///< sends `after` bytes and then nothing more
    flip,    ///< inverts every bit of the byte at `after`
    insert,  ///< inserts `bytes` at `after`
    drip,    ///< sends one byte at a time
  };

  std::string name;
  Kind kind;
  std::size_t after = 0;
  std::string bytes{};
};

/// The faults that tests try, more than 40.
std::vector<WireFault> wire_faults();

/// A server that relays another one with a fault.
///
/// in: upstream - connects to the other server; -1: there is none
class FaultyWire {
 public:
  FaultyWire(WireFault fault, std::function<int()> upstream);

  std::uint16_t port() const { return server_.port(); }

 private:
  void serve(int client) const;

  WireFault fault_;
  std::function<int()> upstream_;
  WireServer server_;
};

/// A connection to a Unix socket; -1: none.
int connected_to(const std::string& path);
/// A connection to a port of 127.0.0.1; -1: none.
int connected_to(std::uint16_t port);

/// Sends all bytes; false if the peer has gone.
bool send_all(int socket, const std::string& bytes);

}  // namespace metafuse::test
