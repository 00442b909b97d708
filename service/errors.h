#pragma once

#include <string_view>

#include "core/result.h"
#include "service/http/message.h"
#include "service/router.h"

namespace metafuse::service {

/// An error in the shape that a dialect's clients read: problem+json (RFC 9457) on /v1, {"detail":{"error"}}
/// for Tavily, {"error"} for SearXNG, JSON-RPC for MCP, a page or a line of text elsewhere.
HttpResponse error_response(Dialect dialect, int status, std::string_view text);

/// The HTTP status of an expected failure.
int status_of(Code code);

}  // namespace metafuse::service
