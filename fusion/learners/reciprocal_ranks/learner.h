#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/learners/rankboost/value_ranker.h"
#include "fusion/model/model_file.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::reciprocal_ranks {

/// Reciprocal rank fusion as a model, also as the prior from which boosting may start:
/// score = sum over lists of weight / (k + rank) + a sum of thresholded features (none without boosting).
///
/// Body: {"k","weights":[one per feature, 0 for a value feature],"weak_rankings":[...]}
class ReciprocalRanker final : public SumRanker {
 public:
  ReciprocalRanker(double k, std::vector<double> weights, StepRanker steps)
      : k_(k), weights_(std::move(weights)), steps_(std::move(steps)) {
    tabulate(steps_);
  }

  double k() const { return k_; }
  const std::vector<double>& weights() const { return weights_; }
  const StepRanker& steps() const { return steps_; }
  /// The same ranker with only the first `rounds` weak rankings.
  ReciprocalRanker first_rounds(std::size_t rounds, const std::vector<Feature>& features) const;

  bool uses(std::size_t feature) const override { return weights_[feature] != 0.0 || steps_.uses(feature); }
  double part(std::size_t feature, double value) const override;
  double unranked_part(std::size_t feature) const override { return steps_.unranked_part(feature); }
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  double k_;
  std::vector<double> weights_;
  StepRanker steps_;
};

/// The sum over all documents of the squared difference between a score and the mean score of its query. Used
/// to bring scores of different origin to the same scale.
/// in: scores - one per document of the set
double squares_within_queries(const TrainingSet& set, const std::vector<double>& scores);

/// errors: bad_data naming the field
Result<SharedRanker> read_reciprocal(const JsonObject& body, const std::vector<Feature>& features);

/// The learner reciprocal-ranks. It needs no judgments unless it learns weights.
Learner learner();

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

/// errors: bad_data naming the field
Result<SharedRanker> read_blend(const JsonObject& body, const std::vector<Feature>& features);

/// The learner rankboost-blend.
Learner blend_learner();

}  // namespace metafuse::fusion::reciprocal_ranks
