#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/result.h"
#include "service/base/log.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/router.h"

namespace metafuse::service {

/// An error response in the form that a dialect's clients expect: problem+json (RFC 9457) on /v1,
/// {"detail":{"error"}} for Tavily, {"error"} for SearXNG, JSON-RPC for MCP, a page or a line of
/// text elsewhere.
HttpResponse error_response(Dialect dialect, int status, std::string_view text);

/// The response to an expected failure. A failure on the server's side (5xx) gets a general sentence: the
/// error's own text may name hosts and paths, so only administrators and the log get it.
HttpResponse failure_response(Dialect dialect, const Exchange& exchange, Log& log, const Error& error);

/// The response to a request that the gate refused, with Retry-After if the refusal has a time.
HttpResponse refusal_response(Dialect dialect, const AccessRefusal& refusal);

/// The dialect of a request, by its path, method and content type.
Dialect dialect_of(const HttpRequest& request);

/// The dialect of an error that occurs before a handler runs. It is the route's, with two exceptions:
/// Tavily's for a POST of JSON to /search, and a page for a search by a browser.
///
/// in: route - nullptr for a path that does not exist
Dialect error_dialect(const Route* route, const HttpRequest& request);

/// The HTTP status of an expected failure.
int status_of(Code code);
int status_of(const std::variant<AccessRefusal, Error>& why);

}  // namespace metafuse::service
