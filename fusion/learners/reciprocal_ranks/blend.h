#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/learners/rankboost/value_ranker.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::reciprocal_ranks {

/// A fusion to fall back on, thresholded features and scaled features in one sum.
///
/// body: {"fused": that of ReciprocalRanker, "steps": that of StepRanker, "values": that of ValueRanker}
class BlendRanker final : public Ranker {
 public:
  BlendRanker(ReciprocalRanker fused, StepRanker steps, rankboost::ValueRanker values)
      : fused_(std::move(fused)), steps_(std::move(steps)), values_(std::move(values)) {}

  /// The fusion, RankBoost of thresholds and RankBoost of values, each in a multiple of its own scores.
  const ReciprocalRanker& fused() const { return fused_; }
  const StepRanker& steps() const { return steps_; }
  const rankboost::ValueRanker& values() const { return values_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  ReciprocalRanker fused_;
  StepRanker steps_;
  rankboost::ValueRanker values_;
};

/// The row of the table: `rankboost-blend`.
Learner blend_learner();

}  // namespace metafuse::fusion::reciprocal_ranks
