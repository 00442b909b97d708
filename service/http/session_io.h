#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "service/config/config.h"
#include "service/http/head.h"
#include "service/http/message.h"

namespace metafuse::service {

// The timers, writer and reader of one connection. Every connection belongs to the io_context of one thread,
// so its state needs no lock and no strand.
using SessionExecutor = boost::asio::io_context::executor_type;
using SessionSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, SessionExecutor>;
using SessionTimer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>, SessionExecutor>;

/// One timer for a sequence of time limits. Moving the limit further away costs nothing: the timer is set
/// again only when the limit comes nearer, or when it has gone off too early.
class SessionDeadline {
 public:
  SessionDeadline(const SessionExecutor& executor, std::function<void()> on_passed)
      : timer_(executor), on_passed_(std::move(on_passed)) {}

  static std::chrono::steady_clock::time_point after(double seconds) {
    const std::chrono::duration<double> from_now(seconds);
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(from_now);
  }

  /// in: hold - keeps the owner alive until the timer goes off or stop() is called
  void set(double seconds, const std::shared_ptr<void>& hold) {
    has_passed_ = false;
    at_ = after(seconds);
    if (!is_waiting_ || at_ < timer_.expiry()) wait(hold);
  }
  void clear() { at_ = kNever; }
  /// Whether the limit that was set last has passed.
  bool has_passed() const { return has_passed_; }
  void stop() {
    clear();
    timer_.cancel();
  }

 private:
  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();

  void wait(const std::shared_ptr<void>& hold) {
    is_waiting_ = true;
    timer_.expires_at(at_);
    timer_.async_wait([this, hold](boost::system::error_code error) {
      if (error) return;
      is_waiting_ = false;
      if (at_ == kNever) return;
      if (std::chrono::steady_clock::now() < at_) return wait(hold);
      at_ = kNever;
      has_passed_ = true;
      on_passed_();
    });
  }

  SessionTimer timer_;
  std::function<void()> on_passed_;
  std::chrono::steady_clock::time_point at_ = kNever;
  bool is_waiting_ = false;
  bool has_passed_ = false;
};

/// One item to send: a head, then a body or a frame with fillings.
struct Outgoing {
  std::string head;
  std::string body;
  std::shared_ptr<const BodyFrame> frame;
  std::vector<std::string> fillings;
  std::shared_ptr<void> account;  ///< held until the item was sent, or never will be
};

/// Sends queued items on a socket, in order. It first writes directly, which is one system call for what fits
/// into the socket's buffer; the rest is written when there is room. The owner keeps it alive through `hold`.
class SessionWriter {
 public:
  /// Callbacks to the owner.
  struct Events {
    std::function<void()> on_waiting;  ///< the socket's buffer is full: the deadline should be set
    std::function<void(bool is_done)> on_settled;  ///< everything was sent, or sending failed
  };

  SessionWriter(SessionSocket& socket, const SessionDeadline& deadline, Events events)
      : socket_(socket), deadline_(deadline), events_(std::move(events)) {}
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  /// in: hold - keeps the owner alive while a write is pending
  void send(Outgoing item, std::shared_ptr<void> hold);
  bool is_idle() const { return queue_.empty(); }

 private:
  void write_queue(std::shared_ptr<void> hold);
  void write_rest(std::shared_ptr<void> hold);
  void settle(bool is_done);
  void gather();
  void skip(std::size_t bytes);

  SessionSocket& socket_;
  const SessionDeadline& deadline_;
  Events events_;
  std::deque<Outgoing> queue_;
  std::vector<boost::asio::const_buffer> buffers_;  ///< the unsent rest of the queue's first item
};

/// Reads the requests of one connection, one after another, within limits of time and size. The owner keeps
/// it alive through `hold`.
class RequestReader {
 public:
  /// The outcomes of next(): exactly one is called.
  struct Events {
    std::function<void()> on_request;  ///< the request is in head()
    /// The bytes are not a valid request, or came too late.
    std::function<void(const Refusal& refusal)> on_refusal;
    /// The client has closed the connection, or was idle too long.
    std::function<void(bool is_too_idle)> on_end;
  };

  RequestReader(SessionSocket& socket, SessionDeadline& deadline, std::shared_ptr<const LimitsConfig> limits,
                Events events);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Starts reading the next request.
  ///
  /// in: is_first - first request of the connection; idle_seconds - how long the client may be idle before it
  ///     begins the request
  void next(bool is_first, double idle_seconds, std::shared_ptr<void> hold);
  /// Reads and discards what the client still sends, within limits of size and time, then calls on_end. Many
  /// clients read an answer only after they have sent their whole request; if the connection closed before,
  /// they would not learn why it was refused.
  ///
  /// in: seconds - how long at most; a client that pauses for one second has none left
  void forget_rest(double seconds, std::shared_ptr<void> hold);

  /// The head of the last request.
  HttpHead& head() { return head_; }
  const LimitsConfig& limits() const { return *limits_; }
  /// Whether bytes beyond the requests so far have arrived.
  bool has_more() const { return buffer_.size() > 0; }

 private:
  using Hold = std::shared_ptr<void>;
  using ErrorCode = boost::system::error_code;

  std::string_view received() const;
  void look_for_head(Hold hold);
  void read_more(Hold hold);
  void on_read(ErrorCode error, std::size_t bytes, Hold hold);
  bool may_stay_idle(const Hold& hold);
  int unsent_bytes();
  void take_head(std::string_view text, Hold hold);
  void read_body(Hold hold);
  void read_rest_of_body(Hold hold);
  void read_known_body(Hold hold);
  void read_missing_part(std::size_t arrived, Hold hold);
  void read_chunks(Hold hold);
  void on_chunks(ErrorCode failure);
  void forget_more(std::size_t bytes_left, Hold hold);

  SessionSocket& socket_;
  SessionDeadline& deadline_;
  std::shared_ptr<const LimitsConfig> limits_;
  Events events_;
  boost::beast::flat_buffer buffer_;
  HttpHead head_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::function<void(std::uint64_t, boost::beast::string_view, ErrorCode&)> chunk_check_;
  std::chrono::steady_clock::time_point idle_until_;
  std::chrono::steady_clock::time_point linger_until_;
  bool is_waiting_idle_ = false;
};

}  // namespace metafuse::service
