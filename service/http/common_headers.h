#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/http/exchange.h"
#include "service/http/message.h"

namespace metafuse::service {

/// Security headers, CORS and traceparent; the same for every answer.
void add_common_headers(const Exchange& exchange, HttpResponse& response);

/// The answer to a browser's question whether another origin's page may send a request (CORS preflight);
/// nothing when the request is none.
std::optional<HttpResponse> preflight_answer(const Exchange& exchange);

/// A W3C trace context: the trace id of `incoming` when it is well formed, else a new one; always a new span
/// id.
std::string next_traceparent(std::string_view incoming);

}  // namespace metafuse::service
