#pragma once

#include <cstddef>
#include <string>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// With fewer judged queries there is no calibration.
inline constexpr std::size_t kFewestCalibrated = 20;

/// How many queries of a set have judged documents. Queries that have only pairs, such as those from clicks,
/// do not: what was not clicked need not be irrelevant.
std::size_t judged_queries(const TrainingSet& set);

/// Gives a trained model the curve from its scores to the share of relevant documents, and its training
/// record a report. The curve is fitted to scores by models that have not seen the document's query: one per
/// fold of the judged queries, trained as the model was. All searches of a base query are in one fold. Those
/// models' scores are on scales of their own, so each score becomes the model's score at the same quantile of
/// the documents that both were trained on.
///
/// The report measures the relevance of each fold's documents by the curve of the other folds:
/// "calibration": {"queries","documents","relevant","folds","expected_calibration_error" (10 bins of equal
/// width),"brier","brier_of_constant" (always the overall share),"bins":[{"predicted","share","documents"}]}
///
/// in:     request - of the training that gave `result`; learner - the one that gave it
/// errors: bad_data: fewer than kFewestCalibrated judged queries, or their documents are all relevant or all
///         irrelevant; those of the learner
/// cost:   five trainings
Result<void> calibrate(const TrainingRequest& request, const Learner& learner, TrainingResult& result);

/// Whether calibrate() has enough to work with.
bool can_calibrate(const TrainingSet& set);

/// As calibrate(), but leaves the model as it is if the judged queries do not suffice.
///
/// errors: those of the learner other than bad_data
Result<void> calibrate_if_possible(const TrainingRequest& request, const Learner& learner,
                                   TrainingResult& result);

/// The report in one sentence; empty if there is none.
/// in: training - of a model from an untrusted file
std::string calibration_text(const JsonObject& training);

/// The report as a reliability plot: the relevance that was served against the share of relevant documents.
/// Empty if there is none.
/// in: training - as for calibration_text()
std::string reliability_plot(const JsonObject& training);

}  // namespace metafuse::fusion
