#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fetchers/http/transport.h"

namespace metafuse::service {

/// How readers of the web send requests: behind the engines' guard, which checks every socket and every
/// redirect. Made with the first request, so that a server that reads nothing has none. From any thread.
class GuardedTransport {
 public:
  /// From the next request on.
  ///
  /// in: allow_private - host:port beyond public addresses, checked with the configuration
  void set_allowed(std::vector<std::string> allow_private);
  std::shared_ptr<fetchers::Transport> get();

 private:
  std::mutex mutex_;
  std::vector<std::string> allow_private_;
  std::shared_ptr<fetchers::Transport> transport_;
};

}  // namespace metafuse::service
