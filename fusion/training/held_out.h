#pragma once

// Models that have not seen some of the queries, to learn from those queries what the scores of a trained
// model mean (calibration.h) and when some of the lists suffice (list_ordering.h).

#include <cstddef>
#include <functional>
#include <vector>

#include "core/result.h"
#include "fusion/data/base_queries.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

inline constexpr std::size_t kHeldOutFolds = 5;

/// One fold of the queries, and a model trained without them. The objects live as long as the call.
struct HeldOut {
  std::size_t fold = 0;
  const TrainingSet& seen;
  const TrainingSet& unseen;
  const Ranker& ranker;
  /// From its scores to those of the model trained on all queries, which are on a scale of their own: to the
  /// score at the same quantile of the documents that both were trained on.
  std::function<double(double)> on_scale;
};

/// Trains a model per fold of the wanted queries, as `result` was trained, and passes it on; other queries
/// are always trained on. All searches of a base query are in one fold.
///
/// in:     is_wanted - one per query; use - called once per fold, from several threads at once
/// errors: fewer than kHeldOutFolds wanted queries; those of the learner
/// cost:   five trainings
Result<void> hold_out(const TrainingRequest& request, const Learner& learner, const TrainingResult& result,
                      const std::vector<bool>& is_wanted, const std::function<void(const HeldOut&)>& use);

}  // namespace metafuse::fusion
