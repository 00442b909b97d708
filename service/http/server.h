#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "service/config/config.h"
#include "service/http/head.h"
#include "service/http/message.h"

namespace metafuse::service {

/// Answers one request. It is called on an I/O thread and must not block. The responder may be used later,
/// from any thread.
using HttpHandler = std::function<void(HttpRequest request, std::shared_ptr<Responder> responder)>;

/// Makes the answer to a request that is refused before it was read whole, on an I/O thread.
///
/// in: request - what was read of it
using RefusalAnswer = std::function<HttpResponse(HttpRequest request, const Refusal& refusal)>;

/// The reason as a line of text.
HttpResponse plain_refusal(HttpRequest request, const Refusal& refusal);

/// Counts of a server's connections, for metrics.
struct ConnectionCounts {
  std::size_t open = 0;
  std::size_t busy = 0;  ///< those with an unanswered request
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;  ///< framing errors and connections beyond the limit
  std::uint64_t timed_out = 0;
  std::uint64_t displaced = 0;  ///< closed while they were idle, to make room for others
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0 for any free port
  unsigned threads = 2;
  LimitsConfig limits;
  std::vector<AddressRange> trusted_proxies = {};  ///< may have any number of connections
  RefusalAnswer refuse = plain_refusal;
};

/// An HTTP/1.1 server: it accepts connections, reads and frames requests, and enforces time limits. It knows
/// nothing about searching.
class HttpServer {
 public:
  /// errors: unavailable: the port is taken, or the host has no address on this machine
  static Result<std::unique_ptr<HttpServer>> start(const HttpServerOptions& options, HttpHandler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  std::uint16_t port() const;
  ConnectionCounts counts() const;

  /// Applies to connections that begin from now on.
  void set_limits(const LimitsConfig& limits);

  /// From now on every answer closes its connection. New connections are still accepted.
  void start_draining();
  /// Stops accepting, waits until no request is open or the time is over, then closes the
  /// remaining connections.
  void stop(Duration patience);

  /// Calls `act` for each signal (SIGTERM, SIGINT, SIGHUP) on an I/O thread.
  void on_signal(std::function<void(int signal)> act);

 private:
  class Body;
  explicit HttpServer(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace metafuse::service
