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

/// The sum of three rankers: a fusion to fall back on, thresholded features and scaled features.
///
/// Body: {"fused": as ReciprocalRanker's, "steps": as StepRanker's, "values": as ValueRanker's}
class BlendRanker final : public SumRanker {
 public:
  BlendRanker(ReciprocalRanker fused, StepRanker steps, rankboost::ValueRanker values)
      : fused_(std::move(fused)), steps_(std::move(steps)), values_(std::move(values)) {
    tabulate(steps_);
  }

  /// The fusion, RankBoost of thresholds and RankBoost of values, each with its scores scaled as the
  /// blend needs.
  const ReciprocalRanker& fused() const { return fused_; }
  const StepRanker& steps() const { return steps_; }
  const rankboost::ValueRanker& values() const { return values_; }

  bool uses(std::size_t feature) const override {
    return fused_.uses(feature) || steps_.uses(feature) || values_.uses(feature);
  }
  double part(std::size_t feature, double value) const override {
    return fused_.part(feature, value) + (steps_.part(feature, value) + values_.part(feature, value));
  }
  double unranked_part(std::size_t feature) const override {
    return fused_.unranked_part(feature) + (steps_.unranked_part(feature) + values_.unranked_part(feature));
  }
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  ReciprocalRanker fused_;
  StepRanker steps_;
  rankboost::ValueRanker values_;
};

/// The learner rankboost-blend.
Learner blend_learner();

}  // namespace metafuse::fusion::reciprocal_ranks
