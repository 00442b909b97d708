#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/histogram.h"
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

/// Weak learner 3: the admissible candidate of largest |r| (fig. 3), by the order of the candidates within a
/// relative 1e-9 of it.
///
/// A feature is looked at only when it may matter: no edge changes by more than half the L1 change of the
/// potentials, so what a feature could reach at most is known from its last visit.
class EdgeSearch {
 public:
  EdgeSearch(const CodedFeatures& features, const Options& options, unsigned threads,
             Communicator* communicator = nullptr);

  /// out: nothing when no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

  /// To be told after each update of the distribution. in: z - the total by which D was divided; feature -
  /// the one whose weak ranking was taken
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
  std::vector<double> reach_;  // a feature: more than any of its admissible criteria can be now
  std::vector<double> best_;   // a feature: its best admissible criterion, when it was visited in this round
};

}  // namespace metafuse::fusion::rankboost
