#pragma once

#include <string>
#include <vector>

#include "service/evaluation_reports.h"
#include "service/metrics.h"
#include "service/snapshot.h"

namespace metafuse::service {

/// The reports of one domain as tables and plots, each plot with its numbers in a table behind it.
///
/// in:  problem - why the reports cannot be read, empty when they can
std::string evaluation_page(const Snapshot& snapshot, const LoadedDomain& domain,
                            const EvaluationReport& report,
                            const std::vector<Metrics::EngineLatency>& engines, std::string_view problem);

}  // namespace metafuse::service
