#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "service/config/config.h"
#include "service/http/head.h"
#include "service/http/session_deadline.h"
#include "service/http/session_io.h"

namespace metafuse::service {

/// Reads the requests of one connection, one after another, each within its limits of time and size. Its
/// owner keeps it alive through `hold`.
class RequestReader {
 public:
  /// What a wait for a request comes to, one of these.
  struct Events {
    std::function<void()> on_request;                        ///< it stands in head()
    std::function<void(const Refusal& refusal)> on_refusal;  ///< what came is no request, or is late
    std::function<void(bool is_too_idle)> on_end;            ///< the client has gone, or says nothing
  };

  RequestReader(SessionSocket& socket, SessionDeadline& deadline, std::shared_ptr<const LimitsConfig> limits,
                Events events);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// in: is_first - of its connection; idle_seconds - how long the client may say nothing before it begins
  void next(bool is_first, double idle_seconds, std::shared_ptr<void> hold);
  /// Reads a little more and forgets it, then ends.
  void forget_rest(std::shared_ptr<void> hold);

  /// The last request's.
  HttpHead& head() { return head_; }
  /// Whether more came than the requests so far.
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
  void on_body(ErrorCode failure);
  void forget_rest(std::size_t reads_left, Hold hold);

  SessionSocket& socket_;
  SessionDeadline& deadline_;
  std::shared_ptr<const LimitsConfig> limits_;
  Events events_;
  boost::beast::flat_buffer buffer_;
  HttpHead head_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::function<void(std::uint64_t, boost::beast::string_view, ErrorCode&)> chunk_check_;
  std::chrono::steady_clock::time_point idle_until_;
  bool is_waiting_idle_ = false;
};

}  // namespace metafuse::service
