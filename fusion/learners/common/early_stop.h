#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// Tracks a value on validation data from round to round and remembers after how many rounds it was best, the
/// earliest of equal ones.
class BestRound {
 public:
  /// in: patience - training ends after this many rounds without improvement; 0: never
  explicit BestRound(std::size_t patience) : patience_(patience) {}

  /// Records the value after one more round.
  /// out: whether training should go on
  bool add(double value) {
    ++seen_;
    if (seen_ == 1 || value > value_) {
      value_ = value;
      rounds_ = seen_;
    }
    return patience_ == 0 || seen_ < rounds_ + patience_;
  }

  std::size_t rounds() const { return rounds_; }  ///< 0 if no round was recorded
  double value() const { return value_; }

 private:
  std::size_t patience_;
  std::size_t seen_ = 0;
  std::size_t rounds_ = 0;
  double value_ = 0.0;
};

/// The scores of a set's documents under a growing sum of weak rankings. They are bit for bit those of a
/// StepRanker with the same rounds: each round recomputes the step table of its feature and then adds all
/// features in order.
class ValidationScores {
 public:
  explicit ValidationScores(const FeatureMatrix& matrix);

  /// cost: O(documents x features in use + weak rankings of the feature)
  const std::vector<double>& add(const WeakRanking& ranking);

 private:
  struct Part {
    // Distinct rankings with their cumulative weights.
    std::vector<WeakRanking> rankings;
    std::vector<double> scores;  // one per document; empty until the feature is used
  };

  const FeatureMatrix* matrix_;
  std::vector<Part> parts_;
  std::vector<double> scores_;
};

/// The entry on validation in a model's "training" record: {"measure","value"}.
JsonObject validation_record(const TrainingRequest& request, double value);

}  // namespace metafuse::fusion
