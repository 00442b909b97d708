#include "service/http/common_headers.h"

#include <algorithm>
#include <vector>

#include "service/base/digest.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

bool contains(const std::vector<std::string>& items, std::string_view item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

void add_cors(const Exchange& exchange, HttpResponse& response) {
  const std::vector<std::string>& allowed = exchange.snapshot->config.cors_origins;
  const std::string_view origin = exchange.request.header("Origin");
  if (allowed.empty() || origin.empty()) return;
  response.set("Vary", "Origin");
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

std::string next_traceparent(std::string_view incoming) {
  // version 00: 00-<32 hex>-<16 hex>-<2 hex>, neither id all zero
  const bool is_valid = incoming.size() == 55 && incoming.starts_with("00-") && incoming[35] == '-' &&
                        incoming[52] == '-' && is_lower_hex(incoming.substr(3, 32)) &&
                        is_lower_hex(incoming.substr(36, 16)) && is_lower_hex(incoming.substr(53)) &&
                        incoming.substr(3, 32).find_first_not_of('0') != std::string_view::npos &&
                        incoming.substr(36, 16).find_first_not_of('0') != std::string_view::npos;
  if (!is_valid) return "00-" + random_hex(16) + '-' + random_hex(8) + "-01";
  return std::string(incoming.substr(0, 36)) + random_hex(8) + std::string(incoming.substr(52));
}

std::optional<HttpResponse> preflight_answer(const Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  const bool is_question = request.method == "OPTIONS" && !request.header("Origin").empty() &&
                           !request.header("Access-Control-Request-Method").empty();
  if (!is_question || exchange.snapshot->config.cors_origins.empty()) return std::nullopt;
  HttpResponse response;
  response.status = 204;
  response.set("Access-Control-Allow-Methods", "GET, POST, PUT");
  response.set(
      "Access-Control-Allow-Headers",
      "Authorization, Content-Type, If-Match, If-None-Match, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
      "traceparent, X-API-Key");
  response.set("Access-Control-Max-Age", "600");
  return response;  // Allow-Origin is set with the common headers, for allowed origins only
}

void add_common_headers(const Exchange& exchange, HttpResponse& response) {
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  response.set("X-Frame-Options", "DENY");
  response.set("Content-Security-Policy", kContentSecurityPolicy);
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
  if (response.header("Cache-Control").empty()) response.set("Cache-Control", "no-store");
  if (exchange.is_https) response.set("Strict-Transport-Security", "max-age=31536000");
  response.set("Server", "metafuse");
  response.set("traceparent", exchange.traceparent);
  add_cors(exchange, response);
}

}  // namespace metafuse::service
