#pragma once

#include <string>

#include "experiments/experiment.h"

namespace metafuse::experiments {

/// Every fusion method on real runs and real engines: TREC-3 (40 systems), TREC-COVID round 1 (143 systems),
/// FedWeb 2013 (157 web search engines, lists rebuilt from the document ids).
Result<std::string> run_metasearch(const ExperimentOptions& options);

}  // namespace metafuse::experiments
