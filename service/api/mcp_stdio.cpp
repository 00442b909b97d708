#include "service/api/mcp_stdio.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "core/field_value.h"
#include "core/json.h"
#include "core/json_members.h"
#include "core/url.h"
#include "fetchers/http/transport.h"
#include "service/api/mcp_protocol.h"
#include "service/http/message.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 20;
constexpr std::size_t kMaxReply = std::size_t{16} << 20;
// More than the longest deadline of a search, which is 120 s.
constexpr auto kReplyWithin = std::chrono::seconds(130);
constexpr int kMostAtOnce = 64;

/// Reads lines from a file descriptor.
class LineReader {
 public:
  explicit LineReader(int input) : input_(input) {}

  enum class Got { line, too_long, end };
  /// Blocks until a line has arrived. A line that is too long is discarded.
  Got next(std::string& line) {
    line.clear();
    bool is_too_long = false;
    while (true) {
      if (at_ == end_ && !fill()) {
        if (is_too_long) return Got::too_long;
        return line.empty() ? Got::end : Got::line;
      }
      const std::string_view have(buffer_.data() + at_, end_ - at_);
      const std::size_t stop = have.find('\n');
      const std::string_view piece = have.substr(0, stop);
      if (line.size() + piece.size() > kMaxLine) is_too_long = true;
      if (!is_too_long) line += piece;
      at_ += piece.size();
      if (stop == std::string_view::npos) continue;
      ++at_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return is_too_long ? Got::too_long : Got::line;
    }
  }

 private:
  bool fill() {
    ssize_t got = 0;
    do got = ::read(input_, buffer_.data(), buffer_.size());
    while (got < 0 && errno == EINTR);
    at_ = 0;
    end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    return got > 0;
  }

  int input_;
  std::array<char, 65536> buffer_{};
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

/// Writes replies as whole lines, from any thread, and counts the messages under way.
class Output {
 public:
  explicit Output(int output) : output_(output) {}

  void begin_one() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ < kMostAtOnce; });
    ++under_way_;
  }
  /// in: line - the reply, empty for none
  void end_one(std::string line) {
    const std::lock_guard lock(mutex_);
    if (!line.empty()) write(std::move(line));
    --under_way_;
    changed_.notify_all();
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
  }
  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

 private:
  void write(std::string line) {
    while (!line.empty() && line.back() == '\n') line.pop_back();
    line += '\n';
    for (std::string_view rest = line; !rest.empty() && !is_closed_;) {
      const ssize_t sent = ::write(output_, rest.data(), rest.size());
      if (sent >= 0)
        rest.remove_prefix(static_cast<std::size_t>(sent));
      else
        is_closed_ = errno != EINTR;
    }
  }

  const int output_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int under_way_ = 0;
  bool is_closed_ = false;
};

/// One message as a POST /mcp request.
struct Posted {
  std::vector<Header> headers;
  std::string body;
  Json id;  ///< null if no reply is expected
  bool wants_reply = true;

  /// Whether its headers can be sent: the names in a message may contain line ends.
  bool is_sendable() const {
    return std::all_of(headers.begin(), headers.end(),
                       [](const Header& header) { return is_field_value(header.value); });
  }
};

/// Adds the headers that repeat what a message says in its body, because standard streams have no headers.
class Poster {
 public:
  explicit Poster(std::string key) : key_(std::move(key)) {}

  Posted post(std::string line) {
    Posted out;
    out.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
    if (!key_.empty()) out.headers.push_back({"Authorization", "Bearer " + key_});
    JsonLimits limits;
    limits.max_depth = 32;
    mcp::Message message;
    const auto value = parse_json(line, "message", Code::usage, limits);
    if (value && value->is_object() && !mcp::read_message(*value, message)) {
      out.id = message.id;
      out.wants_reply = !message.is_notification && !message.is_response;
      add_headers(message, out.headers);
    } else {
      add_session_version(out.headers);
    }
    out.body = std::move(line);
    return out;
  }

 private:
  void add_headers(const mcp::Message& message, std::vector<Header>& headers) {
    if (const std::string version = mcp::meta_version(message); !version.empty()) {
      headers.push_back({"MCP-Protocol-Version", version});
      headers.push_back({"Mcp-Method", message.method});
      if (const auto* name = JsonMembers(message.params).text("name"))
        headers.push_back({"Mcp-Name", std::string(*name)});
      return;
    }
    if (message.method == "initialize")
      session_version_ = mcp::agreed_version(message);
    else
      add_session_version(headers);
  }

  void add_session_version(std::vector<Header>& headers) const {
    if (!session_version_.empty()) headers.push_back({"MCP-Protocol-Version", session_version_});
  }

  std::string key_;
  std::string session_version_;  ///< what `initialize` agreed on
};

/// The reply line of a message with an error; empty if no reply is expected.
std::string error_line(const Posted& posted, const mcp::RpcError& error) {
  return posted.wants_reply ? to_text(mcp::error_message(posted.id, error)) : std::string();
}

/// The reply line of a message that failed on the way; empty if no reply is expected.
std::string failure_line(const Posted& posted, int status, const std::string& text) {
  return error_line(posted, {mcp::ErrorCode::internal, status, text});
}

