#pragma once

#include <string>

#include "evaluation/reports/run_evaluation.h"

namespace metafuse::evaluation {

/// A LETOR file and a file of scores, one line per row.
///
/// errors: those of the readers; bad_data when the numbers of lines differ or a score is not finite
Result<RunEvaluation> evaluate_letor(const std::string& letor_path, bool values_are_ranks,
                                     const std::string& scores_path, const MeasureSet& set,
                                     const EvaluationOptions& options);

}  // namespace metafuse::evaluation
