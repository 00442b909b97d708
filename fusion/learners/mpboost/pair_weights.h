#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/mpboost/boost.h"
#include "fusion/learners/mpboost/stump_sums.h"

namespace metafuse::fusion::mpboost {

/// The weights of MPBoost pair by pair: for real-valued grades, where every pair has its own distance, and
/// for explicit pairs, whose weights are initial weights and whose distance is that of their grades (of one
/// grade where the pair does not agree with them).
class PairWeights {
 public:
  /// The same bits for any number of threads.
  ///
  /// errors: bad_data when the pairs need more than options.memory_mb
  static Result<PairWeights> make(const TrainingSet& set, const CodedFeatures& features,
                                  const BoostOptions& options);

  double total() const { return total_; }
  double mean_distance() const { return mean_distance_; }
  std::size_t pair_count() const { return pairs_.size(); }
  StumpSums stump_sums() const;
  bool set_scores(const std::vector<double>& scores);

 private:
  struct Pair {
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    double distance = 0.0;
    double initial = 0.0;
    double weight = 0.0;
  };

  PairWeights(const CodedFeatures& features, unsigned threads) : features_(&features), threads_(threads) {}

  const CodedFeatures* features_;
  unsigned threads_;
  std::vector<Pair> pairs_;
  double total_ = 1.0;
  double mean_distance_ = 0.0;
};

}  // namespace metafuse::fusion::mpboost
