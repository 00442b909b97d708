#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/options.h"

namespace metafuse::fusion::rankboost {

/// A candidate weak ranking. Threshold j counts as in Thresholds; the highest value of the feature, which
/// only unranked documents can exceed, is threshold size(). Of a value ranking the threshold is 0.
struct Candidate {
  std::uint32_t feature = 0;
  std::uint32_t threshold = 0;
  std::uint8_t q_default = 0;
  double r = 0.0;          ///< eq. (5)
  double criterion = 0.0;  ///< |r|, or 1 - Z
  double right = 0.0;      ///< W- (weak learner 2 only): the weight of rightly ordered pairs
  double wrong = 0.0;      ///< W+ (weak learner 2 only)
};

/// The cumulative weight of every candidate so far.
class CumulativeWeights {
 public:
  explicit CumulativeWeights(const CodedFeatures& features);
  double& at(std::size_t feature, std::size_t threshold, std::size_t q_default) {
    return weights_[starts_[feature] + 2 * threshold + q_default];
  }
  double at(std::size_t feature, std::size_t threshold, std::size_t q_default) const {
    return weights_[starts_[feature] + 2 * threshold + q_default];
  }

 private:
  std::vector<std::size_t> starts_;
  std::vector<double> weights_;
};

/// alpha of a candidate: needed where a negative one might make its cumulative weight negative.
using AlphaOf = std::function<double(const Candidate&)>;

/// The values a weak ranking takes by the codes of its feature.
CodedRanking coded_ranking(const CodedFeatures& features, const Options& options, std::size_t feature,
                           std::size_t threshold, double q_default);

/// Sums of potentials by code: for each feature the buckets that every threshold's edge is a suffix sum of.
class Histograms {
 public:
  explicit Histograms(const CodedFeatures& features, Communicator* communicator = nullptr);

  /// Recomputes the histogram of some features.
  /// cost:   one addition per document and feature; a feature that ranks few documents costs only those
  void fill(std::span<const std::size_t> features, std::span<const std::int64_t> potentials,
            unsigned threads);

  /// The sum of the potentials per code; code 0 (unranked) is left at 0.
  std::span<const std::int64_t> of(std::size_t feature) const {
    return {sums_.data() + starts_[feature], starts_[feature + 1] - starts_[feature]};
  }

 private:
  /// The ranked documents of a feature that ranks few: how many rows further each stands, and its code. Code
  /// 0 only bridges a gap that one byte cannot tell.
  struct Sparse {
    std::vector<std::uint8_t> steps;
    std::vector<std::uint8_t> codes;
  };

  static Sparse sparse_of(std::span<const std::uint8_t> codes);

  bool is_dense(std::size_t feature) const;
  void fill_dense(std::span<const std::size_t> features, std::span<const std::int64_t> potentials);
  void fill_others(std::size_t feature, std::span<const std::int64_t> potentials);

  void add_up_ranks(std::span<const std::size_t> features);

  const CodedFeatures* features_;
  Communicator* communicator_;
  std::vector<std::size_t> starts_;
  std::vector<std::int64_t> sums_;
  std::vector<Sparse> sparse_;
};

}  // namespace metafuse::fusion::rankboost
