#pragma once

#include <cstddef>
#include <vector>

#include "fusion/learners/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::rankboost_plus {

/// How a binary weak ranking orders the crucial pairs under the current distribution (Connamacher et al.
/// 2020, eq. (8)): three shares that sum to 1.
struct Edges {
  double right = 0.0;     ///< epsilon plus
  double reversed = 0.0;  ///< epsilon minus
  double tied = 0.0;      ///< epsilon zero
};

/// ln(a / b) / 2, which every alpha below is made of; if a or b is zero, `epsilon` is added to both.
double half_log_ratio(double a, double b, double epsilon);

/// Weight of Rb-d, eq. (14).
double alpha_discrete(const Edges& edges, double epsilon);

/// Weight of Rb-c, eq. (19).
double alpha_continuous(const Edges& edges, double epsilon);

/// Weight of RankBoost+ given the weight that the weak ranking has accumulated so far, eq. (34).
double alpha_plus(const Edges& edges, double accumulated, double epsilon);

/// Slope of E2 along the weak ranking, eq. (33); negative where a positive weight lowers E2.
double delta_plus(const Edges& edges, double accumulated);

/// Normaliser of Rb-d and Rb-c, eq. (11).
double z_rankboost(const Edges& edges, double alpha);

/// Normaliser of RankBoost+, eq. (27).
double z_plus(const Edges& edges, double alpha, double accumulated);

/// cosh(accumulated + alpha) / cosh(accumulated) without overflow: what a tie is multiplied by, eq. (25).
double tie_factor(double alpha, double accumulated);

/// What a pair's weight is multiplied by, eq. (9) or (25) divided by Z.
struct PairFactors {
  double right = 1.0;
  double reversed = 1.0;
  double tied = 1.0;
};

/// D_t over the crucial pairs and the potentials of the documents under it. Every operation is one pass
/// over the weights, with sums whose order depends on nothing but the feedback: the same bits for any
/// number of threads.
class PairDistribution {
 public:
  explicit PairDistribution(const PairRows& pairs, unsigned threads = 1);

  /// Sum of the weights; within rounding of 1 when the factors were divided by Z.
  double total() const { return total_; }
  /// pi(x) = sum of D(x', x) - D(x, x') over x' (Freund et al. 2003, eq. (10)); one per document.
  const std::vector<double>& potentials() const { return potentials_; }
  const std::vector<double>& weights() const { return weights_; }

  /// How a weak ranking orders the pairs: shares of the total.
  ///
  /// in:     fires - a byte per document
  Edges edges(const std::vector<std::uint8_t>& fires) const;
  /// The same when right - reversed is known to be r, for half the work; zero shares come out as
  /// rounding errors.
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
  std::vector<double> below_sums_, if_fires_, if_silent_;  // a number per place of PairRows::below
  mutable std::vector<double> below_fires_;                // scratch of edges()
};

}  // namespace metafuse::fusion::rankboost_plus