/// The reply line for the client. It adds the id to an error that was found before the message was read.
///
/// in: body - of the HTTP answer with `status`
std::string reply_line(const Posted& posted, int status, std::string body) {
  if (!posted.wants_reply) return {};
  if (status < 400) return body;
  auto value = parse_json(body, "answer");
  if (!value || !value->is_object() || !value->get_object().contains("error"))
    return failure_line(posted, status, "the server answered with status " + std::to_string(status));
  JsonObject& reply = value->get_object();
  if (!reply.contains("id") || reply.at("id").is_null()) reply["id"] = posted.id;
  return to_text(*value);
}

/// Passes each message to `send`, until the input ends.
template <class Send>
Result<void> run_stdio(const StdioEnds& ends, Output& output, const Send& send) {
  if (!is_field_value(ends.key))
    return fail(Code::usage, "the API key has a control character, such as a line end; give the key alone");
  std::signal(SIGPIPE, SIG_IGN);
  LineReader reader(ends.input);
  Poster poster(ends.key);
  std::string line;
  for (auto got = reader.next(line); got != LineReader::Got::end && !output.is_closed();
       got = reader.next(line)) {
    if (got == LineReader::Got::line && line.find_first_not_of(" \t") == std::string::npos) continue;
    output.begin_one();
    if (got == LineReader::Got::too_long) {
      output.end_one(to_text(
          mcp::error_message(nullptr, {mcp::ErrorCode::parse, 413, "a message may have at most 1 MiB"})));
      continue;
    }
    Posted posted = poster.post(std::move(line));
    if (posted.is_sendable())
      send(std::move(posted));
    else
      output.end_one(error_line(posted, {mcp::ErrorCode::invalid_request, 400,
                                         "a method, name or version may have no control characters"}));
  }
  output.wait_for_all();
  if (output.is_closed()) return fail(Code::unavailable, "standard output is closed; the client has ended");
  return {};
}

/// Writes the handler's answer to one message.
class StdioResponder final : public Responder {
 public:
  StdioResponder(std::shared_ptr<Output> output, Posted posted)
      : output_(std::move(output)), posted_(std::move(posted)) {}
  StdioResponder(const StdioResponder&) = delete;
  StdioResponder& operator=(const StdioResponder&) = delete;
  /// If nothing was sent because memory ran out, the client gets an error.
  ~StdioResponder() override {
    if (!is_done_) output_->end_one(failure_line(posted_, 500, "no answer"));
  }

  void send(HttpResponse response) override {
    std::string body = std::move(response.body);
    if (response.frame != nullptr) {
      const BodyFrame& frame = *response.frame;
      for (std::size_t i = 0; i < frame.parts.size(); ++i) {
        body += frame.parts[i];
        if (i < frame.gaps.size()) body += response.fillings.at(frame.gaps[i]);
      }
    }
    is_done_ = true;
    output_->end_one(reply_line(posted_, response.status, std::move(body)));
  }
  // POST /mcp never answers in pieces
  void begin(HttpResponse) override {}
  void write(std::string) override {}
  void end() override {}

 private:
  std::shared_ptr<Output> output_;
  Posted posted_;
  bool is_done_ = false;
};

}  // namespace

Result<void> answer_stdio(const HttpHandler& handle, const StdioEnds& ends) {
  const auto output = std::make_shared<Output>(ends.output);
  return run_stdio(ends, *output, [&](Posted posted) {
    HttpRequest request;
    request.method = "POST";
    request.target = request.path = "/mcp";
    request.peer = "127.0.0.1";
    request.headers = posted.headers;
    request.headers.push_back({"Host", "localhost"});
    request.body = std::move(posted.body);
    handle(std::move(request), std::make_shared<StdioResponder>(output, std::move(posted)));
  });
}

Result<void> relay_stdio(const std::string& url, const StdioEnds& ends) {
  const auto parts = parts_of_url(url);
  if (!parts)
    return fail(Code::usage, "--url \"" + url + "\" is not an http or https URL; give http://HOST:PORT");
  const std::string_view path = std::string_view(parts->path_and_query);
  const bool is_root = path.empty() || path == "/";
  const std::string target = is_root ? parts->scheme + "://" + parts->origin() + "/mcp" : url;
  TRY(auto guard, fetchers::AddressGuard::make({}));
  Output output(ends.output);
  const auto transport = fetchers::make_curl_transport(std::move(guard));
  return run_stdio(ends, output, [&](Posted posted) {
    fetchers::EngineRequest request;
    request.engine = "server";
    request.method = "POST";
    request.url = target;
    request.own_origin = parts->origin();
    for (const Header& header : posted.headers) request.headers.emplace_back(header.name, header.value);
    request.body = std::move(posted.body);
    request.timeout = kReplyWithin;
    request.max_bytes = kMaxReply;
    request.max_connections = kMostAtOnce;
    request.max_redirects = 0;
    const auto shared = std::make_shared<const Posted>(std::move(posted));
    transport->send(std::move(request), [&output, &target, shared](fetchers::HttpAnswer answer) {
      if (answer.failure == fetchers::Failure::none)
        return output.end_one(reply_line(*shared, answer.status, std::move(answer.body)));
      output.end_one(failure_line(*shared, 502, target + ": " + answer.message + "; is the server running?"));
    });
  });
}

}  // namespace metafuse::service
