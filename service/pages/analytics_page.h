#pragma once

#include <optional>
#include <string>

#include "service/http/exchange.h"
#include "service/learning/analytics.h"

namespace metafuse::service {

struct AnalyticsPageState {
  bool is_off = false;  ///< the server has no store
  std::string wrong;    ///< why there are no figures
  int days = 30;
  bool are_queries_hashed = false;
  std::optional<Analytics> analytics;  ///< empty until a key with the role was given
};

std::string analytics_page(const Exchange& exchange, const LoadedDomain& domain,
                           const AnalyticsPageState& state);

}  // namespace metafuse::service
