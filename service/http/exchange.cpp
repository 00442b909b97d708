#include "service/http/exchange.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/text.h"

namespace metafuse::service {
namespace {

bool is_any(std::span<const AddressRange> ranges, std::string_view address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return range.contains(address); });
}

/// The address without a port, which some proxies add: "192.0.2.7:5000", "[2001:db8::1]:5000".
std::string_view without_port(std::string_view text) {
  if (text.starts_with('[')) return text.substr(1, text.find(']') - 1);
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos
             ? text.substr(0, colon)
             : text;
}

/// Removes and returns the last item of a list like "a, b, c".
std::string_view take_last(std::string_view& list) {
  const std::size_t comma = list.rfind(',');
  const std::string_view last = comma == std::string_view::npos ? list : list.substr(comma + 1);
  list = list.substr(0, comma == std::string_view::npos ? 0 : comma);
  return trimmed(last);
}

constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

bool contains(const std::vector<std::string>& items, std::string_view item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

void add_cors(const Exchange& exchange, HttpResponse& response) {
  const std::vector<std::string>& allowed = exchange.snapshot->config.cors_origins;
  const std::string_view origin = exchange.request.header("Origin");
  if (allowed.empty()) return;
  response.set("Vary", "Origin");  // also without one, because caches keep what is public
  if (origin.empty()) return;
  response.set("Access-Control-Expose-Headers", "ETag, Retry-After, traceparent, X-Unresponsive-Engines");
  if (contains(allowed, "*"))
    response.set("Access-Control-Allow-Origin", "*");
  else if (contains(allowed, origin))
    response.set("Access-Control-Allow-Origin", origin);
}

bool is_lower_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

int status_of(Code code) {
  switch (code) {
    case Code::usage:
    case Code::bad_data:
      return 400;
    case Code::bad_config:
      return 422;
    case Code::no_input:
      return 404;
    case Code::unavailable:
    case Code::try_again:
      return 503;
    case Code::internal:
      return 500;
  }
  return 500;
}

OrRefusal<const LoadedDomain*> Exchange::domain_in_path() const {
  const std::string& name = path_values.front();
  if (const LoadedDomain* found = find_domain(name); found != nullptr) return found;
  return refusal(404, "no domain \"" + name + "\"");
}

std::string client_address(std::span<const AddressRange> trusted_proxies, const HttpRequest& request) {
  std::string client = request.peer;
  const std::string lines = request.list("X-Forwarded-For");
  std::string_view chain = lines;
  while (!chain.empty() && is_any(trusted_proxies, client)) {
    const std::string_view last = take_last(chain);
    if (last.empty()) break;
    client = std::string(without_port(last));
  }
  return client;
}

bool is_trusted_peer(std::span<const AddressRange> trusted_proxies, const HttpRequest& request) {
  return is_any(trusted_proxies, request.peer);
}

bool came_by_https(std::span<const AddressRange> trusted_proxies, const HttpRequest& request) {
  const std::string lines = request.list("X-Forwarded-Proto");
  std::string_view chain = lines;
  return is_any(trusted_proxies, request.peer) && equal_ignoring_case(take_last(chain), "https");
}

void note_sender(Exchange& exchange) {
  const ServerConfig& config = exchange.snapshot->config;
  const bool is_trusted = is_trusted_peer(config.trusted_proxies, exchange.request);
  exchange.traceparent =
      next_traceparent(exchange.request.header("traceparent"), config.traces.share, is_trusted);
  exchange.client = client_address(config.trusted_proxies, exchange.request);
  exchange.is_https = came_by_https(config.trusted_proxies, exchange.request);
}

bool may_be_stored(const HttpRequest& request) {
  return request.header("DNT") != "1" && request.header("Sec-GPC") != "1";
}

std::string next_traceparent(std::string_view incoming, double share, bool is_trusted) {
  // version 00: 00-<32 hex>-<16 hex>-<2 hex>; neither id may be all zeros
  const bool is_valid = incoming.size() == 55 && incoming.starts_with("00-") && incoming[35] == '-' &&
                        incoming[52] == '-' && is_lower_hex(incoming.substr(3, 32)) &&
                        is_lower_hex(incoming.substr(36, 16)) && is_lower_hex(incoming.substr(53)) &&
                        incoming.substr(3, 32).find_first_not_of('0') != std::string_view::npos &&
                        incoming.substr(36, 16).find_first_not_of('0') != std::string_view::npos;
  if (is_valid && is_trusted)
    return std::string(incoming.substr(0, 36)) + random_hex(8) + std::string(incoming.substr(52));
  const bool is_wanted = !is_valid || trace_context(incoming).is_sampled;
  const std::string trace = is_valid ? std::string(incoming.substr(3, 32)) : random_hex(16);
  // drawn anew, because an outsider may choose the trace id
  const std::string drawn = random_hex(8);
  const bool is_sampled = static_cast<double>(std::stoul(drawn.substr(0, 4), nullptr, 16)) < share * 65536;
  return fmt::format("00-{}-{}-{}", trace, drawn, is_wanted && is_sampled ? "01" : "00");
}

std::optional<HttpResponse> preflight_answer(const Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  const bool is_question = request.method == "OPTIONS" && !request.header("Origin").empty() &&
                           !request.header("Access-Control-Request-Method").empty();
  if (!is_question || exchange.snapshot->config.cors_origins.empty()) return std::nullopt;
  HttpResponse response;
  response.status = 204;
  response.set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
  response.set(
      "Access-Control-Allow-Headers",
      "Authorization, Content-Type, If-Match, If-None-Match, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
      "traceparent, X-API-Key");
  response.set("Access-Control-Max-Age", "600");
  return response;  // Allow-Origin is set with the common headers, for allowed origins only
}

void add_common_headers(const Exchange& exchange, HttpResponse& response) {
  response.set("X-Content-Type-Options", "nosniff");
  // "no-referrer" would make browsers send the forms of our own pages with `Origin: null` over plain HTTP
  response.set("Referrer-Policy", "same-origin");
  response.set("X-Frame-Options", "DENY");
  if (response.header("Content-Security-Policy").empty())
    response.set("Content-Security-Policy", kContentSecurityPolicy);
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  if (response.header("Cross-Origin-Resource-Policy").empty())
    response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
  if (response.header("Cache-Control").empty()) response.set("Cache-Control", "no-store");
  if (exchange.is_https) response.set("Strict-Transport-Security", "max-age=31536000");
  response.set("Server", "metafuse");
  response.set("traceparent", exchange.traceparent);
  add_cors(exchange, response);
}

void Reply::send(HttpResponse response) {
  if (has_begun_) return;
  add_common_headers(exchange_, response);
  bytes_ = response.body_bytes();
  has_begun_ = has_ended_ = true;
  count(response.status);
  responder_.send(std::move(response));
}

void Reply::begin(HttpResponse head) {
  add_common_headers(exchange_, head);
  has_begun_ = true;
  status_ = head.status;
  responder_.begin(std::move(head));
}

void Reply::write(std::string piece) {
  bytes_ += piece.size();
  responder_.write(std::move(piece));
}

void Reply::end() {
  if (!has_begun_ || has_ended_) return;
  has_ended_ = true;
  responder_.end();
  count(status_);
}

void Reply::trace(int status) const {
  const TraceContext here = trace_context(exchange_.traceparent);
  if (telemetry_.traces == nullptr || !here.is_sampled) return;
  Span span{std::string(here.trace), std::string(here.span), {},          {},
            Span::Kind::server,      exchange_.arrived,      clock_.now()};
  // next_traceparent() keeps the caller's trace id when the caller's header is well formed
  const std::string_view incoming = exchange_.request.header("traceparent");
  if (incoming.size() == exchange_.traceparent.size() && incoming.substr(3, 32) == here.trace)
    span.parent = std::string(trace_context(incoming).span);
  span.name = fmt::format("{} {}", exchange_.request.method, exchange_.route);
  span.attributes = {{"http.request.method", exchange_.request.method},
                     {"http.response.status_code", fmt::format("{}", status)}};
  span.has_failed = status >= 500;
  telemetry_.traces->add({std::move(span)});
}

void Reply::count(int status) {
  const double seconds = std::chrono::duration<double>(clock_.now() - exchange_.arrived).count();
  telemetry_.metrics.request(exchange_.route, status, seconds);
  if (exchange_.route == "healthz" || exchange_.route == "readyz" || exchange_.route == "metrics") return;
  if (!exchange_.traceparent.empty()) trace(status);
  telemetry_.log.request(
      {.route = exchange_.route,
       .method = exchange_.request.method,
       .status = status,
       .seconds = seconds,
       .bytes = bytes_,
       .key = exchange_.key == nullptr ? std::string_view() : std::string_view(exchange_.key->name),
       .refused = exchange_.refused,
       .trace = exchange_.traceparent});
}

}  // namespace metafuse::service
