#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

  /// in: components - of each document (components() of pair_rows.h)
  IndependentSet(const StumpTable& stumps, const std::vector<std::int32_t>& components, unsigned threads = 1);

  std::size_t size() const { return members_.size(); }
  const std::vector<std::size_t>& members() const { return members_; }

  bool is_dependent(std::size_t stump);
  /// The weights of the members whose sum is the (dependent) stump on every pair.
  ///
  /// cost: O(size^2)
  std::vector<double> coordinates(std::size_t stump);
  /// Requires !is_dependent(stump).
  ///
  /// cost: O(documents * features + stumps + size^2)
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

}  // namespace metafuse::fusion::rankboost_plus
