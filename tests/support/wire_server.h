#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace metafuse::test {

/// A TCP server on a free loopback port that hands each connection to a function on a thread of its own. Its
/// end shuts every connection down and waits for the functions.
class WireServer {
 public:
  /// The function need not close the socket.
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

/// One way in which the bytes of a database server go wrong.
struct WireFault {
  enum class Kind {
    close,   ///< before anything is said
    reset,   ///< after `after` bytes of the server's
    hang,    ///< nothing is ever said
    says,    ///< `bytes` instead of the server's
    cut,     ///< the connection ends after `after` bytes of the server's
    stall,   ///< nothing more comes after them
    flip,    ///< the byte there has every bit turned
    insert,  ///< `bytes` stand there between the server's
    drip,    ///< one byte after the other
  };

  std::string name;
  Kind kind;
  std::size_t after = 0;
  std::string bytes{};
};

/// More than 40 of them.
std::vector<WireFault> wire_faults();

/// A server that speaks what another says, with a fault.
///
/// in: upstream - makes a connection to the server; -1: none
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

/// A connection to a server's socket in the file system; -1: none.
int connected_to(const std::string& path);
/// A connection to a port of 127.0.0.1; -1: none.
int connected_to(std::uint16_t port);

/// All bytes; false when the peer has gone.
bool send_all(int socket, const std::string& bytes);

}  // namespace metafuse::test
