#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// What trace lines say of the weak rankings of one training.
class StepTrace {
 public:
  /// cost: O(documents x rank features). The request must outlive this.
  explicit StepTrace(const TrainingRequest& request);

  /// "round", "feature", "threshold" or "rank", "q_default" (0 or 1) and "alpha"; minus infinity is null, and
  /// of a rank feature the deepest rank seen in training.
  JsonObject line(std::size_t round, const WeakRanking& ranking) const;

 private:
  const TrainingRequest& request_;
  std::vector<double> deepest_;  // of each rank feature
};

/// The result of a learner whose model is a StepRanker; without a trace.
TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary);

}  // namespace metafuse::fusion
