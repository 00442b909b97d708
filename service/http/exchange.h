#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "service/http/message.h"

namespace metafuse::service {

/// One request with everything a handler may look at.
struct Exchange {
  HttpRequest request;
  std::vector<std::string> path_values;  ///< what stood for {name} in the route's pattern
  std::string client;                    ///< the client's address, behind trusted proxies too
  std::shared_ptr<const Snapshot> snapshot;
  const KeyConfig* key = nullptr;  ///< of the snapshot's configuration; nullptr without a key
  std::string_view route;          ///< the route's name, for metrics
  std::string traceparent;         ///< of the answer
  TimePoint arrived;
  bool is_https = false;     ///< between the client and a trusted proxy
  std::string_view refused;  ///< why it was turned away, for the log

  /// "https://HOST" as the client knows this server.
  std::string origin() const {
    const std::string_view host = request.header("Host");
    return (is_https ? "https://" : "http://") +
           (host.empty() ? std::string("localhost") : std::string(host));
  }
  bool may(Role role) const { return key != nullptr && key->has(role); }
};

}  // namespace metafuse::service
