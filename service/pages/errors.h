#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/result.h"
#include "service/access/route_rules.h"
#include "service/base/log.h"
#include "service/http/exchange.h"
#include "service/http/message.h"

namespace metafuse::service {

/// An error response in the form that a dialect's clients expect: problem+json (RFC 9457) on /v1,
/// {"detail":{"error"}} for Tavily, {"error"} for SearXNG, JSON-RPC for MCP, {"detail"} for Open WebUI,
/// {"error_code","error_msg"} for Dify, {"error":{"message"}} for Perplexity, {"message","detail"} for
/// rerankers, a page or a line of text elsewhere.
///
/// in: reader - whose language, theme and operator a page shows; nullptr: English and the usual name
HttpResponse error_response(Dialect dialect, int status, std::string_view text,
                            const Exchange* reader = nullptr);

/// The response to an expected failure. A failure on the server's side (5xx) gets a general sentence: the
/// error's own text may name hosts and paths, so only administrators and the log get it.
HttpResponse failure_response(Dialect dialect, const Exchange& exchange, Log& log, const Error& error);

/// The response to a request that the gate refused, with Retry-After if the refusal has a time.
HttpResponse refusal_response(Dialect dialect, const AccessRefusal& refusal,
                              const Exchange* reader = nullptr);

/// The dialect of a request, by its path, method and content type.
Dialect dialect_of(const HttpRequest& request);

/// The HTTP status of what a handler returned instead of an answer.
int status_of(const std::variant<AccessRefusal, Error>& why);

}  // namespace metafuse::service
