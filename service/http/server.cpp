#include "service/http/server.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <future>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include "service/base/addresses.h"
#include "service/http/session.h"

namespace metafuse::service {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

/// How often close_listener() looks for connections that were still being set up when it began.
constexpr int kLastRounds = 3;
constexpr auto kBetweenLastRounds = std::chrono::milliseconds(5);
/// When the server stops, it closes the open connections once none of them has had a request for this long.
constexpr auto kQuietBeforeClosing = std::chrono::milliseconds(500);
/// One client may have 1/kShareOfClient of all connections.
constexpr std::size_t kShareOfClient = 4;
constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

Result<tcp::endpoint> endpoint_of(asio::io_context& io, const HttpServerOptions& options) {
  ErrorCode error;
  tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || found.empty())
    return fail(Code::unavailable, "cannot listen on " + options.host + ": " + error.message() +
                                       "; name an address of this machine");
  return found.begin()->endpoint();
}

std::vector<std::unique_ptr<asio::io_context>> make_loops(unsigned threads) {
  std::vector<std::unique_ptr<asio::io_context>> loops;
  for (unsigned i = 0; i < std::max(1U, threads); ++i) loops.push_back(std::make_unique<asio::io_context>(1));
  return loops;
}

/// Runs an I/O thread. An exception ends only the connection whose handler threw it, not the thread.
void run_loop(asio::io_context& loop) {
  while (true) {
    try {
      loop.run();
      return;
    } catch (...) {
      continue;
    }
  }
}

/// Child processes must not inherit a connection, and Asio does not set the flag for that.
void close_on_exec(int socket) {
  (void)::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

/// Makes the kernel drop new SYN packets for a listener. Clients then retry, and are refused once it is
/// closed. Without this, a connection that is established between the last accept and the close is reset.
/// Packets that complete a handshake still pass.
void ignore_newcomers(int listener) {
  constexpr std::uint32_t kFlagsAt = 13;  // byte of the flags in a TCP header
  constexpr std::uint32_t kSyn = 0x02;
  constexpr std::uint32_t kAck = 0x10;
  std::array<sock_filter, 5> drop_first_packets = {{
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlagsAt),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kSyn | kAck),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSyn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, std::numeric_limits<std::uint32_t>::max()),
  }};
  const sock_fprog program{drop_first_packets.size(), drop_first_packets.data()};
  // on a kernel without filters only the short race remains
  (void)::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

}  // namespace

/// The listener with its I/O threads. Each thread runs one io_context; the first one also runs the acceptor,
/// the signals and the pause. A connection stays on the thread that it was given when it was accepted.
class HttpServer::Body {
 public:
  Body(const HttpServerOptions& options, HttpHandler handler)
      : options_(options),
        context_(std::make_shared<SessionContext>()),
        loops_(make_loops(options.threads)),
        acceptor_(*loops_.front()),
        signals_(*loops_.front()),
        pause_(*loops_.front()) {
    context_->set_limits(options.limits);
    context_->handler = std::move(handler);
    context_->refuse = options.refuse;
    context_->trusted_proxies = options.trusted_proxies;
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() { stop(Duration::zero()); }

  Result<void> open() {
    TRY(const auto endpoint, endpoint_of(*loops_.front(), options_));
    ErrorCode error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) close_on_exec(acceptor_.native_handle());
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    if (error)
      return fail(Code::unavailable, "cannot listen on " + options_.host + ":" +
                                         std::to_string(options_.port) + ": " + error.message() +
                                         "; stop what holds the port, or choose another with --listen");
    port_ = acceptor_.local_endpoint().port();
    accept();
    for (const auto& loop : loops_) {
      running_.emplace_back(loop->get_executor());
      threads_.emplace_back([&loop = *loop] { run_loop(loop); });
    }
    return {};
  }

  std::uint16_t port() const { return port_; }
  SessionContext& context() { return *context_; }

  void on_signal(std::function<void(int)> act) {
    act_ = std::move(act);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.add(signal);
    wait_for_signal();
  }

