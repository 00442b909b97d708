#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/candidates.h"
#include "fusion/learners/rankboost/distribution.h"

namespace metafuse::fusion::rankboost {

/// Weak learner 3: the admissible candidate of largest |r| (fig. 3), by the order of the candidates within a
/// relative 1e-9 of it.
///
/// A feature is looked at only when it may matter: no edge changes by more than half the L1 change of the
/// potentials, so what a feature could reach at most is known from its last visit.
class WeakLearner3 {
 public:
  WeakLearner3(const CodedFeatures& features, const Options& options, unsigned threads,
               Communicator* communicator = nullptr);

  /// out:    nothing when no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

  /// To be told after each update of the distribution.
  /// in:     z - the total by which D was divided; feature - the one whose weak ranking was taken
  void distribution_changed(double change, double z, std::size_t feature);
  /// After a change that is not known: every feature may matter.
  void forget();

 private:
  /// The best admissible criterion of a feature whose histogram is fresh.
  double visit(std::size_t feature, std::int64_t total, const CumulativeWeights& weights,
               const AlphaOf& alpha_of);

  /// take(threshold, q_default, edge), in the order of candidates, with D not yet divided by its total
  template <class Take>
  void for_each_edge(std::size_t feature, const Take& take) const;
  static Candidate candidate_of(std::size_t feature, std::uint32_t threshold, std::uint8_t q_default,
                                double edge, std::int64_t total);
  bool is_admissible(const Candidate& candidate, const CumulativeWeights& weights,
                     const AlphaOf& alpha_of) const;

  const CodedFeatures* features_;
  const Options* options_;
  unsigned threads_;
  bool is_alone_;
  double last_best_ = 0.0;
  Histograms histograms_;
  std::vector<double> reach_;  // per feature: upper bound of its best admissible criterion
  std::vector<double> best_;   // per feature: its best admissible criterion if visited in this round
};

}  // namespace metafuse::fusion::rankboost
