#pragma once

#include <functional>
#include <string>

#include "core/deadline.h"
#include "core/result.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// A running server: the App behind its sockets.
struct ServeOptions {
  ServerConfig config;
  LoadEngines load_engines;
  std::function<Result<ServerConfig>()> reread;                ///< the configuration again, for SIGHUP
  std::function<void(const std::string& address)> on_ready;    ///< "http://127.0.0.1:8080"
  std::function<void(const std::string& warning)> on_warning;  ///< what no error is but should be heard
};

/// Serves until SIGTERM or SIGINT, then answers what is under way and returns. SIGHUP reloads.
///
/// errors: unavailable: the port is taken; those of load_snapshot
Result<void> serve(const ServeOptions& options);

}  // namespace metafuse::service
