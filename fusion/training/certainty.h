#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/json.h"
#include "core/progress.h"
#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/training/registry.h"

namespace metafuse::fusion {

struct CertaintyOptions {
  const Learner* learner = nullptr;
  std::map<std::string, std::string> learner_options;
  std::string measure = "map";
  std::size_t folds = 5;
  std::size_t bags = 20;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;
};

/// The least and the greatest value after the twentieth part at each end is left out. Requires a value.
std::pair<double, double> central_values(std::vector<double> values);

/// How reliable a learner is on these judged queries: whether it beats reciprocal rank fusion on queries it
/// has not seen (query-level cross-validation), and how much each list's weight depends on which queries were
/// judged (bootstrap samples of them). The model trained on all queries is not measured itself, but models
/// trained in the same way are. A learner that chooses, such as auto, chooses anew in each training.
///
/// A list's weight is what its rank 1 contributes to a document that no other list holds, as a share of the
/// sum over all lists.
///
/// in:     set - with rank features
/// out:    {"measure","queries","value","rrf","better_than_rrf" (share of bootstrap resamples of the
///         queries),"low","high" (95 % interval of the mean
///         difference),"bags","lists":[{"name","share","low","high" (90 % of the bags),"positive" (share of
///         bags with a positive weight)}]}
/// errors: bad_data: fewer than two queries with a relevant document, no rank feature; those of the learner
/// cost:   folds + bags trainings
Result<JsonObject> certainty_of(const TrainingSet& set, const CertaintyOptions& options);

/// The certainty stored in a model's record, as text; empty if there is none.
/// in: training - of a model from an untrusted file
std::string certainty_text(const JsonObject& training);

}  // namespace metafuse::fusion
