#include "service/base/traces.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>

#include "core/digest.h"
#include "core/text.h"
#include "core/url.h"
#include "service/base/process.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSpansAtOnce = 512;
constexpr std::size_t kMostTries = 3;
constexpr std::size_t kSpanIdBytes = 8;
constexpr std::chrono::seconds kBetweenSends{1};

JsonObject otlp_attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", JsonObject{{"stringValue", value}}}};
}

/// Nanoseconds since 1970, as text: OTLP's JSON writes 64-bit numbers as strings.
std::string otlp_time(TimePoint at, std::int64_t nanoseconds) {
  const auto steady = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  return std::to_string(steady + nanoseconds);
}

JsonObject otlp_span(const Span& span, std::int64_t nanoseconds) {
  JsonArray attributes;
  for (const auto& [key, value] : span.attributes) attributes.emplace_back(otlp_attribute(key, value));
  JsonObject out{{"traceId", span.trace},
                 {"spanId", span.id},
                 {"name", span.name},
                 {"kind", static_cast<int>(span.kind)},
                 {"startTimeUnixNano", otlp_time(span.begin, nanoseconds)},
                 {"endTimeUnixNano", otlp_time(span.end, nanoseconds)},
                 {"attributes", std::move(attributes)}};
  if (!span.parent.empty()) out["parentSpanId"] = span.parent;
  if (span.has_failed) out["status"] = JsonObject{{"code", 2}};
  return out;
}

std::int64_t steady_to_unix() {
  const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
  const auto steady = machine_clock().now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(unix_time).count() -
         std::chrono::duration_cast<std::chrono::nanoseconds>(steady).count();
}

/// Whether the collector asks for the same spans again (OTLP/HTTP, "Retryable Response Codes").
bool is_worth_another_try(int status) {
  return status == 429 || (status >= 502 && status <= 504);
}

}  // namespace

TraceContext trace_context(std::string_view traceparent) {
  return {traceparent.substr(3, 32), traceparent.substr(36, 16), (hex_value(traceparent.back()) & 1) != 0};
}

std::string new_span_id() {
  return random_hex(kSpanIdBytes);
}

JsonObject otlp_json(const std::vector<Span>& spans, std::string_view server, std::int64_t nanoseconds) {
  JsonArray list;
  for (const Span& span : spans) list.emplace_back(otlp_span(span, nanoseconds));
  JsonObject scope{{"scope", JsonObject{{"name", "metafuse"}}}, {"spans", std::move(list)}};
  JsonObject resource{{"attributes", JsonArray{otlp_attribute("service.name", "metafuse"),
                                               otlp_attribute("service.version", version()),
                                               otlp_attribute("service.instance.id", server)}}};
  JsonObject all{{"resource", std::move(resource)}, {"scopeSpans", JsonArray{std::move(scope)}}};
  return {{"resourceSpans", JsonArray{std::move(all)}}};
}

Result<std::unique_ptr<Traces>> Traces::open(Options options) {
  const auto parts = parts_of_url(options.url);
  if (!parts)
    return fail(Code::bad_config,
                "traces: \"" + options.url + "\" is not a collector's URL; write http://HOST:4318/v1/traces");
  std::string origin = parts->origin();
  TRY(auto guard, fetchers::AddressGuard::make({origin}));
  return std::unique_ptr<Traces>(
      new Traces(std::move(options), std::move(origin), fetchers::make_curl_transport(std::move(guard))));
}

Traces::Traces(Options options, std::string origin, std::unique_ptr<fetchers::Transport> transport)
    : options_(std::move(options)),
      origin_(std::move(origin)),
      transport_(std::move(transport)),
      nanoseconds_(steady_to_unix()),
      thread_([this] { send_until_stopped(); }) {}

Traces::~Traces() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

void Traces::add(std::vector<Span> spans) {
  const std::lock_guard lock(mutex_);
  const std::size_t room = options_.max_waiting - std::min(options_.max_waiting, waiting_.size());
  const std::size_t taken = std::min(room, spans.size());
  dropped_ += spans.size() - taken;
  std::move(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(taken), std::back_inserter(waiting_));
}

bool Traces::send(const std::vector<Span>& spans) {
  fetchers::EngineRequest request;
  request.engine = "traces";
  request.method = "POST";
  request.url = options_.url;
  request.headers = {{"Content-Type", "application/json"}};
  request.body = to_text(otlp_json(spans, options_.server, nanoseconds_));
  request.is_confidential = true;
  request.own_origin = origin_;
  request.timeout = options_.patience;
  request.max_redirects = 0;
  const auto answered = std::make_shared<std::promise<fetchers::HttpAnswer>>();
  transport_->send(std::move(request),
                   [answered](fetchers::HttpAnswer answer) { answered->set_value(std::move(answer)); });
  const fetchers::HttpAnswer answer = answered->get_future().get();
  if (answer.failure != fetchers::Failure::none && answer.status == 0) return false;
  if (is_worth_another_try(answer.status)) return false;
  (answer.status / 100 == 2 ? sent_ : dropped_) += spans.size();
  return true;
}

void Traces::send_until_stopped() {
  std::vector<Span> part;
  std::size_t tries = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    // a full batch is sent at once, unless the collector has just refused it
    if (tries > 0 || waiting_.size() < kSpansAtOnce)
      wakes_.wait_for(lock, kBetweenSends, [this] { return is_stopping_; });
    const bool is_last = is_stopping_;
    if (part.empty()) {
      const auto end =
          waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kSpansAtOnce));
      part.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
      waiting_.erase(waiting_.begin(), end);
    }
    if (!part.empty()) {
      lock.unlock();
      const bool is_done = send(part);
      lock.lock();
      if (!is_done && ++tries >= kMostTries) dropped_ += part.size();
      if (is_done || tries >= kMostTries) {
        part.clear();
        tries = 0;
      }
    }
    if (!is_last) continue;
    dropped_ += part.size();
    part.clear();
    if (waiting_.empty() || tries > 0) {
      dropped_ += waiting_.size();
      return;
    }
  }
}

}  // namespace metafuse::service
