#pragma once

// Candidate weak rankings, and what both weak learners need to search them: cumulative weights and histograms
// of potentials.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/options.h"

namespace metafuse::fusion::rankboost {

/// A candidate weak ranking. Thresholds are numbered as in Thresholds. Number size() stands for the highest
/// value of the feature: no ranked document exceeds it, so that h is 1 at most for unranked documents. A
/// value ranking has threshold 0.
struct Candidate {
  std::uint32_t feature = 0;
  std::uint32_t threshold = 0;
  std::uint8_t q_default = 0;
  double r = 0.0;          ///< eq. (5)
  double criterion = 0.0;  ///< |r|, or 1 - Z
  double right = 0.0;      ///< W- (weak learner 2 only): the weight of correctly ordered pairs
  double wrong = 0.0;      ///< W+ (weak learner 2 only): the weight of incorrectly ordered pairs
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

/// Computes the alpha of a candidate: needed to tell whether its cumulative weight would become negative.
using AlphaOf = std::function<double(const Candidate&)>;

/// The value of a weak ranking for each code of its feature.
CodedRanking coded_ranking(const CodedFeatures& features, const Options& options, std::size_t feature,
                           std::size_t threshold, double q_default);

/// For each feature, the sum of the potentials of the documents with each code. The edge of every threshold
/// is a suffix sum of these.
class Histograms {
 public:
  explicit Histograms(const CodedFeatures& features, Communicator* communicator = nullptr);

  /// Recomputes the histograms of some features.
  /// cost: one addition per document and feature; if a feature ranks few documents, one per ranked document
  void fill(std::span<const std::size_t> features, std::span<const std::int64_t> potentials,
            unsigned threads);

  /// The sum of the potentials per code; the entry of code 0 (unranked) stays 0.
  std::span<const std::int64_t> of(std::size_t feature) const {
    return {sums_.data() + starts_[feature], starts_[feature + 1] - starts_[feature]};
  }

 private:
  /// The ranked documents of a feature that ranks few: the distance in rows from the previous entry, and the
  /// code. An entry with code 0 only bridges a distance that does not fit in one byte.
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
