#pragma once

#include <string>

#include "service/http/message.h"

namespace metafuse::service {

/// What the request's side of a connection decides about an answer's head.
struct ResponseFraming {
  bool is_piecewise = false;  ///< the body comes in pieces, of a length that is not known yet
  bool is_http_1_0 = false;   ///< no chunks
  bool keeps_alive = true;
};

/// Whether a status ever has a body.
bool has_body(int status);

/// Status line, headers and the empty line. A header with a control character, or with a colon in its name,
/// is left out: no value can end its line and write headers of its own.
std::string response_head(const HttpResponse& response, const ResponseFraming& framing);

/// One piece as HTTP/1.1's chunked coding frames it.
std::string chunk_of(std::string piece);

}  // namespace metafuse::service