  void stop(Duration patience) {
    if (threads_.empty()) return;
    asio::post(acceptor_.get_executor(), [this] { close_listener(); });
    listener_gone_.get_future().wait();
    const auto until = std::chrono::steady_clock::now() + patience;
    auto quiet_since = std::chrono::steady_clock::now();
    while (context_->open > 0) {
      const auto now = std::chrono::steady_clock::now();
      if (context_->busy > 0) quiet_since = now;
      if (now >= until) break;
      if (now - quiet_since >= std::min<Duration>(kQuietBeforeClosing, patience)) {
        // on busy cores the threads may not have read everything that has arrived
        if (!all_had_turns(until) || context_->busy == 0) break;
        continue;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    running_.clear();
    for (const auto& loop : loops_) loop->stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void accept() {
    acceptor_.async_accept(next_loop().get_executor(), [this](ErrorCode error, SessionSocket socket) {
      // a connection that was accepted just before the listener closed is still served
      if (!error) take(std::move(socket));
      if (!acceptor_.is_open()) return listener_gone_.set_value();
      if (error) return pause();
      accept();
    });
  }

  /// Waits before the next accept: without descriptors or memory, an immediate retry would only waste
  /// processor time.
  void pause() {
    pause_.expires_after(std::chrono::milliseconds(50));
    pause_.async_wait([this](ErrorCode) {
      if (!acceptor_.is_open()) return listener_gone_.set_value();
      accept();
    });
  }

  /// Waits until every thread has worked off its queue twice: bytes read in the first turn have become a
  /// request by the second. False if that is not done by `until`.
  bool all_had_turns(std::chrono::steady_clock::time_point until) {
    for (int turn = 0; turn < 2; ++turn)
      for (const auto& loop : loops_) {
        const auto had_turn = std::make_shared<std::promise<void>>();
        asio::post(*loop, [had_turn] { had_turn->set_value(); });
        if (had_turn->get_future().wait_until(until) != std::future_status::ready) return false;
      }
    return true;
  }

  /// The loop of the next connection: connections are distributed to the threads in turn.
  asio::io_context& next_loop() { return *loops_[next_++ % loops_.size()]; }

  void take(SessionSocket socket) {
    ++context_->accepted;
    close_on_exec(socket.native_handle());
    ErrorCode ignored;
    try {
      const std::string peer = socket.remote_endpoint(ignored).address().to_string();
      const auto limits = context_->limits();
      if (auto seat = context_->connections.add(address_prefix(peer), limits->max_connections,
                                                most_of(peer, *limits)))
        return run_session(std::move(socket), context_, std::move(*seat));
      socket.non_blocking(true, ignored);
      socket.write_some(asio::buffer(kBusy), ignored);
    } catch (const std::exception&) {
      // no memory: this connection is dropped, and the next one is accepted
    }
    ++context_->refused;
  }

  /// How many connections a peer may have; 0 for no limit. Proxies have none, because all clients behind a
  /// proxy have its address.
  std::size_t most_of(const std::string& peer, const LimitsConfig& limits) const {
    if (limits.connections_per_client > 0) return limits.connections_per_client;
    if (is_loopback(peer)) return 0;
    for (const AddressRange& proxy : options_.trusted_proxies)
      if (proxy.contains(peer)) return 0;
    return std::max<std::size_t>(1, limits.max_connections / kShareOfClient);
  }

  /// Closes the listener. Connections that the kernel has already accepted are still served, not reset.
  void close_listener() {
    ErrorCode error;
    ignore_newcomers(acceptor_.native_handle());
    acceptor_.non_blocking(true, error);
    for (int round = 0; round < kLastRounds; ++round) {
      while (!error) {
        SessionSocket socket(next_loop());
        acceptor_.accept(socket, error);
        if (!error) take(std::move(socket));
      }
      error = {};
      std::this_thread::sleep_for(kBetweenLastRounds);  // for handshakes that have begun
    }
    acceptor_.close(error);
    pause_.cancel();
    signals_.cancel(error);
  }

  void wait_for_signal() {
    signals_.async_wait([this](ErrorCode error, int signal) {
      if (error) return;
      act_(signal);
      wait_for_signal();
    });
  }

  HttpServerOptions options_;
  std::shared_ptr<SessionContext> context_;
  std::vector<std::unique_ptr<asio::io_context>> loops_;  ///< one per thread
  std::size_t next_ = 0;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer pause_;
  std::function<void(int)> act_;
  std::uint16_t port_ = 0;
  std::promise<void> listener_gone_;
  std::vector<asio::executor_work_guard<asio::io_context::executor_type>> running_;
  std::vector<std::thread> threads_;
};

HttpResponse plain_refusal(HttpRequest, const Refusal& refusal) {
  return make_response(refusal.status, "text/plain; charset=utf-8", refusal.reason + "\n");
}

HttpServer::HttpServer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpServerOptions& options, HttpHandler handler) {
  auto body = std::make_unique<Body>(options, std::move(handler));
  TRY_VOID(body->open());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(body)));
}

std::uint16_t HttpServer::port() const {
  return body_->port();
}

ConnectionCounts HttpServer::counts() const {
  const SessionContext& context = body_->context();
  return {context.open,    context.busy,      context.accepted,
          context.refused, context.timed_out, context.displaced};
}

void HttpServer::set_limits(const LimitsConfig& limits) {
  body_->context().set_limits(limits);
}

void HttpServer::start_draining() {
  body_->context().is_draining = true;
}

void HttpServer::stop(Duration patience) {
  body_->stop(patience);
}

void HttpServer::on_signal(std::function<void(int)> act) {
  body_->on_signal(std::move(act));
}

}  // namespace metafuse::service
