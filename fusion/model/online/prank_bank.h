#pragma once

// PRank and banks of many PRanks: their rows and kernels, their steps, and their predictions.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace metafuse::fusion::online {

/// The size of a row of `numbers` numbers, rounded up so that rows can be read eight numbers at a time.
inline std::size_t padded(std::size_t numbers) {
  return (numbers + 7) / 8 * 8;
}

// Sums use eight fixed lanes, so that the results are the same bit for bit at any vector width.

/// The dot product of two padded rows.
double padded_dot(const double* left, const double* right, std::size_t padded_numbers);

/// Adds `step` times `row` to `weights`.
void add_row(double* weights, double step, const double* row, std::size_t padded_numbers);

/// add_row(weights, step, row) followed by padded_dot(weights, next), with the same results but one pass
/// over `weights`.
double add_row_and_dot(double* weights, double step, const double* row, const double* next,
                       std::size_t padded_numbers);

/// When and how a PRank moves: by the perceptron's step if it is wrong (Harrington 2003), by ROMMA's step if
/// it is wrong, or by ROMMA's step whenever a threshold lies within a margin of 1 (aggressive ROMMA).
enum class StepRule : std::uint8_t { perceptron, romma, aggressive_romma };

struct StepOptions {
  StepRule rule = StepRule::perceptron;
  double slack = 1.0;  ///< ROMMA: square of the coordinate that each example has to itself

  friend bool operator==(const StepOptions&, const StepOptions&) = default;
};

/// An example as seen by one rule (w, c).
struct RommaExample {
  double score = 0.0;        ///< w . x
  double square = 0.0;       ///< ||x||^2, including the slack
  double rule_square = 0.0;  ///< ||w||^2 + ||c||^2, plus what the slacks of earlier steps add
  int rank = 1;              ///< y, 1 ... k
};

/// The new weights are scale w + step x.
struct RommaStep {
  double scale = 1.0;
  double step = 0.0;
};

/// Replaces `weights` by scale x weights + step x row, and adds the difference to `sums`.
void scale_and_add_row(double* weights, const RommaStep& step, const double* row, double* sums,
                       std::size_t padded_numbers);

/// Whether some threshold lies on the wrong side of the score or closer than 1 to it.
bool is_within_margin(double score, std::span<const double> thresholds, int rank);

/// The relaxed online maximum margin step for ranks. It chooses the shortest of all rules v = (w, c) that
/// place the example with a margin of 1 at each of the k - 1 thresholds and lie in the half-space v . v_t >=
/// ||v_t||^2, which represents all earlier examples. With k = 2 this is ROMMA on (x, -1).
///
/// With s the new score, threshold r becomes min(scale c_r, s - 1) below the true rank and max(scale c_r, s +
/// 1) from the true rank on, so ascending thresholds remain ascending.
///
/// in:     thresholds - ascending; moved in place
/// out:    nothing, with unchanged thresholds, if no rule satisfies both conditions (possible only for a
///         square of 0) or if numbers would overflow
/// cost:   O(k log k) for each of the few pieces of a piecewise linear equation that are visited
/// source: Li, Long 2002, with the constraints of all thresholds instead of one, as Harrington 2003, sec. 5,
///         proposes; a coordinate per example as in Freund, Schapire 1999
std::optional<RommaStep> romma_step(const RommaExample& example, std::span<double> thresholds);

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

struct BankOptions {
  std::size_t rankers = 1;
  std::size_t dimensions = 0;
  int ranks = 2;
  double tau = 1.0;  ///< probability that a PRank sees an example
  std::uint64_t seed = 1;
  StepOptions step = {};
  bool has_votes = true;  ///< whether OAP-Bagg and OAP-VP are predicted, for which all PRanks are read

  friend bool operator==(const BankOptions&, const BankOptions&) = default;
};

/// What a bank has learned.
struct BankState {
  std::vector<double> weights;         ///< rankers x stride
  std::vector<double> thresholds;      ///< rankers x (ranks - 1); integers, except for ROMMA
  std::vector<double> weight_sums;     ///< stride; divide by the number of PRanks for means
  std::vector<std::uint64_t> correct;  ///< by PRank: number of examples it saw and ranked correctly
  /// By PRank, empty except for ROMMA: the part of its squared length along the coordinates that examples
  /// have to themselves.
  std::vector<double> slack_squares;

  friend bool operator==(const BankState&, const BankState&) = default;
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
  explicit PrankBank(const BankOptions& options);

  const BankOptions& options() const { return options_; }
  std::size_t stride() const { return stride_; }

  /// Predicts each example, then learns from it.
  ///
  /// in:   predictions - one per example; those of OAP-Bagg and OAP-VP are left unchanged unless has_votes
  /// cost: reads tau x N x d numbers per example (N x d with votes), and writes those of the PRanks that
  ///       are wrong
  void learn(const BankBlock& block, unsigned threads, std::span<BankPrediction> predictions);

  /// Learns one example of a kernel expansion by perceptron steps. `row` holds the kernel's values for
  /// the stored examples. Returns whether any PRank was wrong; if so, the example has replaced stored
  /// example `slot`.
  bool learn_stored(const double* row, int rank, std::uint64_t step, std::size_t slot);

  /// Requires a padded row.
  /// cost: O(N d) with votes, else O(d)
  BankPrediction predict(const double* row) const;

  std::span<const double> weights(std::size_t ranker) const {
    return {&state_.weights[ranker * stride_], stride_};
  }
  std::span<const double> thresholds(std::size_t ranker) const {
    return {state_.thresholds.data() + ranker * cuts(), cuts()};
  }
  const BankState& state() const { return state_; }

  /// Adds the same weight to every PRank, for a stream that starts from something better than zero.
  void start_from(std::size_t dimension, double weight);
  /// Requires a state of the sizes of this bank.
  void restore(BankState state);

  friend bool operator==(const PrankBank&, const PrankBank&) = default;

 private:
  struct Tally;
  std::size_t cuts() const { return static_cast<std::size_t>(options_.ranks - 1); }
  double* weights_of(std::size_t ranker) { return state_.weights.data() + ranker * stride_; }
  void draw(std::uint64_t step, std::uint8_t* is_shown) const;
  int move_cuts(std::size_t ranker, double score, int rank, std::int64_t* cut_moves);
  void learn_rankers(const BankBlock& block, std::span<const std::uint8_t> shown, Tally& tally);
  void learn_block(const BankBlock& block, unsigned threads, std::span<BankPrediction> predictions);
  BankPrediction point_prediction(const double* row) const;
  void learn_romma(const BankBlock& block, std::span<BankPrediction> predictions);
  bool learn_romma(std::size_t ranker, const double* row, double square, int rank);
  void add_up_thresholds();

  BankOptions options_;
  std::size_t stride_ = 0;
  BankState state_;
  std::vector<double> threshold_sums_;  // ranks - 1
};

}  // namespace metafuse::fusion::online
