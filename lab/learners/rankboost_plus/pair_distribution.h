#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::rankboost_plus {

// Each alpha is ln(a / b) / 2. If a or b is zero, `epsilon` is added to both.

/// How a binary weak ranking orders the crucial pairs under the current distribution (Connamacher et al.
/// 2020, eq. (8)). The three shares sum to 1.
struct Edges {
  double right = 0.0;     ///< epsilon plus
  double reversed = 0.0;  ///< epsilon minus
  double tied = 0.0;      ///< epsilon zero
};

/// The alpha of Rb-d, eq. (14).
double alpha_discrete(const Edges& edges, double epsilon);

/// The alpha of Rb-c, eq. (19).
double alpha_continuous(const Edges& edges, double epsilon);

/// The alpha of RankBoost+, given the weight that the weak ranking has accumulated so far, eq. (34).
double alpha_plus(const Edges& edges, double accumulated, double epsilon);

/// The slope of E2 along the weak ranking, eq. (33); negative if a positive alpha lowers E2.
double delta_plus(const Edges& edges, double accumulated);

/// The normaliser of Rb-d and Rb-c, eq. (11).
double z_rankboost(const Edges& edges, double alpha);

/// The normaliser of RankBoost+, eq. (27).
double z_plus(const Edges& edges, double alpha, double accumulated);

/// cosh(accumulated + alpha) / cosh(accumulated), computed without overflow: the factor of a tie, eq. (25).
double tie_factor(double alpha, double accumulated);

/// The sum of a[j] b[j], added up in four partial sums in a fixed order.
double dot_product(const double* a, const double* b, std::size_t count);

/// The factors by which the weights of pairs change: eq. (9) or (25), divided by Z.
struct PairFactors {
  double right = 1.0;
  double reversed = 1.0;
  double tied = 1.0;
};

/// D_t over the crucial pairs, and the potentials of the documents under it. Every operation is one pass over
/// the weights. The order of its sums depends only on the feedback, so results are the same bit for bit for
/// any number of threads.
class PairDistribution {
 public:
  explicit PairDistribution(const PairRows& pairs, unsigned threads = 1);

  /// The sum of the weights; 1 up to rounding if the factors were divided by Z.
  double total() const { return total_; }
  /// pi(x) = sum of D(x', x) - D(x, x') over x' (Freund et al. 2003, eq. (10)); one per document.
  const std::vector<double>& potentials() const { return potentials_; }

  /// How a weak ranking orders the pairs, as shares of the total.
  ///
  /// in:   fires - one byte per document; r - right - reversed, if known
  /// out:  given r, shares of zero come out as rounding errors
  /// cost: O(pairs); half as much given r
  Edges edges(const std::vector<std::uint8_t>& fires, std::optional<double> r = std::nullopt) const;
  /// Whether the weak ranking, or its opposite, orders every pair correctly, whatever the weights.
  bool is_perfect(const std::vector<std::uint8_t>& fires) const;

  /// Multiplies every weight and updates the total and the potentials.
  void multiply(const std::vector<std::uint8_t>& fires, const PairFactors& factors);

 private:
  void multiply(const RowChunk& chunk, const std::vector<std::uint8_t>& fires, double& total);

  const PairRows* pairs_;
  unsigned threads_;
  std::vector<double> weights_;
  std::vector<double> potentials_;
  double total_ = 1.0;
  std::vector<double> below_sums_, if_fires_, if_silent_;  // one number per entry of PairRows::below
  mutable std::vector<double> below_fires_;                // scratch of edges()
};

}  // namespace metafuse::lab::rankboost_plus
