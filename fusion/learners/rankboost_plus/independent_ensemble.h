#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "fusion/learners/rankboost_plus/pair_distribution.h"
#include "fusion/learners/rankboost_plus/stump_table.h"

namespace metafuse::fusion::rankboost_plus {

/// A growing set of linearly independent weak rankings, each seen as the vector of its differences over the
/// crucial pairs.
///
/// Vectors over pairs are independent exactly when the vectors over documents are, once each is centred
/// within every connected component of the pair graph: the difference map forgets one constant a component
/// and nothing else. So independence is decided on the Gram matrix of centred document vectors, by a Cholesky
/// factor that grows by a row a member. A candidate is dependent when what is left of its squared length,
/// after projection on the members, is at most kTolerance of it.
class IndependentSet {
 public:
  static constexpr double kTolerance = 1e-9;

  /// in:     components - of each document (components() of pair_rows.h)
  IndependentSet(const StumpTable& stumps, const std::vector<std::int32_t>& components, unsigned threads = 1);

  std::size_t size() const { return members_.size(); }
  const std::vector<std::size_t>& members() const { return members_; }

  bool is_dependent(std::size_t stump);
  /// The weights of the members whose sum is the (dependent) stump on every pair.
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
  std::vector<std::vector<double>> gram_;  // of each member: its inner products with every stump
  std::vector<std::vector<double>>
      factor_;                  // of each stump: its row of the Cholesky factor, grown when asked
  std::vector<double> length_;  // of each stump: its squared length, negative: not known yet
  std::vector<double> left_;    // of each stump: squared length less its row's
};

/// An ensemble written over linearly independent members, as E2 asks for (Connamacher et al. 2020, "Empirical
/// evaluation"): eta, the weight of each member, and F2(eta) with the distribution that it makes, eqs.
/// (22)-(29).
class IndependentEnsemble {
 public:
  IndependentEnsemble(const StumpTable& stumps, const PairRows& pairs, unsigned threads = 1);

  /// Adds alpha times a stump: to its own weight when it is a member or independent (it becomes a member),
  /// else along its coordinates.
  void add(std::size_t stump, double alpha);
  /// The factor by which F2 changes when `step` is added to the members' weights; nothing is changed.
  double ratio_after(const std::vector<double>& step) const;
  void move(const std::vector<double>& step);
  /// Adds alpha to a member's weight; z is eq. (27) for it.
  void move(std::size_t member, double alpha, double z);

  /// F2(eta). Rb-d can drive it beyond any bound: from kLargestE2 on it stays there, and weights are as
  /// they were.
  static constexpr double kLargestE2 = 1e12;
  double e2() const { return e2_; }
  double weight(std::size_t member) const { return eta_[member]; }
  IndependentSet& set() { return set_; }
  const PairDistribution& distribution() const { return distribution_; }
  /// Makes an independent stump a member of weight 0; returns its place.
  std::size_t include(std::size_t stump);
  /// As include(), when it is known to be independent and no more stumps will be judged by the set.
  std::size_t include_unchecked(std::size_t stump);
  /// The place of a stump among the members, or -1.
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

}  // namespace metafuse::fusion::rankboost_plus
