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

/// How sure a learner's outcome is on these judged queries: whether it is better than reciprocal rank fusion
/// on queries that it has not seen (query-level cross-validation), and how far each list's weight depends on
/// which queries were judged (bootstrap samples of them). What trains on all queries is not measured, but
/// trainings like it; a learner that chooses, such as auto, chooses anew in each.
///
/// A list's weight is what its first place adds to a document that no other list holds, as a share of what
/// all lists add.
///
/// in:     set - with rank features
/// out:    {"measure","queries","value","rrf","better_than_rrf" (share of bootstrap resamples of the
///         queries), "low","high" (95 % of the mean difference),"bags","lists":[{"name","share","low","high"
///         (90 % of the bags),"positive" (share of bags)}]}
/// errors: bad_data: fewer than two queries with a relevant document, no rank feature; those of the learner
/// cost:   folds + bags trainings
Result<JsonObject> certainty_of(const TrainingSet& set, const CertaintyOptions& options);

/// What a model's record has of it, for people; empty for a model without.
/// in: training - of a model, whose file anybody may have written
std::string certainty_text(const JsonObject& training);

}  // namespace metafuse::fusion
