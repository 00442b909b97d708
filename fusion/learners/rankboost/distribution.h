#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/feedback.h"
#include "fusion/learners/rankboost/kernels.h"

namespace metafuse::fusion::rankboost {

/// A weak ranking on the training documents: its value for each code of one feature.
struct CodedRanking {
  const CodedFeatures* features = nullptr;
  std::size_t feature = 0;
  std::vector<double> values;  ///< within [0, 1], one per code

  double operator()(std::size_t row) const { return values[features->code(row, feature)]; }
};

/// In which ways a weak ranking orders the crucial pairs.
struct PairSides {
  bool has_right = false;  ///< some pair is ordered as the feedback wants
  bool has_wrong = false;  ///< some pair is ordered the other way round
  bool all_right = false;
  bool all_wrong = false;
};

/// The weights of the pairs that a {0, 1}-valued weak ranking orders correctly (W-) and incorrectly (W+).
struct PairWeights {
  double right = 0.0;
  double wrong = 0.0;
};

/// The documents in feedback, sorted by query, grade class and row: each has one slot.
class Slots {
 public:
  /// The documents of one grade class of one query, or of all its classes: slots [begin, end).
  struct Run {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  explicit Slots(const Feedback& feedback);

  Run run_of(const QueryFeedback& query, std::size_t place) const {
    return {starts_[query.first_class + place], starts_[query.first_class + place + 1]};
  }
  Run all_of(const QueryFeedback& query) const {
    return {starts_[query.first_class], starts_[query.first_class + query.classes]};
  }
  std::size_t size() const { return rows_.size(); }
  /// The document in a slot and, behind it, those in the next ones.
  const std::uint32_t* rows_from(std::size_t slot) const { return rows_.data() + slot; }
  std::uint32_t row(std::size_t slot) const { return rows_[slot]; }

 private:
  std::vector<std::size_t> starts_;  // first slot of each class of each query, and the end
  std::vector<std::uint32_t> rows_;
};

/// The distribution D_t over crucial pairs in factored form. For pairs that follow from grades, D(x0, x1) =
/// table(a, b) up(x0) down(x1) with up = e^H and down = e^-H (Freund et al. 2003, eq. (7) and fig. 2, summed
/// over queries and grades). Each pair of general feedback has a weight of its own. anchor() gives each grade
/// class of a query its own offset in the exponent, so that nothing overflows in any number of rounds.
///
/// Sums across queries are 64-bit fixed point, and sums within a query run in a fixed order, so the results
/// are the same for any number of threads.
class Distribution {
 public:
  /// in: parts - into how many parts the rows are divided to see how much each changes
  Distribution(const Feedback& feedback, unsigned threads, Communicator* communicator = nullptr,
               std::size_t parts = 1);

  /// Computes D for the scores H from scratch. `log_normaliser` is the log of the product of all Z so far.
  void anchor(std::span<const double> scores, double log_normaliser);

  /// Multiplies D(x0, x1) by exp(alpha (h(x0) - h(x1))) and divides it by the previous total.
  /// out: Z, the new total; 0 if that is not above 0, which no alpha that training chooses leads to. The
  ///      distribution may not be used then.
  double update(const CodedRanking& ranking, double alpha);

  /// The potential of every row (eq. (10)), in fixed point and not yet divided by total().
  std::span<const std::int64_t> potentials() const { return potentials_; }
  std::int64_t total() const { return totals_.total; }
  /// The first row of each part, and the end. A query's rows are in one part.
  const std::vector<std::size_t>& part_rows() const { return part_rows_; }
  /// By part: an upper bound on how much the part of the edge of any weak ranking with values in [0, 1]
  /// changed in the last round, before division by Z: half the L1 change of the potentials.
  std::span<const double> largest_changes() const { return totals_.largest_changes; }

  /// The derivative of Z at alpha for this weak ranking, with D normalised. Beyond +-1 only its sign
  /// is right.
  /// cost: O(documents + pairs)
  double slope(const CodedRanking& ranking, double alpha) const;

  PairSides sides(const CodedRanking& ranking) const;

  /// The pair weights of a {0, 1}-valued weak ranking, computed without cancellation.
  /// cost: O(documents + pairs)
  PairWeights pair_weights_of(const CodedRanking& ranking) const;

  /// The factors of D for the rows of a query, for sweeps over pairs; all 1 before the first anchor(). A
  /// factor is 0 if the document has no such pair: up in the query's highest class, down in its lowest, both
  /// outside the feedback.
  void factors_of(const QueryFeedback& query, std::vector<PairFactors>& factors) const;
  std::span<const double> tables() const { return tables_; }
  std::span<const double> pair_weights() const { return pair_weights_; }
  /// Converts a product up x down x table to the units of total().
  double factor() const { return totals_.inverse * totals_.scale; }

 private:
  using Run = Slots::Run;
  struct Factors {
    std::vector<double> up;
    std::vector<double> down;
    std::vector<PairFactors> both;
  };
  /// What D is divided by, and what came of the last update.
  struct Totals {
    double inverse = 1.0;  // product of 1 / total since the last anchor()
    double scale = 1.0;
    std::int64_t total = 1;
    std::vector<double> largest_changes;  // by part
  };
  /// The sums that one thread accumulates over its queries.
  struct Sums {
    std::vector<double> scratch;
    std::vector<std::int64_t> potentials;  // of the current query, by slot
    std::int64_t total = 0;
    double change = 0.0;
  };

  /// Raises a total that has too few digits by rescaling the weights.
  /// out: Z of the round, or 0 as in update()
  double raised_total();
  void anchor_query(const QueryFeedback& query, std::span<const double> scores, double log_normaliser);
  void multiply(const QueryFeedback& query, const CodedRanking& ranking, double alpha,
                const Factors& factors);
  void refresh(const QueryFeedback& query, double old_factor, Sums& sums);
  void add_pairs(const QueryFeedback& query, Sums& sums);
  void finish_refresh(std::span<const Sums> sums);
  /// The first chunk of a part.
  std::size_t first_chunk(std::size_t part) const;
  double slope_of(const QueryFeedback& query, const CodedRanking& ranking, double alpha, double factor) const;
  template <class Work>
  void for_each_chunk(const Work& work) const;

  const Feedback* feedback_;
  unsigned threads_;
  Communicator* communicator_;
  std::vector<std::size_t> chunks_;  // first query of each chunk, and the end
  std::vector<std::size_t> part_rows_;
  Slots slots_;
  std::vector<double> up_;     // by slot
  std::vector<double> down_;   // by slot
  std::vector<float> before_;  // by slot: the previous potential from grades, rounded
  std::vector<double> tables_;
  std::vector<double> pair_weights_;
  std::vector<std::int64_t> potentials_;  // by row
  Totals totals_;
};

}  // namespace metafuse::fusion::rankboost
