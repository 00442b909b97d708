#include "service/http_session.h"

#include <array>
#include <deque>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "service/http_head.h"

namespace metafuse::service {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kMaxBufferBytes = kMaxHeadBytes + 2 * kReadBytes;
constexpr std::size_t kMaxLingerReads = 16;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::chrono::nanoseconds seconds(double count) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count * 1e9));
}

/// A header that cannot end its line: anything else would let a value write headers of its own.
bool is_safe_header(const Header& header) {
  const auto is_safe = [](std::string_view text) {
    for (const char c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    return true;
  };
  return !header.name.empty() && is_safe(header.name) && header.name.find(':') == std::string::npos &&
         is_safe(header.value);
}

class Session;

/// The responder of one request. When it goes away unanswered, the client gets 500 rather than silence.
class SessionResponder final : public Responder {
 public:
  explicit SessionResponder(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  SessionResponder(const SessionResponder&) = delete;
  SessionResponder& operator=(const SessionResponder&) = delete;
  ~SessionResponder() override;
  void send(HttpResponse response) override;
  void begin(HttpResponse head) override;
  void write(std::string piece) override;
  void end() override;

 private:
  std::shared_ptr<Session> session_;
  bool is_answered_ = false;
  bool is_ended_ = false;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::ip::tcp::socket socket, std::shared_ptr<SessionContext> context)
      : stream_(std::move(socket)), timer_(stream_.get_executor()), context_(std::move(context)) {
    ++context_->open;
    ErrorCode ignored;
    const auto peer = stream_.socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string();
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { --context_->open; }

  void start() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->next_request(true); });
  }

  template <class Work>
  void on_strand(Work work) {
    asio::dispatch(stream_.get_executor(), std::move(work));
  }

  void send(HttpResponse response) { answer(std::move(response), false); }

  void begin(HttpResponse head) { answer(std::move(head), true); }

  void write_piece(std::string piece) {
    if (piece.empty()) return;
    if (!head_.request.is_http_1_0) {
      std::array<char, 20> size{};
      const int length = std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
      piece.insert(0, size.data(), static_cast<std::size_t>(length));
      piece += "\r\n";
    }
    enqueue(std::move(piece));
  }

  void end_pieces() {
    if (!head_.request.is_http_1_0) enqueue("0\r\n\r\n");
    is_last_queued_ = true;
    if (!is_writing_) finish_answer();
  }

 private:
  /// Whatever is pending when the time is over ends with an error; the socket stays open for a last answer.
  void arm(std::chrono::nanoseconds time) {
    is_timed_out_ = false;
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](ErrorCode error) {
      if (error || self->timer_.expiry() > std::chrono::steady_clock::now()) return;
      self->is_timed_out_ = true;
      self->stream_.cancel();
    });
  }

  void disarm() { timer_.cancel(); }

  void next_request(bool is_first) {
    head_ = HttpHead{};
    parser_.reset();
    // One deadline for the whole head: a client that sends a byte a second gains nothing.
    const bool is_idle = buffer_.size() == 0 && !is_first;
    is_waiting_idle_ = is_idle;
    const double idle =
        context_->is_draining ? std::min(1.0, context_->limits.idle_seconds) : context_->limits.idle_seconds;
    arm(seconds(is_idle ? idle : context_->limits.header_seconds));
    look_for_head();
  }

  void look_for_head() {
    skip_empty_lines();
    const auto data = buffer_.cdata();
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    const std::size_t end = text.substr(0, kMaxHeadBytes).find(kHeadEnd);
    if (end != std::string_view::npos) return take_head(text.substr(0, end + kHeadEnd.size()));
    if (const auto refusal = hopeless(text)) return refuse(*refusal);
    auto space = buffer_.prepare(kReadBytes);
    stream_.async_read_some(space, [self = shared_from_this()](ErrorCode error, std::size_t bytes) {
      self->on_read(error, bytes);
    });
  }

  /// What no further byte can mend.
  static std::optional<Refusal> hopeless(std::string_view text) {
    if (text.size() >= kMaxHeadBytes) {
      if (text.find("\r\n") > kMaxTargetBytes) return Refusal{414, "the request line is too long"};
      return Refusal{431, "the header is larger than 16 KiB"};
    }
    if (!text.empty() && (text.front() < 'A' || text.front() > 'z')) return Refusal{400, "no request line"};
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
      if (at == 0 || text[at - 1] != '\r') return Refusal{400, "a line does not end with CR LF"};
    return std::nullopt;
  }

  void skip_empty_lines() {
    for (int i = 0; i < 2; ++i) {
      const auto data = buffer_.cdata();
      if (data.size() < 2 || static_cast<const char*>(data.data())[0] != '\r' ||
          static_cast<const char*>(data.data())[1] != '\n')
        return;
      buffer_.consume(2);
    }
  }

  void on_read(ErrorCode error, std::size_t bytes) {
    if (is_timed_out_) {
      ++context_->timed_out;
      if (is_waiting_idle_ && buffer_.size() == 0) return close();
      return refuse(Refusal{408, "the header did not arrive in time"});
    }
    if (error) return close();
    buffer_.commit(bytes);
    if (is_waiting_idle_) {
      is_waiting_idle_ = false;
      arm(seconds(context_->limits.header_seconds));
    }
    look_for_head();
  }

  void take_head(std::string_view text) {
    if (auto refusal = parse_head(text, context_->limits.max_body_bytes, head_)) return refuse(*refusal);
    if (head_.content_length == 0 && !head_.is_chunked) {
      buffer_.consume(text.size());
      return dispatch();
    }
    read_body();
  }

  void read_body() {
    parser_.emplace();
    parser_->body_limit(context_->limits.max_body_bytes);
    parser_->header_limit(kMaxHeadBytes);
    parser_->on_chunk_header(chunk_check_);
    arm(seconds(context_->limits.body_seconds));
    if (!head_.wants_continue) return read_rest_of_body();
    asio::async_write(stream_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                      [self = shared_from_this()](ErrorCode error, std::size_t) {
                        if (error) return self->close();
                        self->read_rest_of_body();
                      });
  }

  void read_rest_of_body() {
    beast::http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](ErrorCode error, std::size_t) { self->on_body(error); });
  }

  void on_body(ErrorCode error) {
    if (is_timed_out_) {
      ++context_->timed_out;
      return refuse(Refusal{408, "the body did not arrive in time"});
    }
    if (error == beast::http::error::body_limit) return refuse(Refusal{413, "the body is too long"});
    if (error.category() == beast::http::make_error_code(beast::http::error::end_of_stream).category() &&
        error != beast::http::error::end_of_stream && error != beast::http::error::partial_message)
      return refuse(Refusal{400, "the body is framed wrongly"});
    if (error) return close();
    head_.request.body = std::move(parser_->get().body());
    parser_.reset();
    dispatch();
  }

  void dispatch() {
    ++context_->busy;
    is_busy_ = true;
    disarm();
    head_.request.peer = peer_;
    HttpRequest request = std::move(head_.request);
    head_.request = HttpRequest{};
    head_.request.is_http_1_0 = request.is_http_1_0;
    context_->handler(std::move(request), std::make_shared<SessionResponder>(shared_from_this()));
  }

  void refuse(const Refusal& refusal) {
    ++context_->refused;
    head_.keeps_alive = false;
    is_lingering_ = true;
    HttpResponse response = make_response(refusal.status, "text/plain; charset=utf-8", refusal.reason + "\n");
    answer(std::move(response), false);
  }

  void answer(HttpResponse response, bool is_piecewise) {
    if (context_->is_draining) head_.keeps_alive = false;
    if (is_piecewise && head_.request.is_http_1_0) head_.keeps_alive = false;
    is_last_queued_ = !is_piecewise;
    const bool has_body = !head_.is_head && response.status != 204 && response.status != 304;
    enqueue(head_text(response, is_piecewise) + (has_body && !is_piecewise ? response.body : std::string()));
  }

  std::string head_text(const HttpResponse& response, bool is_piecewise) const {
    std::string out = "HTTP/1.1 " + std::to_string(response.status) + ' ';
    out += reason_of(response.status);
    out += "\r\n";
    for (const Header& header : response.headers) {
      if (!is_safe_header(header)) continue;
      out += header.name + ": " + header.value + "\r\n";
    }
    if (is_piecewise) {
      if (!head_.request.is_http_1_0) out += "Transfer-Encoding: chunked\r\n";
    } else if (response.status != 204 && response.status != 304) {
      out += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    }
    if (!head_.keeps_alive)
      out += "Connection: close\r\n";
    else if (head_.request.is_http_1_0)
      out += "Connection: keep-alive\r\n";
    return out + "\r\n";
  }

  void enqueue(std::string text) {
    queue_.push_back(std::move(text));
    if (!is_writing_) write_next();
  }

  void write_next() {
    is_writing_ = true;
    arm(seconds(context_->limits.write_seconds));
    asio::async_write(stream_, asio::buffer(queue_.front()),
                      [self = shared_from_this()](ErrorCode error, std::size_t) { self->on_written(error); });
  }

  void on_written(ErrorCode error) {
    is_writing_ = false;
    queue_.pop_front();
    if (error) {
      if (is_timed_out_) ++context_->timed_out;
      has_failed_ = true;
      queue_.clear();
      if (is_last_queued_ || !is_busy_) leave();
      return close();
    }
    if (!queue_.empty()) return write_next();
    disarm();
    if (is_last_queued_) finish_answer();
  }

  void finish_answer() {
    if (!queue_.empty()) return;
    leave();
    is_last_queued_ = false;
    if (has_failed_) return close();
    if (head_.keeps_alive) return next_request(false);
    linger();
  }

  /// Closing with unread bytes would send a reset that can overtake the answer: read a little first.
  void linger() {
    ErrorCode ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    if (!is_lingering_ && buffer_.size() == 0) return close();
    arm(seconds(1));
    linger_more(kMaxLingerReads);
  }

  void linger_more(std::size_t reads_left) {
    buffer_.clear();
    if (reads_left == 0) return close();
    stream_.async_read_some(buffer_.prepare(kReadBytes),
                            [self = shared_from_this(), reads_left](ErrorCode error, std::size_t) {
                              if (error) return self->close();
                              self->linger_more(reads_left - 1);
                            });
  }

  void leave() {
    if (!is_busy_) return;
    is_busy_ = false;
    --context_->busy;
  }

  void close() {
    leave();
    ErrorCode ignored;
    disarm();
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  std::shared_ptr<SessionContext> context_;
  std::string peer_;
  beast::flat_buffer buffer_{kMaxBufferBytes};
  HttpHead head_;
  std::optional<beast::http::request_parser<beast::http::string_body>> parser_;
  std::function<void(std::uint64_t, beast::string_view, ErrorCode&)> chunk_check_ =
      [](std::uint64_t, beast::string_view extensions, ErrorCode& error) {
        if (extensions.size() > 256)
          error = beast::http::make_error_code(beast::http::error::bad_chunk_extension);
      };
  std::deque<std::string> queue_;
  bool is_waiting_idle_ = false;
  bool is_timed_out_ = false;
  bool is_busy_ = false;
  bool is_writing_ = false;
  bool is_last_queued_ = false;
  bool is_lingering_ = false;
  bool has_failed_ = false;
};

SessionResponder::~SessionResponder() {
  if (!is_answered_)
    send(make_response(500, "text/plain; charset=utf-8", "no answer was made\n"));
  else if (!is_ended_)
    end();
}

void SessionResponder::send(HttpResponse response) {
  is_answered_ = true;
  is_ended_ = true;
  session_->on_strand(
      [session = session_, response = std::move(response)]() mutable { session->send(std::move(response)); });
}

void SessionResponder::begin(HttpResponse head) {
  is_answered_ = true;
  session_->on_strand(
      [session = session_, head = std::move(head)]() mutable { session->begin(std::move(head)); });
}

void SessionResponder::write(std::string piece) {
  session_->on_strand(
      [session = session_, piece = std::move(piece)]() mutable { session->write_piece(std::move(piece)); });
}

void SessionResponder::end() {
  is_ended_ = true;
  session_->on_strand([session = session_] { session->end_pieces(); });
}

}  // namespace

void run_session(asio::ip::tcp::socket socket, std::shared_ptr<SessionContext> context) {
  std::make_shared<Session>(std::move(socket), std::move(context))->start();
}

}  // namespace metafuse::service
