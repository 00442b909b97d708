#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// Watches a value on validation data from round to round and keeps the number of rounds of the best one, of
/// equal ones the earliest.
class BestRound {
 public:
  /// in:     patience - rounds without a better value after which training should end; 0: never
  explicit BestRound(std::size_t patience) : patience_(patience) {}

  /// The value after one more round.
  /// out:    whether training should go on
  bool add(double value) {
    ++seen_;
    if (seen_ == 1 || value > value_) {
      value_ = value;
      rounds_ = seen_;
    }
    return patience_ == 0 || seen_ < rounds_ + patience_;
  }

  std::size_t rounds() const { return rounds_; }  ///< 0 when no round was added
  double value() const { return value_; }

 private:
  std::size_t patience_;
  std::size_t seen_ = 0;
  std::size_t rounds_ = 0;
  double value_ = 0.0;
};

/// The scores of a set's documents under a growing sum of weak rankings, to the bit those of a StepRanker
/// over the same rounds: a round computes the step table of its own feature anew and adds up all features in
/// their order.
class ValidationScores {
 public:
  explicit ValidationScores(const FeatureMatrix& matrix);

  /// cost:   O(documents x features in use + weak rankings of the feature)
  const std::vector<double>& add(const WeakRanking& ranking);

 private:
  struct Part {
    std::vector<WeakRanking> rankings;  // different ones, with their weights so far
    std::vector<double> scores;         // one per document; empty while the feature is not in use
  };

  const FeatureMatrix* matrix_;
  std::vector<Part> parts_;
  std::vector<double> scores_;
};

/// What a model's "training" says of validation: {"measure","value"}.
JsonObject validation_record(const TrainingRequest& request, double value);

}  // namespace metafuse::fusion
