#pragma once

#include <memory>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/model/model_file.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::reciprocal_ranks {

/// Reciprocal rank fusion as a model, and the prior that boosting may start from:
/// score = sum over lists of weight / (k + rank) + a sum of thresholded features (none without boosting).
///
/// body: {"k","weights":[one per feature, 0 of a value feature],"weak_rankings":[...]}
class ReciprocalRanker final : public SumRanker {
 public:
  ReciprocalRanker(double k, std::vector<double> weights, StepRanker steps)
      : k_(k), weights_(std::move(weights)), steps_(std::move(steps)) {
    tabulate(steps_);
  }

  double k() const { return k_; }
  const std::vector<double>& weights() const { return weights_; }
  const StepRanker& steps() const { return steps_; }
  /// With the first of the weak rankings alone.
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

/// The squares of what each score differs from its query's mean, added up: scores of several origins are made
/// comparable by it.
/// in: scores - one per document of the set
double squares_within_queries(const TrainingSet& set, const std::vector<double>& scores);

/// errors: bad_data naming the field
Result<std::shared_ptr<const Ranker>> read_reciprocal(const JsonObject& body,
                                                      const std::vector<Feature>& features);

/// The row of the table: `reciprocal-ranks`, which needs no judgment unless its weights are learned.
Learner learner();

}  // namespace metafuse::fusion::reciprocal_ranks
