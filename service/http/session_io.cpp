#include "service/http/session_io.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace metafuse::service {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
namespace beast = boost::beast;

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kMaxBufferBytes = kMaxHeadBytes + 2 * kReadBytes;
/// How much of a refused request is read, and how long after the last byte that came.
constexpr std::size_t kMaxLingerBytes = 64 << 20;
constexpr double kMaxLingerPause = 1;
constexpr std::size_t kMaxChunkExtensionBytes = 256;

Refusal late_body() {
  return Refusal{408, "the body did not arrive in time"};
}

}  // namespace

void SessionWriter::send(Outgoing item, std::shared_ptr<void> hold) {
  queue_.push_back(std::move(item));
  if (queue_.size() == 1) write_queue(std::move(hold));
}

/// Sets buffers_ to the texts of the queue's first item.
void SessionWriter::gather() {
  const Outgoing& item = queue_.front();
  buffers_.clear();
  buffers_.push_back(asio::buffer(item.head));
  if (item.frame == nullptr) {
    buffers_.push_back(asio::buffer(item.body));
    return;
  }
  for (std::size_t i = 0; i < item.frame->parts.size(); ++i) {
    if (i > 0) buffers_.push_back(asio::buffer(item.fillings[item.frame->gaps[i - 1]]));
    buffers_.push_back(asio::buffer(item.frame->parts[i]));
  }
}

void SessionWriter::skip(std::size_t bytes) {
  std::size_t whole = 0;
  while (whole < buffers_.size() && bytes >= buffers_[whole].size()) bytes -= buffers_[whole++].size();
  buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(whole));
  if (!buffers_.empty()) buffers_.front() += bytes;
}

void SessionWriter::write_queue(std::shared_ptr<void> hold) {
  while (!queue_.empty()) {
    gather();
    ErrorCode error;
    skip(socket_.write_some(buffers_, error));
    if (error && error != asio::error::would_block) return settle(false);
    if (!buffers_.empty()) {
      events_.on_waiting();
      return write_rest(std::move(hold));
    }
    queue_.pop_front();
  }
  settle(true);
}

/// Writes the unsent rest of the queue's first item, then the other items.
void SessionWriter::write_rest(std::shared_ptr<void> hold) {
  // one write at a time, because the deadline cannot cancel a write that has just ended
  socket_.async_write_some(buffers_,
                           [this, hold = std::move(hold)](ErrorCode failure, std::size_t bytes) mutable {
                             if (failure || deadline_.has_passed()) return settle(false);
                             skip(bytes);
                             if (!buffers_.empty()) return write_rest(std::move(hold));
                             queue_.pop_front();
                             write_queue(std::move(hold));
                           });
}

void SessionWriter::settle(bool is_done) {
  queue_.clear();
  buffers_.clear();
  events_.on_settled(is_done);
}

RequestReader::RequestReader(SessionSocket& socket, SessionDeadline& deadline,
                             std::shared_ptr<const LimitsConfig> limits, Events events)
    : socket_(socket),
      deadline_(deadline),
      limits_(std::move(limits)),
      events_(std::move(events)),
      buffer_(kMaxBufferBytes),
      chunk_check_([](std::uint64_t, beast::string_view extensions, ErrorCode& error) {
        if (extensions.size() > kMaxChunkExtensionBytes)
          error = beast::http::make_error_code(beast::http::error::bad_chunk_extension);
      }) {}

std::string_view RequestReader::received() const {
  const auto data = buffer_.cdata();
  return {static_cast<const char*>(data.data()), data.size()};
}

void RequestReader::next(bool is_first, double idle_seconds, Hold hold) {
  head_ = HttpHead{};
  parser_.reset();
  // One deadline for the whole head, so that a client that sends a byte per second does not gain time.
  is_waiting_idle_ = buffer_.size() == 0 && !is_first;
  idle_until_ = SessionDeadline::after(idle_seconds);
  deadline_.set(is_waiting_idle_ ? std::min(idle_seconds, limits_->write_seconds) : limits_->header_seconds,
                hold);
  if (buffer_.size() == 0) return read_more(std::move(hold));
  // other connections first: pipelined requests must neither occupy the thread nor nest on its stack
  asio::post(socket_.get_executor(),
             [this, hold = std::move(hold)]() mutable { look_for_head(std::move(hold)); });
}

void RequestReader::look_for_head(Hold hold) {
  buffer_.consume(empty_lines_before(received()));
  if (const auto end = head_end(received())) return take_head(received().substr(0, *end), std::move(hold));
  if (const auto refusal = hopeless_head(received())) return events_.on_refusal(*refusal);
  read_more(std::move(hold));
}

void RequestReader::read_more(Hold hold) {
  socket_.async_read_some(buffer_.prepare(kReadBytes),
                          [this, hold = std::move(hold)](ErrorCode error, std::size_t bytes) mutable {
                            on_read(error, bytes, std::move(hold));
                          });
}

void RequestReader::on_read(ErrorCode error, std::size_t bytes, Hold hold) {
  if (deadline_.has_passed()) {
    const bool is_idle = is_waiting_idle_ && buffer_.size() == 0;
    if (!is_idle) return events_.on_refusal(Refusal{408, "the header did not arrive in time"});
    if (may_stay_idle(hold)) return read_more(std::move(hold));
    return events_.on_end(true);
  }
  if (error) return events_.on_end(false);
  buffer_.commit(bytes);
  if (is_waiting_idle_) {
    is_waiting_idle_ = false;
    deadline_.set(limits_->header_seconds, hold);
  }
  look_for_head(std::move(hold));
}

