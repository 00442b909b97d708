#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/candidates.h"
#include "fusion/learners/rankboost/distribution.h"

namespace metafuse::fusion::rankboost {

/// Weak learner 3: chooses the admissible candidate with the largest |r| (fig. 3). Among candidates within a
/// relative 1e-9 of it, the first one in the order of the candidates is chosen.
///
/// A feature is only visited if it may contain the best candidate. No edge changes by more than half the L1
/// change of the potentials, so the last visit gives an upper bound on what the feature can reach.
class WeakLearner3 {
 public:
  explicit WeakLearner3(const Problem& problem);

  /// out: nothing if no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

  /// To be called after each update of the distribution.
  /// in: z - the total by which D was divided; feature - the feature of the chosen weak ranking
  void distribution_changed(double change, double z, std::size_t feature);
  /// To be called after any other change: every feature must be visited again.
  void forget();

 private:
  /// The best admissible criterion of a feature whose histogram is up to date.
  double visit(std::size_t feature, const RoundState& round);

  /// Calls take(threshold, q_default, edge) in the order of the candidates; edges are not divided by
  /// D's total.
  template <class Take>
  void for_each_edge(std::size_t feature, const Take& take) const;

  Problem problem_;
  Histograms histograms_;
  FeatureSearch search_;
  std::vector<double> reach_;  // by feature: upper bound of its best admissible criterion
};

}  // namespace metafuse::fusion::rankboost
