#pragma once

#include <functional>
#include <string>

#include "core/result.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"

// The Model Context Protocol on standard streams, as desktop agents start it: one JSON-RPC message per line
// in, one per line out. Each message becomes the request of POST /mcp that says the same, so that both
// transports answer alike; nothing else is written to the output.

namespace metafuse::service {

/// The two ends that the messages go through, and the key that every request shows.
struct StdioEnds {
  int input = 0;
  int output = 1;
  std::string key;  ///< empty for none
};

/// A server of its own for one client, without sockets and without a store: that belongs to the server that
/// runs beside it, if one does.
struct StdioServer {
  ServerConfig config;
  LoadEngines load_engines;
  std::function<Result<ServerConfig>()> reread;
  std::function<void(const std::string& warning)> on_warning;
};

/// Answers messages until the input ends and everything that was asked is answered. Messages are answered at
/// once and so out of order, as JSON-RPC allows; one of more than 1 MiB gets an error.
///
/// errors: those of App::create; unavailable: the output is closed
Result<void> serve_stdio(const StdioServer& options, const StdioEnds& ends);

/// The same by a server that runs already.
///
/// in:     url - of the server ("http://127.0.0.1:8080") or of its /mcp
/// errors: usage: no http or https URL; unavailable: the output is closed. A server that does not answer is
///         an error of each message, so that it may be restarted meanwhile.
Result<void> relay_stdio(const std::string& url, const StdioEnds& ends);

}  // namespace metafuse::service
