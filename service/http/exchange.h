#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "service/http/message.h"

namespace metafuse::service {

/// Why a request is turned away.
struct AccessRefusal {
  int status = 403;
  std::string_view reason;  ///< a label for metrics and the log; empty when it is the request's own mistake
  std::string text;
  std::optional<double> retry_after_seconds = {};  ///< with 429
};

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
  bool is_https = false;                        ///< between the client and a trusted proxy
  Fields form;                                  ///< the body of a form
  std::optional<AccessRefusal> refused_action;  ///< why the form's action may not be done
  std::string_view refused;                     ///< why it was turned away, for the log

  /// "https://HOST" as the client knows this server.
  std::string origin() const {
    const std::string_view host = request.header("Host");
    return (is_https ? "https://" : "http://") +
           (host.empty() ? std::string("localhost") : std::string(host));
  }
  bool may(Role role) const { return key != nullptr && key->has(role); }
};

}  // namespace metafuse::service
