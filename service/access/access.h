#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/access/key_guard.h"
#include "service/http/exchange.h"
#include "service/router.h"

namespace metafuse::service {

/// Why a request is turned away before its handler runs.
struct AccessRefusal {
  int status = 403;
  std::string_view reason;  ///< a label for metrics
  std::string text;
  std::optional<double> retry_after_seconds;  ///< with 429
};

/// Checks Host, finds the client's address and key, and whether they may use the route.
///
/// in:     route - nullptr for a path that does not exist
/// errors: 421 a Host that is not ours, 401 a key that is not known or missing where one is needed, 403 a key
///         without the role, 429 a key from where too many were wrong
std::optional<AccessRefusal> check_access(const Route* route, KeyGuard& guard, Exchange& exchange);

/// Seconds as Retry-After says them: whole, at least one.
std::string retry_after_text(double seconds);

/// The dialect whose error shape fits a path that no route has.
Dialect dialect_of(const HttpRequest& request);

/// The dialect of an error before a handler runs: the route's, but Tavily's where its client posted, and a
/// page for a browser that searched. in: route - nullptr for a path that does not exist
Dialect error_dialect(const Route* route, const HttpRequest& request);

/// Security headers, CORS and traceparent; the same for every answer.
void add_common_headers(const Exchange& exchange, HttpResponse& response);

/// The answer to a browser's question whether another origin's page may send a request (CORS preflight);
/// nothing when the request is none.
std::optional<HttpResponse> preflight_answer(const Exchange& exchange);

/// A host and an optional port: "[::1]:80" is {"::1"}, "a:80" is {"a"}, in lower case.
std::string host_without_port(std::string_view host);

/// A W3C trace context: the trace id of `incoming` when it is well formed, else a new one; always a new span
/// id.
std::string next_traceparent(std::string_view incoming);

}  // namespace metafuse::service
