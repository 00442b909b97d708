#pragma once

#include <string>

#include "core/result.h"
#include "evaluation/reports/run_evaluation.h"

namespace metafuse::evaluation {

/// trec_eval's -Z: every value of a query in units of the standard deviation of reference runs from their
/// mean.
///
/// in:     path - lines `query measure mean deviation`
/// out:    `evaluation` with values and summary converted; what the file does not know becomes
/// kMissingZScore, and
///         so does a value off a mean whose deviation is 0
/// errors: those of for_each_line; bad_data with file and line for wrong columns and numbers
Result<void> convert_to_z_scores(const std::string& path, const MeasureSet& set, RunEvaluation& evaluation);

constexpr double kMissingZScore = -1000000.0;  ///< as trec_eval prints it

}  // namespace metafuse::evaluation
