#pragma once

#include <string>

#include "core/result.h"
#include "service/http/server.h"

// The Model Context Protocol on standard streams, as desktop agents start it: one JSON-RPC message per line
// in, one per line out. Each message becomes an equivalent POST /mcp request, so that both transports answer
// alike. Nothing else is written to the output.

namespace metafuse::service {

/// The two file descriptors for messages, and the API key that every request carries.
struct StdioEnds {
  int input = 0;
  int output = 1;
  std::string key;  ///< empty for none
};

/// Answers messages until the input has ended and every message is answered. Messages are handled in parallel
/// and may be answered out of order, as JSON-RPC allows. A message of more than 1 MiB gets an error.
///
/// errors: usage: the key has a control character; unavailable: the output is closed
Result<void> answer_stdio(const HttpHandler& handle, const StdioEnds& ends);

/// As answer_stdio(), with the messages relayed to a running server.
///
/// in:     url - of the server ("http://127.0.0.1:8080") or of its /mcp
/// errors: usage: the URL is not http or https, or the key has a control character; unavailable: the output
///         is closed. A message that the server does not answer gets an error; the server may be restarted.
Result<void> relay_stdio(const std::string& url, const StdioEnds& ends);

}  // namespace metafuse::service
