#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/candidates.h"
#include "fusion/learners/rankboost/distribution.h"

namespace metafuse::fusion::rankboost {

/// Weak learner 3: chooses the admissible candidate with the largest |r| (fig. 3). Among candidates within a
/// relative 1e-9 of it, the first one in the order of the candidates is chosen.
///
/// A feature is only visited if it may contain the best candidate. No edge changes by more than half the L1
/// change of the potentials, so the last visit gives an upper bound on what the feature can reach. That holds
/// for each part of the rows too. So a visit sums one part after another, the least certain one first, and
/// ends as soon as the bound is too low.
class WeakLearner3 {
 public:
  /// in: distribution - of which only the parts are taken
  WeakLearner3(const Problem& problem, const Distribution& distribution);

  /// out: nothing if no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

  /// To be called after each update of the distribution.
  /// in: changes - by part; z - the total by which D was divided; feature - that of the chosen weak ranking
  void distribution_changed(std::span<const double> changes, double z, std::size_t feature);
  /// To be called after any other change: every feature must be visited again.
  void forget();

 private:
  /// What is known of a feature's edges in one part of the rows, where D's total is 1: factor x (sums of its
  /// histogram), up to the error.
  struct Known {
    double factor = 0.0;
    double error = 0.0;  // 0 only if the histogram is of this round
  };

  /// By part.
  std::span<Known> known(std::size_t feature) {
    return std::span(known_).subspan(feature * parts_.size(), parts_.size());
  }

  /// Sums the part with the largest error of each feature.
  void sum_next_parts(std::span<const std::size_t> features, const Distribution& distribution);

  /// Lowers the reach of a feature to what the sums of its parts allow.
  /// out: the best admissible criterion, negative if there is none; nothing if a part has an error
  std::optional<double> visit(std::size_t feature, const RoundState& round);

  /// The sums of all parts.
  std::vector<std::int64_t> sums_of(std::size_t feature) const;
  /// The same by what is known, where D's total is 1.
  std::vector<double> known_sums_of(std::size_t feature);

  /// Calls take(threshold, q_default, edge) in the order of the candidates.
  template <class Number, class Take>
  void for_each_edge(std::size_t feature, const std::vector<Number>& sums, const Take& take) const;

  Problem problem_;
  std::vector<Histograms> parts_;
  std::vector<Known> known_;  // by feature and part
  FeatureSearch search_;
  std::vector<double> reach_;  // by feature: upper bound of its best admissible criterion
};

}  // namespace metafuse::fusion::rankboost
