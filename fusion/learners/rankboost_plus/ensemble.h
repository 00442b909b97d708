#pragma once

#include <map>
#include <vector>

#include "fusion/learners/rankboost_plus/independent_set.h"
#include "fusion/learners/rankboost_plus/pair_distribution.h"

namespace metafuse::fusion::rankboost_plus {

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

  /// F2(eta). Rb-d can drive it beyond any bound: from kLargestE2 on it stays there, and weights are as they
  /// were.
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
