#include "service/http_session.h"

#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "service/http_response_text.h"
#include "service/http_scan.h"
#include "service/session_deadline.h"
#include "service/session_writer.h"

namespace metafuse::service {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kMaxBufferBytes = kMaxHeadBytes + 2 * kReadBytes;
/// What the kernel may hold for a client that does not read; without a bound it takes megabytes.
constexpr int kSendBytes = 128 * 1024;
constexpr std::size_t kMaxLingerReads = 16;
constexpr std::size_t kMaxChunkExtensionBytes = 256;

std::chrono::nanoseconds seconds(double count) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count * 1e9));
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
  Session(SessionSocket socket, std::shared_ptr<SessionContext> context)
      : socket_(std::move(socket)),
        context_(std::move(context)),
        limits_(context_->limits()),
        deadline_(socket_.get_executor(),
                  [this] {
                    // whatever is pending ends with an error; the socket stays open for a last answer
                    is_timed_out_ = true;
                    socket_.cancel();
                  }),
        writer_(socket_,
                {[this] { limit(limits_->write_seconds); }, [this](bool is_done) { on_settled(is_done); }}) {
    ++context_->open;
    ErrorCode ignored;
    const auto peer = socket_.remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string();
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::send_buffer_size(kSendBytes), ignored);
    socket_.non_blocking(true, ignored);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { --context_->open; }

  void start() {
    asio::dispatch(socket_.get_executor(), [self = shared_from_this()] { self->next_request(true); });
  }

  template <class Work>
  void on_own_thread(Work work) {
    asio::dispatch(socket_.get_executor(), std::move(work));
  }

  void send(HttpResponse response) { answer(std::move(response), false); }

  void begin(HttpResponse head) { answer(std::move(head), true); }

  void write_piece(std::string piece) {
    if (piece.empty() || has_failed_) return;
    if (!head_.request.is_http_1_0) piece = chunk_of(std::move(piece));
    writer_.send({std::move(piece), {}, nullptr, {}}, shared_from_this());
  }

  void end_pieces() {
    if (has_failed_) return;
    is_last_queued_ = true;
    if (!head_.request.is_http_1_0) return writer_.send({"0\r\n\r\n", {}, nullptr, {}}, shared_from_this());
    if (writer_.is_idle()) finish_answer();
  }

 private:
  void limit(double time) {
    is_timed_out_ = false;
    deadline_.set(seconds(time), shared_from_this());
  }

  std::string_view received() const {
    const auto data = buffer_.cdata();
    return {static_cast<const char*>(data.data()), data.size()};
  }

  void next_request(bool is_first) {
    head_ = HttpHead{};
    parser_.reset();
    // One deadline for the whole head: a client that sends a byte a second gains nothing.
    is_waiting_idle_ = buffer_.size() == 0 && !is_first;
    const double idle = context_->is_draining ? std::min(1.0, limits_->idle_seconds) : limits_->idle_seconds;
    idle_until_ = std::chrono::steady_clock::now() + seconds(idle);
    limit(is_waiting_idle_ ? std::min(idle, limits_->write_seconds) : limits_->header_seconds);
    if (buffer_.size() == 0) return read_more();
    // others' turn first: a pipeline of requests does not hold the thread, nor nest on its stack
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->look_for_head(); });
  }

  void look_for_head() {
    buffer_.consume(empty_lines_before(received()));
    if (const auto end = head_end(received())) return take_head(received().substr(0, *end));
    if (const auto refusal = hopeless_head(received())) return refuse(*refusal);
    read_more();
  }

  void read_more() {
    socket_.async_read_some(
        buffer_.prepare(kReadBytes),
        [self = shared_from_this()](ErrorCode error, std::size_t bytes) { self->on_read(error, bytes); });
  }

  void on_read(ErrorCode error, std::size_t bytes) {
    if (is_timed_out_) {
      const bool is_idle = is_waiting_idle_ && buffer_.size() == 0;
      if (is_idle && may_stay_idle()) return read_more();
      ++context_->timed_out;
      if (is_idle) return close();
      return refuse(Refusal{408, "the header did not arrive in time"});
    }
    if (error) return close();
    buffer_.commit(bytes);
    if (is_waiting_idle_) {
      is_waiting_idle_ = false;
      limit(limits_->header_seconds);
    }
    look_for_head();
  }

  /// A client that has taken its last answer may say nothing for a while; one that has not is slow to read.
  bool may_stay_idle() {
    const std::chrono::duration<double> left = idle_until_ - std::chrono::steady_clock::now();
    if (left.count() <= 0) return false;
    if (unsent_bytes() > 0) {
      ErrorCode ignored;
      socket_.set_option(asio::ip::tcp::socket::linger(true, 0), ignored);  // what it did not read is dropped
      return false;
    }
    limit(left.count());
    return true;
  }

  /// What the kernel still holds for the client.
  int unsent_bytes() {
    int bytes = 0;
    return ::ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
  }

  void take_head(std::string_view text) {
    if (auto refusal = parse_head(text, limits_->max_body_bytes, head_)) return refuse(*refusal);
    if (head_.content_length == 0 && !head_.is_chunked) {
      buffer_.consume(text.size());
      return dispatch();
    }
    read_body();
  }

  void read_body() {
    parser_.emplace();
    parser_->body_limit(limits_->max_body_bytes);
    parser_->header_limit(kMaxHeadBytes);
    parser_->on_chunk_header(chunk_check_);
    limit(limits_->body_seconds);
    if (!head_.wants_continue) return read_rest_of_body();
    asio::async_write(socket_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                      [self = shared_from_this()](ErrorCode error, std::size_t) {
                        if (error) return self->close();
                        self->read_rest_of_body();
                      });
  }

  void read_rest_of_body() {
    beast::http::async_read(
        socket_, buffer_, *parser_,
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
    deadline_.clear();
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
    answer(make_response(refusal.status, "text/plain; charset=utf-8", refusal.reason + "\n"), false);
  }

  void answer(HttpResponse response, bool is_piecewise) {
    if (context_->is_draining) head_.keeps_alive = false;
    if (is_piecewise && head_.request.is_http_1_0) head_.keeps_alive = false;
    is_last_queued_ = !is_piecewise;
    Outgoing out;
    out.head = response_head(response, {is_piecewise, head_.request.is_http_1_0, head_.keeps_alive});
    if (!is_piecewise && !head_.is_head && has_body(response.status)) {
      out.body = std::move(response.body);
      out.frame = std::move(response.frame);
      out.fillings = std::move(response.fillings);
    }
    writer_.send(std::move(out), shared_from_this());
  }

  void on_settled(bool is_done) {
    if (!is_done) {
      if (is_timed_out_) ++context_->timed_out;
      has_failed_ = true;
      return close();
    }
    deadline_.clear();
    if (is_last_queued_) finish_answer();
  }

  void finish_answer() {
    leave();
    is_last_queued_ = false;
    if (head_.keeps_alive) return next_request(false);
    linger();
  }

  /// Closing with unread bytes would send a reset that can overtake the answer: read a little first.
  void linger() {
    ErrorCode ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    if (!is_lingering_ && buffer_.size() == 0) return close();
    limit(1);
    linger_more(kMaxLingerReads);
  }

  void linger_more(std::size_t reads_left) {
    buffer_.clear();
    if (reads_left == 0) return close();
    socket_.async_read_some(buffer_.prepare(kReadBytes),
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
    deadline_.stop();
    ErrorCode ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

  SessionSocket socket_;
  std::shared_ptr<SessionContext> context_;
  std::shared_ptr<const LimitsConfig> limits_;
  SessionDeadline deadline_;
  SessionWriter writer_;
  std::string peer_;
  beast::flat_buffer buffer_{kMaxBufferBytes};
  HttpHead head_;
  std::optional<beast::http::request_parser<beast::http::string_body>> parser_;
  std::function<void(std::uint64_t, beast::string_view, ErrorCode&)> chunk_check_ =
      [](std::uint64_t, beast::string_view extensions, ErrorCode& error) {
        if (extensions.size() > kMaxChunkExtensionBytes)
          error = beast::http::make_error_code(beast::http::error::bad_chunk_extension);
      };
  std::chrono::steady_clock::time_point idle_until_;
  bool is_waiting_idle_ = false;
  bool is_timed_out_ = false;
  bool is_busy_ = false;
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
  session_->on_own_thread(
      [session = session_, response = std::move(response)]() mutable { session->send(std::move(response)); });
}

void SessionResponder::begin(HttpResponse head) {
  is_answered_ = true;
  session_->on_own_thread(
      [session = session_, head = std::move(head)]() mutable { session->begin(std::move(head)); });
}

void SessionResponder::write(std::string piece) {
  session_->on_own_thread(
      [session = session_, piece = std::move(piece)]() mutable { session->write_piece(std::move(piece)); });
}

void SessionResponder::end() {
  is_ended_ = true;
  session_->on_own_thread([session = session_] { session->end_pieces(); });
}

}  // namespace

void run_session(SessionSocket socket, std::shared_ptr<SessionContext> context) {
  std::make_shared<Session>(std::move(socket), std::move(context))->start();
}

}  // namespace metafuse::service
