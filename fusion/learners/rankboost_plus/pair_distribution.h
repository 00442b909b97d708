#pragma once

#include <cstddef>
#include <vector>

#include "fusion/learners/rankboost_plus/pair_rows.h"
#include "fusion/learners/rankboost_plus/step.h"

namespace metafuse::fusion::rankboost_plus {

/// What a pair's weight is multiplied by, eq. (9) or (25) divided by Z.
struct PairFactors {
  double right = 1.0;
  double reversed = 1.0;
  double tied = 1.0;
};

/// D_t over the crucial pairs and the potentials of the documents under it. Every operation is one pass over
/// the weights, with sums whose order depends on nothing but the feedback: the same bits for any number of
/// threads.
class PairDistribution {
 public:
  explicit PairDistribution(const PairRows& pairs, unsigned threads = 1);

  /// Sum of the weights; within rounding of 1 when the factors were divided by Z.
  double total() const { return total_; }
  /// pi(x) = sum of D(x', x) - D(x, x') over x' (Freund et al. 2003, eq. (10)); one a document.
  const std::vector<double>& potentials() const { return potentials_; }
  const std::vector<double>& weights() const { return weights_; }

  /// How a weak ranking orders the pairs: shares of the total.
  ///
  /// in: fires - a byte a document
  Edges edges(const std::vector<std::uint8_t>& fires) const;
  /// The same when right - reversed is known to be r, for half the work; zero shares come out as rounding
  /// errors.
  Edges edges(const std::vector<std::uint8_t>& fires, double r) const;
  /// Whether it, or its opposite, orders every pair rightly, whatever the weights.
  bool is_perfect(const std::vector<std::uint8_t>& fires) const;

  /// Multiplies every weight and brings total and potentials up to date.
  void multiply(const std::vector<std::uint8_t>& fires, const PairFactors& factors);

 private:
  void place_fires(const std::vector<std::uint8_t>& fires) const;
  void multiply(const RowChunk& chunk, const std::vector<std::uint8_t>& fires, double& total);

  const PairRows* pairs_;
  unsigned threads_;
  std::vector<double> weights_;
  std::vector<double> potentials_;
  double total_ = 1.0;
  std::vector<double> below_sums_, if_fires_, if_silent_;  // a number a place of PairRows::below
  mutable std::vector<double> below_fires_;                // scratch of edges()
};

}  // namespace metafuse::fusion::rankboost_plus
