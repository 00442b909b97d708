#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "service/base/log.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/router.h"

namespace metafuse::service {

/// An error in the shape that a dialect's clients read: problem+json (RFC 9457) on /v1, {"detail":{"error"}}
/// for Tavily, {"error"} for SearXNG, JSON-RPC for MCP, a page or a line of text elsewhere.
HttpResponse error_response(Dialect dialect, int status, std::string_view text);

/// The answer to an expected failure. What is broken on our side (5xx) is said in a sentence of ours: the
/// error's own words may name hosts and paths, and are for administrators and the log.
HttpResponse failure_response(Dialect dialect, const Exchange& exchange, Log& log, const Error& error);

/// The same of a request that is turned away, with Retry-After.
HttpResponse refusal_response(Dialect dialect, const AccessRefusal& refusal);

/// The dialect of a request, by its path, method and content type.
Dialect dialect_of(const HttpRequest& request);

/// The dialect of an error before a handler runs: the route's, but Tavily's where its client posted, and a
/// page for a browser that searched.
/// in:     route - nullptr for a path that does not exist
Dialect error_dialect(const Route* route, const HttpRequest& request);

/// The HTTP status of an expected failure.
int status_of(Code code);

}  // namespace metafuse::service
