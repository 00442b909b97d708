#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// The trace line of a round: {"round", "feature", "threshold" or "rank", "q_default" (0 or 1), "alpha"}. A
/// threshold of minus infinity is null; for a rank feature it is the deepest rank in the training data.
JsonObject step_trace_line(const TrainingRequest& request, std::size_t round, const WeakRanking& ranking,
                           double deepest);

/// Makes the trace lines for the weak rankings of one training.
class StepTrace {
 public:
  /// The request must outlive this object.
  /// cost: O(documents x rank features)
  explicit StepTrace(const TrainingRequest& request);

  JsonObject line(std::size_t round, const WeakRanking& ranking) const {
    return step_trace_line(request_, round, ranking, deepest_[ranking.feature]);
  }

 private:
  const TrainingRequest& request_;
  std::vector<double> deepest_;  // for each rank feature, the deepest rank in the training data
};

/// Assembles the result of a learner whose model is a StepRanker.
///
/// in: training - the model's record; add_to_line - adds the learner's own fields to the trace line of a
///     round (from 0)
TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary,
                           const std::function<void(std::size_t round, JsonObject& line)>& add_to_line);

}  // namespace metafuse::fusion
