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
  std::string baseline;    ///< the name of a run
  std::string test = "t";  ///< "t", "wilcoxon" or "randomisation"
  std::uint64_t seed = 1;  ///< for the randomisation test, the intervals and Tukey's test
};

/// Fills the report's comparisons: every other run against the baseline, on every column that is not a count,
/// over the queries for which both have values.
///
/// errors: usage when no test or no run has the given name; bad_data when two runs share no query
Result<void> compare_with_baseline(Report& report, const ComparisonOptions& options);

/// trec_eval's -Z: expresses every value of a query as its distance from the mean of reference runs, in units
/// of their standard deviation.
///
/// in:     path - lines `query measure mean deviation`
/// out:    `evaluation` with values and summary converted; kMissingZScore where the file has no mean, and
///         where the deviation is 0 but the value is not the mean
/// errors: those of for_each_line; bad_data with file and line for wrong columns and numbers
Result<void> convert_to_z_scores(const std::string& path, const MeasureSet& set, RunEvaluation& evaluation);

constexpr double kMissingZScore = -1000000.0;  ///< as trec_eval prints it

}  // namespace metafuse::evaluation
