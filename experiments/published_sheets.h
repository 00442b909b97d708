#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace metafuse::experiments {

/// Mean NDCG@1..10 on the test folds as LETOR 3.0 published it, a method each.
using PublishedNdcg = std::vector<std::pair<std::string, std::vector<double>>>;

/// Reads the sheets of one collection (a "# sheet,METHOD" line before each).
///
/// errors: no_input; bad_data with file and line when a mean is no number
Result<PublishedNdcg> read_published_ndcg(const std::string& path);

}  // namespace metafuse::experiments
