#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/learners/online/romma.h"
#include "fusion/learners/online/row_kernels.h"

namespace metafuse::fusion::online {

/// The smallest rank r in {1, ..., k} with score < thresholds[r - 1]; the k-th threshold is infinity.
///
/// in:     thresholds - k - 1 values, ascending
/// cost:   O(k)
/// source: Harrington 2003, algorithm 1, line 1
inline int rank_of(double score, std::span<const double> thresholds) {
  // The thresholds ascend, so counting those at or below the score gives the rank without a branch.
  int rank = 1;
  for (const double threshold : thresholds) rank += score < threshold ? 0 : 1;
  return rank;
}

/// Rounds a real-valued prediction to the nearest rank in {1, ..., ranks}; halves round up.
inline int nearest_rank(double prediction, int ranks) {
  if (!(prediction > 1.0)) return 1;
  if (prediction >= ranks) return ranks;
  return static_cast<int>(std::floor(prediction + 0.5));
}

/// The predictions of N PRanks for one instance, before they learn from it: the three final rules of
/// the paper.
struct BankPrediction {
  double score = 0.0;   ///< averaged weights . x (OAP-BPM)
  int point = 1;        ///< rank from averaged weights and averaged thresholds (OAP-BPM)
  double bagged = 1.0;  ///< mean of the N predicted ranks (OAP-Bagg)
  /// Mean weighted by how often each PRank was right (OAP-VP); the plain mean while none was.
  double voted = 1.0;

  friend bool operator==(const BankPrediction&, const BankPrediction&) = default;
};

/// Consecutive examples of a stream.
struct BankBlock {
  const double* rows = nullptr;  ///< examples x stride
  std::span<const int> ranks;    ///< 1 ... k, one per example
  std::uint64_t first_step = 0;  ///< number of earlier examples; selects the random draws
};

/// N PRanks in contiguous memory, each of which sees an example with probability tau, and the sums of their
/// weights and thresholds. With N = 1 and tau = 1 this is PRank itself.
///
/// Everything summed across PRanks is an integer (votes, and how far each one moves), so the results are the
/// same bit for bit for any number of threads. ROMMA's moves are not integers; its PRanks learn one after
/// another on one thread. Averages are taken after the thresholds were updated as well.
///
/// Differs from Harrington 2003, algorithm 2, line 13: c_{j,t} must be c_{j,t+1}, because otherwise the
/// averaged thresholds would be one example behind the averaged weights.
/// source: Harrington 2003, algorithms 1 and 2, sec. 3.1
class PrankBank {
 public:
  PrankBank() = default;
  /// Requires rankers >= 1, ranks >= 2, 0 < tau <= 1.
  PrankBank(std::size_t rankers, std::size_t dimensions, int ranks, double tau, std::uint64_t seed,
            const StepOptions& step = {});

  std::size_t rankers() const { return rankers_; }
  std::size_t dimensions() const { return dimensions_; }
  std::size_t stride() const { return stride_; }
  int ranks() const { return ranks_; }

  /// Predicts each example, then learns from it.
  ///
  /// in:   predictions - one per example; those of OAP-Bagg and OAP-VP are left unchanged unless wants_votes
  /// cost: reads tau x N x d numbers per example (N x d with votes), and writes those of the PRanks that
  ///       are wrong
  void learn(const BankBlock& block, bool wants_votes, unsigned threads,
             std::span<BankPrediction> predictions);

  /// Learns one example of a kernel expansion by perceptron steps. `row` holds the kernel's values for
  /// the stored examples. Returns whether any PRank was wrong; if so, the example has replaced stored
  /// example `slot`.
  bool learn_stored(const double* row, int rank, std::uint64_t step, std::size_t slot);

  /// Requires a padded row.
  /// cost: O(N d) with votes, else O(d)
  BankPrediction predict(const double* row, bool wants_votes) const;

  std::span<const double> weights(std::size_t ranker) const { return {&weights_[ranker * stride_], stride_}; }
  std::span<const double> thresholds(std::size_t ranker) const {
    return {thresholds_.data() + ranker * cuts(), cuts()};
  }
  /// Sums over the N PRanks; divide by rankers() for means.
  std::span<const double> weight_sums() const { return weight_sums_; }
  std::span<const double> threshold_sums() const { return threshold_sums_; }
  std::span<const std::uint64_t> correct() const { return correct_; }
  /// For ROMMA: the part of each rule's squared length along the coordinates that examples have
  /// to themselves.
  std::span<const double> slack_squares() const { return slack_squares_; }

  /// Adds the same weight to every PRank, for a stream that starts from something better than zero.
  void start_from(std::size_t dimension, double weight);
  /// Restores the values that the accessors returned. Requires the sizes of this bank.
  void restore(std::span<const double> weights, std::span<const double> thresholds,
               std::span<const double> weight_sums, std::span<const std::uint64_t> correct,
               std::span<const double> slack_squares);

  friend bool operator==(const PrankBank&, const PrankBank&) = default;

 private:
  struct Tally;
  std::size_t cuts() const { return static_cast<std::size_t>(ranks_ - 1); }
  void draw(std::uint64_t step, std::uint8_t* is_shown) const;
  int move_cuts(std::size_t ranker, double score, int rank, std::int64_t* cut_moves);
  void learn_rankers(const BankBlock& block, std::span<const std::uint8_t> shown, bool wants_votes,
                     std::size_t begin, std::size_t end, Tally& tally);
  void learn_block(const BankBlock& block, bool wants_votes, unsigned threads,
                   std::span<BankPrediction> predictions);
  BankPrediction point_prediction(const double* row) const;
  void learn_romma(const BankBlock& block, bool wants_votes, std::span<BankPrediction> predictions);
  bool learn_romma(std::size_t ranker, const double* row, double square, int rank);
  void add_up_thresholds();

  std::size_t rankers_ = 0;
  std::size_t dimensions_ = 0;
  std::size_t stride_ = 0;
  int ranks_ = 2;
  double tau_ = 1.0;
  std::uint64_t seed_ = 1;
  StepOptions step_;
  std::vector<double> weights_;         // rankers x stride
  std::vector<double> thresholds_;      // rankers x (ranks - 1); integers, except for ROMMA
  std::vector<double> weight_sums_;     // stride
  std::vector<double> threshold_sums_;  // ranks - 1
  std::vector<std::uint64_t> correct_;  // by PRank: number of examples it saw and ranked correctly
  std::vector<double> slack_squares_;   // by PRank; empty except for ROMMA
};

}  // namespace metafuse::fusion::online
