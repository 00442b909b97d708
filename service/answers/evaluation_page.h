#pragma once

#include <string>
#include <vector>

#include "service/base/metrics.h"
#include "service/config/snapshot.h"
#include "service/learning/evaluation_reports.h"

namespace metafuse::service {

/// The reports of one domain as tables and plots, each plot with its numbers in a table behind it.
///
/// in:  problem - why the reports cannot be read, empty when they can
std::string evaluation_page(const Snapshot& snapshot, const LoadedDomain& domain,
                            const EvaluationReport& report,
                            const std::vector<Metrics::EngineLatency>& engines, std::string_view problem);

}  // namespace metafuse::service
