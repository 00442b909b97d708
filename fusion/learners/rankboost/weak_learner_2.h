#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fusion/learners/rankboost/candidates.h"
#include "fusion/learners/rankboost/separation.h"

namespace metafuse::fusion::rankboost {

/// Weak learner 2: chooses the admissible candidate with the smallest Z = W0 + 2 sqrt(W- W+) (Freund et al.
/// 2003, eq. (3)).
///
/// W- - W+ is the edge, a sum of potentials as in weak learner 3; W- + W+ costs a sweep. The criterion, 1 - Z
/// = (sqrt W- - sqrt W+)^2, falls when W- + W+ grows while the edge stays the same. In a round a pair keeps
/// at least the share e^-|alpha| / Z of its weight. So W- + W+ of the last sweep yields an upper bound on the
/// criterion, and features whose bound is below the best candidate need not be swept. Skipping them does not
/// change the result.
class WeakLearner2 {
 public:
  /// in: distribution - before the first anchor()
  WeakLearner2(const Problem& problem, const Distribution& distribution);

  /// out: nothing if no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

  /// To be called after each update of the distribution.
  /// in: z - the total by which D was divided
  void distribution_changed(double alpha, double z);

 private:
  /// What is known about one feature with one q_default.
  struct Known {
    std::vector<std::int64_t> changes;  ///< of the last sweep, see Separation::sweep
    std::vector<double> separated;      ///< by threshold: W- + W+ when it was swept
    /// Bits per threshold: whether some pair is ordered correctly, and whether some is ordered incorrectly.
    std::vector<std::uint8_t> possible;
  };

  void find_possible_sides(const Distribution& distribution);
  void sweep(std::span<const std::size_t> features);
  void add_up_ranks(std::span<const std::size_t> features);
  double bound(std::size_t feature, const RoundState& round) const;
  double visit(std::size_t feature, const RoundState& round);
  bool is_tried(std::size_t q_default) const {
    return q_default == 0 ? problem_.options.may_be_zero() : problem_.options.may_be_one();
  }
  /// Calls take(threshold, q_default, edge, W- + W+ of the last sweep) in the order of the candidates.
  template <class Take>
  void for_each_edge(std::size_t feature, const Take& take) const;
  template <class Take>
  void for_each_candidate(std::size_t feature, double total, const Take& take) const;

  Problem problem_;
  std::vector<std::size_t> all_features_;
  Histograms histograms_;
  Separation separation_;
  FeatureSearch search_;
  std::vector<std::array<Known, 2>> known_;
  std::vector<double> swept_at_;  // by feature: log_kept_ when it was swept
  double log_kept_ = 0.0;         // log of the share of its initial weight that every pair has kept at least
};

}  // namespace metafuse::fusion::rankboost