/// Whether an idle client may stay. It may if it has received its last answer completely; otherwise it reads
/// too slowly.
bool RequestReader::may_stay_idle(const Hold& hold) {
  const std::chrono::duration<double> left = idle_until_ - std::chrono::steady_clock::now();
  if (left.count() <= 0) return false;
  if (unsent_bytes() > 0) {
    ErrorCode ignored;
    socket_.set_option(asio::ip::tcp::socket::linger(true, 0), ignored);  // the unread rest is discarded
    return false;
  }
  deadline_.set(left.count(), hold);
  return true;
}

/// Bytes that the kernel still holds for the client.
int RequestReader::unsent_bytes() {
  int bytes = 0;
  return ::ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

void RequestReader::take_head(std::string_view text, Hold hold) {
  if (auto refusal = parse_head(text, limits_->max_body_bytes, head_)) return events_.on_refusal(*refusal);
  if (head_.content_length > 0 || head_.is_chunked) return read_body(std::move(hold));
  buffer_.consume(text.size());
  events_.on_request();
}

void RequestReader::read_body(Hold hold) {
  deadline_.set(limits_->body_seconds, hold);
  if (!head_.wants_continue) return read_rest_of_body(std::move(hold));
  asio::async_write(socket_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                    [this, hold = std::move(hold)](ErrorCode error, std::size_t) mutable {
                      if (error) return events_.on_end(false);
                      read_rest_of_body(std::move(hold));
                    });
}

void RequestReader::read_rest_of_body(Hold hold) {
  if (!head_.is_chunked) return read_known_body(std::move(hold));
  parser_.emplace();
  parser_->body_limit(limits_->max_body_bytes);
  parser_->header_limit(kMaxHeadBytes);
  parser_->on_chunk_header(chunk_check_);
  parser_->eager(true);
  read_chunks(std::move(hold));
}

/// Parses what has arrived of a body in chunks, and reads on if that is not all.
void RequestReader::read_chunks(Hold hold) {
  ErrorCode error;
  buffer_.consume(parser_->put(buffer_.cdata(), error));
  if (error == beast::http::error::need_more) error = {};
  if (!error && !parser_->is_done() && buffer_.max_size() - buffer_.size() < kReadBytes)
    error = beast::http::make_error_code(beast::http::error::buffer_overflow);
  if (error || parser_->is_done()) return on_chunks(error);
  // one read at a time, as in read_missing_part()
  socket_.async_read_some(buffer_.prepare(kReadBytes),
                          [this, hold = std::move(hold)](ErrorCode failure, std::size_t bytes) mutable {
                            if (failure || deadline_.has_passed()) return on_chunks(failure);
                            buffer_.commit(bytes);
                            read_chunks(std::move(hold));
                          });
}

/// Reads a body whose length the head states, which is within the limits.
void RequestReader::read_known_body(Hold hold) {
  buffer_.consume(*head_end(received()));
  std::string& body = head_.request.body;
  body.reserve(head_.content_length);
  body = received().substr(0, head_.content_length);
  buffer_.consume(body.size());
  read_missing_part(body.size(), std::move(hold));
}

/// Memory is touched as bytes arrive, so that a length that is merely stated takes none.
void RequestReader::read_missing_part(std::size_t arrived, Hold hold) {
  std::string& body = head_.request.body;
  if (arrived == head_.content_length) return events_.on_request();
  if (arrived == body.size())
    body.resize(std::min<std::size_t>(head_.content_length, 2 * arrived + kReadBytes));
  // one read at a time, because the deadline cannot cancel a read that has just ended
  socket_.async_read_some(asio::buffer(body.data() + arrived, body.size() - arrived),
                          [this, arrived, hold = std::move(hold)](ErrorCode error, std::size_t more) mutable {
                            if (deadline_.has_passed()) return events_.on_refusal(late_body());
                            if (error) return events_.on_end(false);
                            read_missing_part(arrived + more, std::move(hold));
                          });
}

void RequestReader::on_chunks(ErrorCode failure) {
  if (deadline_.has_passed()) return events_.on_refusal(late_body());
  if (failure == beast::http::error::body_limit)
    return events_.on_refusal(long_body(limits_->max_body_bytes));
  if (failure.category() == beast::http::make_error_code(beast::http::error::end_of_stream).category() &&
      failure != beast::http::error::end_of_stream && failure != beast::http::error::partial_message)
    return events_.on_refusal(Refusal{400, "the body's framing is malformed"});
  if (failure) return events_.on_end(false);
  head_.request.body = std::move(parser_->get().body());
  parser_.reset();
  events_.on_request();
}

void RequestReader::forget_rest(double seconds, Hold hold) {
  linger_until_ = SessionDeadline::after(seconds);
  forget_more(kMaxLingerBytes, std::move(hold));
}

void RequestReader::forget_more(std::size_t bytes_left, Hold hold) {
  buffer_.clear();
  const std::chrono::duration<double> left = linger_until_ - std::chrono::steady_clock::now();
  if (bytes_left == 0 || left.count() <= 0) return events_.on_end(false);
  deadline_.set(std::min(kMaxLingerPause, left.count()), hold);
  socket_.async_read_some(buffer_.prepare(kReadBytes), [this, bytes_left, hold = std::move(hold)](
                                                           ErrorCode error, std::size_t bytes) mutable {
    if (error || deadline_.has_passed()) return events_.on_end(false);
    forget_more(bytes_left - std::min(bytes_left, bytes), std::move(hold));
  });
}

}  // namespace metafuse::service
