#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "lab/learners/rankboost_plus/pair_distribution.h"
#include "lab/learners/rankboost_plus/stump_table.h"

namespace metafuse::lab::rankboost_plus {

/// A growing set of linearly independent weak rankings. Each is seen as the vector of its differences over
/// the crucial pairs.
///
/// Vectors over pairs are independent exactly if the vectors over documents are, once these are centred
/// within each connected component of the pair graph: taking differences loses one constant per component and
/// nothing else. So independence is decided on the Gram matrix of centred document vectors, by a Cholesky
/// factor that grows by one row per member. A candidate counts as dependent if its projection on the members
/// leaves at most kTolerance of its squared length.
class IndependentSet {
 public:
  static constexpr double kTolerance = 1e-9;

  IndependentSet(const StumpTable& stumps, const PairRows& pairs, unsigned threads = 1);

  bool is_dependent(std::size_t stump);
  /// The weights of the members whose weighted sum equals the (dependent) stump on every pair.
  ///
  /// cost:   O(size^2)
  std::vector<double> coordinates(std::size_t stump);
  /// Requires !is_dependent(stump).
  ///
  /// cost:   O(documents * features + stumps + size^2)
  void add(std::size_t stump);

 private:
  const std::vector<double>& extend(std::size_t stump);
  std::vector<double> centred(std::size_t stump) const;

  const StumpTable& stumps_;
  unsigned threads_;
  std::vector<std::int32_t> component_;
  std::vector<double> component_size_;
  std::vector<std::size_t> members_;
  std::vector<std::vector<double>> gram_;  // by member: its inner products with every stump
  // By stump: its row of the Cholesky factor, extended on demand.
  std::vector<std::vector<double>> factor_;
  std::vector<double> length_;  // by stump: its squared length; negative: not yet computed
  std::vector<double> left_;    // by stump: its squared length minus that of its row
};

/// An ensemble expressed in linearly independent members, as E2 requires (Connamacher et al. 2020, "Empirical
/// evaluation"). Holds eta, the weight of each member, and F2(eta) with the distribution that belongs to it,
/// eqs. (22)-(29).
class IndependentEnsemble {
 public:
  IndependentEnsemble(const StumpTable& stumps, const PairRows& pairs, unsigned threads = 1);

  /// Adds alpha times a stump. If the stump is a member or independent (it then becomes a member), this
  /// changes its own weight; otherwise it changes the members' weights along its coordinates.
  void add(std::size_t stump, double alpha);
  /// The factor by which F2 would change if `step` were added to the members' weights.
  double ratio_after(const std::vector<double>& step) const;
  void move(const std::vector<double>& step);
  /// Adds alpha to a member's weight. z is the normaliser for it, eq. (27).
  void move(std::size_t member, double alpha, double z);

  /// F2(eta). Rb-d can drive it beyond any bound. Once it reaches kLargestE2, it and the weights no
  /// longer change.
  static constexpr double kLargestE2 = 1e12;
  double e2() const { return e2_; }
  double weight(std::size_t member) const { return eta_[member]; }
  IndependentSet& set() { return set_; }
  const PairDistribution& distribution() const { return distribution_; }
  /// Makes an independent stump a member with weight 0 and returns its index among the members.
  std::size_t include(std::size_t stump);
  /// The same for a stump known to be independent, if the set will judge no more stumps afterwards.
  std::size_t include_unchecked(std::size_t stump);
  /// The index of a stump among the members, or -1.
  std::ptrdiff_t place(std::size_t stump) const;
  std::size_t size() const { return eta_.size(); }
  std::size_t stump(std::size_t member) const { return stumps_of_[member]; }

 private:
  const StumpTable& stumps_;
  IndependentSet set_;
  PairDistribution distribution_;
  std::vector<std::size_t> stumps_of_;
  std::map<std::size_t, std::size_t> places_;
  std::vector<double> eta_;
  double e2_ = 1.0;
};

}  // namespace metafuse::lab::rankboost_plus
