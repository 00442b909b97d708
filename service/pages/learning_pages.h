#pragma once

#include <string>
#include <vector>

#include "service/base/metrics.h"
#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/learning/evaluation_reports.h"
#include "service/learning/interleaving.h"

namespace metafuse::service {

/// The reports of one domain as tables and plots, each plot with its numbers in a table below it.
///
/// in: problem - why the reports cannot be read; empty if they can
std::string evaluation_page(const Exchange& exchange, const LoadedDomain& domain,
                            const EvaluationReport& report,
                            const std::vector<Metrics::EngineLatency>& engines, std::string_view problem);

/// What the models page shows beside the domains.
struct ModelPageState {
  bool is_off = false;               ///< no store or no folder of models
  std::vector<DomainModels> models;  ///< empty until a key with the role was given
  std::string done;                  ///< message after an action that succeeded
  std::string wrong;                 ///< message after an action that failed
};

std::string model_page(const Exchange& exchange, const ModelPageState& state);

}  // namespace metafuse::service
