#pragma once

#include <functional>
#include <string>

#include "core/deadline.h"
#include "core/result.h"
#include "service/api/mcp_stdio.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// What an App is started with.
struct AppSource : SnapshotSource {
  std::function<void(const std::string& warning)> on_warning;  ///< called with each warning at start
};

/// The App behind sockets.
struct ServeOptions : AppSource {
  std::function<void(const std::string& address)> on_ready;  ///< "http://127.0.0.1:8080"
};

/// Serves until SIGTERM or SIGINT, then answers the requests under way and returns. SIGHUP reloads.
///
/// errors: unavailable: the port is taken; those of load_snapshot
Result<void> serve(const ServeOptions& options);

/// The App for one client on standard streams, without sockets and without a store, which stays with a server
/// that may be running beside this one.
///
/// errors: those of load_snapshot and answer_stdio()
Result<void> serve_stdio(const AppSource& source, const StdioEnds& ends);

}  // namespace metafuse::service
