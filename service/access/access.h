#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "service/access/key_guard.h"
#include "service/http/exchange.h"
#include "service/router.h"

namespace metafuse::service {

/// Why a request is turned away before its handler runs.
struct AccessRefusal {
  int status = 403;
  std::string_view reason;  ///< a label for metrics
  std::string text;
  std::optional<double> retry_after_seconds;  ///< with 429
};

/// Checks Host, finds the client's address and key, and whether they may use the route.
///
/// in:     route - nullptr for a path that does not exist
/// errors: 421 a Host that is not ours, 401 a key that is not known or missing where one is needed, 403 a key
///         without the role, 429 a key from where too many were wrong
std::optional<AccessRefusal> check_access(const Route* route, KeyGuard& guard, Exchange& exchange);

}  // namespace metafuse::service
