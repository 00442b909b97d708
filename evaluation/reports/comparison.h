#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "evaluation/reports/report.h"

namespace metafuse::evaluation {

struct ComparisonOptions {
  std::string baseline;    ///< a run's name
  std::string test = "t";  ///< "t", "wilcoxon" or "randomisation"
  std::uint64_t seed = 1;  ///< of the randomisation test, the intervals and Tukey's test
};

/// Fills the report's comparisons: every other run against the baseline, on every column that is no count,
/// over the queries that both evaluated.
///
/// errors: usage when the test or the baseline's name does not exist; bad_data when two runs share no query
Result<void> compare_with_baseline(Report& report, const ComparisonOptions& options);

}  // namespace metafuse::evaluation
