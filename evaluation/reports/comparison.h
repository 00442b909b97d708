#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "evaluation/reports/report.h"
#include "evaluation/reports/run_evaluation.h"

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

/// trec_eval's -Z: every value of a query in units of the standard deviation of reference runs from
/// their mean.
///
/// in:     path - lines `query measure mean deviation`
/// out:    `evaluation` with values and summary converted; what the file does not know becomes
///         kMissingZScore, and so does a value off a mean whose deviation is 0
/// errors: those of for_each_line; bad_data with file and line for wrong columns and numbers
Result<void> convert_to_z_scores(const std::string& path, const MeasureSet& set, RunEvaluation& evaluation);

constexpr double kMissingZScore = -1000000.0;  ///< as trec_eval prints it

}  // namespace metafuse::evaluation
