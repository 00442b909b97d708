#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/config.h"
#include "service/http_message.h"
#include "service/snapshot.h"

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

  bool may(Role role) const { return key != nullptr && key->has(role); }
};

}  // namespace metafuse::service
