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

/// Weak learner 2: the admissible candidate of least Z = W0 + 2 sqrt(W- W+) (Freund et al. 2003, eq. (3)).
///
/// W- - W+ is the edge, a sum of potentials as for weak learner 3; W- + W+ costs a sweep. The criterion, 1 -
/// Z = (sqrt W- - sqrt W+)^2, falls when W- + W+ grows and the edge stays. No pair loses more than the factor
/// e^-|alpha| / Z in a round, so W- + W+ of the last sweep bounds the criterion from above, and only features
/// that may hold the best candidate are swept: that skip is exact.
class WeakLearner2 {
 public:
  /// in:     distribution - not yet anchored
  WeakLearner2(const Distribution& distribution, const CodedFeatures& features, const Options& options,
               unsigned threads, Communicator* communicator = nullptr);

  /// out:    nothing when no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

  /// To be told after each update of the distribution.
  /// in:     z - the total by which D was divided
  void distribution_changed(double alpha, double z);

 private:
  /// What is known of one feature at one q_default.
  struct Known {
    std::vector<std::int64_t> changes;   ///< of the last sweep, see Separation::sweep
    std::vector<double> separated;       ///< W- + W+ a threshold when it was swept
    std::vector<std::uint8_t> possible;  ///< bits per threshold: some pair is ordered rightly, some wrongly
  };
  struct Round {
    const CumulativeWeights& weights;
    const AlphaOf& alpha_of;
    double total;
  };

  void find_possible_sides(const Distribution& distribution);
  void sweep(std::span<const std::size_t> features);
  void add_up_ranks(std::span<const std::size_t> features);
  double bound(std::size_t feature, const Round& round) const;
  double visit(std::size_t feature, const Round& round);
  bool is_admissible(const Candidate& candidate, const Round& round) const;
  bool is_tried(std::size_t q_default) const {
    return q_default == 0 ? options_->may_be_zero() : options_->may_be_one();
  }
  /// take(threshold, q_default, edge, W- + W+ of the last sweep), in the order of candidates
  template <class Take>
  void for_each_edge(std::size_t feature, const Take& take) const;
  template <class Take>
  void for_each_candidate(std::size_t feature, const Round& round, const Take& take) const;

  const CodedFeatures* features_;
  const Options* options_;
  unsigned threads_;
  Communicator* communicator_;
  Histograms histograms_;
  Separation separation_;
  std::vector<std::array<Known, 2>> known_;
  std::vector<double> swept_at_;  // per feature: log_kept_ when it was swept
  std::vector<double> best_;      // per feature: its best admissible criterion if swept in this round
  double log_kept_ = 0.0;         // log of the share that every pair has kept at least since the start
  double last_best_ = 0.0;
};

}  // namespace metafuse::fusion::rankboost
