#include "service/api/rendered_answers.h"

#include <chrono>
#include <cmath>
#include <utility>

#include <boost/json/object.hpp>

#include "core/contract.h"
#include "core/digest.h"
#include "core/json.h"
#include "service/api/mcp_protocol.h"
#include "service/http/message.h"
#include "service/pages/preferences.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxKeyBytes = 8192;
constexpr std::size_t kGaps = 3;
constexpr std::size_t kMarkBytes = 16;

/// A JSON-RPC call without its id, which is new each time.
struct Call {
  std::string id;
  std::string body;
};

/// out: nothing for anything but a tool call
std::optional<Call> read_call(const HttpRequest& request) {
  auto body = json_body(request);
  if (!body) return std::nullopt;
  Json value(std::move(*body));
  mcp::Message message;
  if (mcp::read_message(value, message) || message.is_notification || message.method != "tools/call")
    return std::nullopt;
  value.as_object().erase("id");
  return Call{to_text(message.id), to_text(value)};
}

/// Appends the part after its length, so that different requests never make the same key.
void append(std::string& key, std::string_view part) {
  key += std::to_string(part.size());
  key += ':';
  key += part;
}

std::size_t bytes_of(const RenderedAnswer& answer) {
  std::size_t bytes = sizeof(RenderedAnswer) + answer.domain.size() + answer.method.size();
  for (const Header& header : answer.headers)
    bytes += sizeof(Header) + header.name.size() + header.value.size();
  for (const std::string& part : answer.frame->parts) bytes += sizeof(std::string) + part.size();
  if (answer.search == nullptr) return bytes;
  for (const std::string& document : answer.search->documents) bytes += sizeof(std::string) + document.size();
  for (const StoredList& list : answer.search->lists)
    bytes += sizeof(StoredList) + list.feature.size() + list.documents.size() * sizeof(std::uint32_t);
  return bytes + answer.search->shown.size() * sizeof(ShownResult);
}

}  // namespace

std::shared_ptr<const RenderedAnswer> RenderedAnswers::find(std::string_view key) {
  const TimePoint now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto* entry = cache_.find(key, now);
  return entry == nullptr ? nullptr : entry->value;
}

void RenderedAnswers::keep(std::string key, RenderedAnswer answer, TimePoint until) {
  const std::size_t bytes = bytes_of(answer) + 2 * key.size();
  auto shared = std::make_shared<const RenderedAnswer>(std::move(answer));
  const std::lock_guard lock(mutex_);
  cache_.keep(std::move(key), std::move(shared), until, bytes);
}

void RenderedAnswers::clear() {
  const std::lock_guard lock(mutex_);
  cache_.clear();
}

std::size_t RenderedAnswers::size() const {
  const std::lock_guard lock(mutex_);
  return cache_.size();
}

std::size_t RenderedAnswers::bytes() const {
  const std::lock_guard lock(mutex_);
  return cache_.bytes();
}

std::optional<RenderedKey> rendered_key(const Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  const bool is_call = exchange.route == "mcp";
  if (!is_call && exchange.route != "search" && exchange.route != "v1_search") return std::nullopt;
  if (request.target.size() + request.body.size() > kMaxKeyBytes) return std::nullopt;
  RenderedKey out;
  std::string& key = out.text;
  key = std::to_string(exchange.snapshot->generation);
  key.reserve(request.target.size() + request.body.size() + 128);
  append(key, request.method == "HEAD" ? "GET" : request.method);
  append(key, request.target);
  append(key, request.header("Content-Type"));
  if (is_call) {
    auto call = read_call(request);
    if (!call) return std::nullopt;
    append(key, call->body);
    for (const std::string_view name : {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Origin"})
      append(key, request.header(name));
    out.request_id = std::move(call->id);
  } else {
    append(key, request.body);
  }
  append(key, exchange.origin());
  append(key, exchange.may(Role::raw) ? "raw" : "");
  append(key, preferences_text(read_preferences_cookie(request.header("Cookie"))));
  return out;
}

BodyFrame frame_of(std::string_view body, std::span<const GapMark> marks) {
  BodyFrame frame;
  while (true) {
    std::size_t first = std::string_view::npos;
    const GapMark* found = nullptr;
    for (const GapMark& mark : marks) {
      require(!mark.text.empty(), "a mark is a text");
      const std::size_t at = body.find(mark.text);
      if (at >= first) continue;
      first = at;
      found = &mark;
    }
    frame.parts.emplace_back(body.substr(0, first));
    if (found == nullptr) return frame;
    frame.gaps.push_back(static_cast<std::size_t>(found->gap));
    body.remove_prefix(first + found->text.size());
  }
}

GapFillings fillings_of(std::span<const GapMark> marks) {
  GapFillings out(kGaps);
  for (const GapMark& mark : marks) out[static_cast<std::size_t>(mark.gap)] = mark.filling;
  return out;
}

std::string seconds_text(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  return to_text(Json(std::round(1e3 * seconds) / 1e3));
}

std::string new_mark() {
  return random_hex(kMarkBytes);
}

}  // namespace metafuse::service
