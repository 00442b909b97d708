#include "service/api/rendered_answers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <boost/json/object.hpp>

#include "core/contract.h"
#include "core/digest.h"
#include "core/json.h"
#include "service/api/mcp_protocol.h"
#include "service/http/message.h"
#include "service/http/preferences.h"
#include "service/search/answer_cache.h"
#include "service/search/search_plan.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxKeyBytes = 8192;
constexpr std::size_t kGaps = 3;
constexpr std::size_t kMarkBytes = 16;

/// Reads the body of a tool call into the exchange.
///
/// out: the call without its id, which is new each time; "" for anything but a tool call
std::string call_text(Exchange& exchange) {
  auto body = mcp::read_body(exchange.request);
  if (!body) return {};
  exchange.json = std::move(*body);
  mcp::Message message;
  if (mcp::read_message(*exchange.json, message) || message.is_notification || message.method != "tools/call")
    return {};
  JsonObject call = exchange.json->as_object();
  call.erase("id");
  return to_text(call);
}

std::size_t bytes_of(const RenderedAnswer& answer) {
  const Repeat& repeat = *answer.repeat;
  std::size_t bytes = sizeof(RenderedAnswer) + sizeof(Repeat) + repeat.domain.size() + repeat.method.size();
  for (const Header& header : answer.headers)
    bytes += sizeof(Header) + header.name.size() + header.value.size();
  for (const std::string& part : answer.frame->parts) bytes += sizeof(std::string) + part.size();
  if (repeat.search == nullptr) return bytes;
  const auto search = repeat.search->latest();
  for (const std::string& document : search->documents) bytes += sizeof(std::string) + document.size();
  for (const StoredList& list : search->lists)
    bytes += sizeof(StoredList) + list.feature.size() +
             (list.documents.size() + list.ranks.size()) * sizeof(std::uint32_t);
  bytes += search->set_aside.size() * sizeof(std::uint32_t);
  return bytes + search->shown.size() * sizeof(ShownResult);
}

}  // namespace

std::shared_ptr<const RenderedAnswer> RenderedAnswers::find(Exchange& exchange, std::uint64_t decisions) {
  if (cache_.max_bytes() == 0 || !is_answer_shared(exchange)) return nullptr;
  exchange.repeat_key = rendered_key(exchange);
  if (exchange.repeat_key.empty()) return nullptr;
  append_part(exchange.repeat_key, std::to_string(decisions));
  const TimePoint now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto* entry = cache_.find(exchange.repeat_key, now);
  return entry == nullptr ? nullptr : entry->value;
}

HttpResponse RenderedAnswers::finish(const Exchange& exchange, HttpResponse response) {
  if (response.repeat == nullptr) return response;
  const Repeat& repeat = *response.repeat;
  const bool is_kept = repeat.until && !exchange.repeat_key.empty();
  const bool has_gaps = std::any_of(repeat.marks.begin(), repeat.marks.end(),
                                    [](const GapMark& mark) { return mark.text != mark.filling; });
  if (!is_kept && !has_gaps) return response;
  response.frame = std::make_shared<const BodyFrame>(frame_of(response.body, repeat.marks));
  response.fillings = fillings_of(repeat.marks);
  response.body.clear();
  if (!is_kept) return response;
  Repeat again = repeat;
  again.marks.clear();  // they have the same texts in every request that gets this answer
  auto shared = std::make_shared<const RenderedAnswer>(
      RenderedAnswer{response.headers, response.frame, std::make_shared<const Repeat>(std::move(again))});
  const std::size_t bytes = bytes_of(*shared) + 2 * exchange.repeat_key.size();
  const std::lock_guard lock(mutex_);
  if (repeat.found >= cleared_) cache_.keep(exchange.repeat_key, std::move(shared), *repeat.until, bytes);
  return response;
}

void RenderedAnswers::clear() {
  const std::lock_guard lock(mutex_);
  cache_.clear();
  cleared_ = clock_.now();
}

std::size_t RenderedAnswers::size() const {
  const std::lock_guard lock(mutex_);
  return cache_.size();
}

std::size_t RenderedAnswers::bytes() const {
  const std::lock_guard lock(mutex_);
  return cache_.bytes();
}

HttpResponse repeated_response(const RenderedAnswer& answer, const Exchange& exchange, std::string search_id,
                               Duration since) {
  HttpResponse response;
  response.headers = answer.headers;
  response.frame = answer.frame;
  response.fillings = GapFillings(kGaps);
  const auto fill = [&](Gap gap, std::string text) {
    response.fillings[static_cast<std::size_t>(gap)] = std::move(text);
  };
  fill(Gap::search_id, std::move(search_id));
  if (exchange.json) fill(Gap::request_id, to_text(exchange.json->as_object().at("id")));
  fill(Gap::seconds, seconds_text(since));
  return response;
}

std::string rendered_key(Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  const bool is_call = exchange.route == "mcp";
  if (!is_call && exchange.route != "search" && exchange.route != "v1_search") return {};
  if (request.target.size() + request.body.size() > kMaxKeyBytes) return {};
  std::string key = std::to_string(exchange.snapshot->generation);
  key.reserve(request.target.size() + request.body.size() + 128);
  append_part(key, request.method == "HEAD" ? "GET" : request.method);
  append_part(key, request.target);
  append_part(key, request.header("Content-Type"));
  if (is_call) {
    const std::string call = call_text(exchange);
    if (call.empty()) return {};
    append_part(key, call);
    for (const std::string_view name : {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Origin"})
      append_part(key, request.header(name));
  } else {
    append_part(key, request.body);
  }
  append_part(key, exchange.origin());
  append_part(key, exchange.may(Role::raw) ? "raw" : "");
  append_part(key, preferences_text(exchange.preferences));
  append_part(key, page_language(exchange.preferences, request.header("Accept-Language")));
  return key;
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
