#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fetchers/http/transport.h"

namespace metafuse::service {

/// The transport of PageReader and PictureReader. It uses the engines' guard, which checks every socket and
/// every redirect. It is created with the first request, so that a server that reads nothing has none. Safe
/// from any thread.
class GuardedTransport {
 public:
  /// Applies from the next request on.
  ///
  /// in: allow_private - HOST:PORT that may be reached although not public; the configuration has
  ///     checked them
  void set_allowed(std::vector<std::string> allow_private);
  std::shared_ptr<fetchers::Transport> get();

 private:
  std::mutex mutex_;
  std::vector<std::string> allow_private_;
  std::shared_ptr<fetchers::Transport> transport_;
};

}  // namespace metafuse::service
