#pragma once

// Shared by learners that work in rounds, above all by those that add up weak rankings: early stopping by
// validation data, trace lines, and the result.

#include <cstddef>
#include <optional>
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
/// SumRanker with the same rounds: each round recomputes the step table of its feature and then adds all
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

/// Early stopping of one training by the validation data of its request, which must outlive this object.
/// Without such data it never stops.
class EarlyStop {
 public:
  explicit EarlyStop(const TrainingRequest& request);

  bool is_on() const { return scores_.has_value(); }

  /// Records a round that added this weak ranking.
  /// out: whether training should go on
  bool add(const WeakRanking& ranking) { return !is_on() || add(scores_->add(ranking)); }
  /// The same, given the scores of the validation documents after the round. Requires is_on().
  bool add(const std::vector<double>& scores) { return best_.add(request_.measure.value(scores)); }

  std::size_t best_rounds() const { return best_.rounds(); }
  /// The best value as reports show it.
  double value() const { return request_.measure.reported(best_.value()); }
  JsonObject record() const { return validation_record(request_, best_.value()); }

 private:
  const TrainingRequest& request_;
  std::optional<ValidationScores> scores_;
  BestRound best_;
};

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

}  // namespace metafuse::fusion
