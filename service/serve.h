#pragma once

#include <functional>
#include <string>

#include "core/deadline.h"
#include "core/result.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// What a server is started with: the App behind its sockets.
struct ServeOptions : SnapshotSource {
  std::function<void(const std::string& address)> on_ready;    ///< "http://127.0.0.1:8080"
  std::function<void(const std::string& warning)> on_warning;  ///< called with each warning at start
};

/// Serves until SIGTERM or SIGINT, then answers the requests under way and returns. SIGHUP reloads.
///
/// errors: unavailable: the port is taken; those of load_snapshot
Result<void> serve(const ServeOptions& options);

}  // namespace metafuse::service
