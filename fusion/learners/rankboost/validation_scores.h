#pragma once

#include <cstdint>
#include <vector>

#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::rankboost {

/// Scores of a set that is not trained on, kept up to date round by round: the same bits as StepRanker::score
/// of the rounds so far.
class ValidationScores {
 public:
  /// The matrix must outlive this.
  explicit ValidationScores(const FeatureMatrix& matrix);

  /// Adds one round. cost: O(documents x features in use)
  const std::vector<double>& add(const WeakRanking& ranking);

 private:
  struct Part {
    std::vector<WeakRanking> rankings;  // of this feature
    std::vector<double> scores;         // what the feature adds, a row
  };

  const FeatureMatrix* matrix_;
  std::vector<Part> parts_;
  std::vector<double> scores_;
};

}  // namespace metafuse::fusion::rankboost
