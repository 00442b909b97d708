#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/learning/position_bias.h"
#include "service/store/store.h"

namespace metafuse::service {

/// A document that clicks place above another one; both are positions in StoredSearch::documents.
struct ClickPair {
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  double weight = 0;

  friend bool operator==(const ClickPair&, const ClickPair&) = default;
};

/// Weighs clicks so that the influence of the results' positions cancels out.
///
/// A result high up is seen more often and therefore clicked more often. A click on a lower result says that
/// those above it were passed over; a click on a higher one says little. Unweighted clicks therefore only
/// reproduce the order shown, or its reverse. So for every two positions this class counts, over all queries,
/// how often the result at one was clicked while the result at the other was not. It then weighs both
/// directions to fixed odds. What remains is which results are clicked more often than others at their
/// positions. If the position bias is known, the odds are the counts divided by the probability that each
/// position is looked at. Otherwise they follow a prior about orders that are worth showing: relevance falls
/// with the cube root of the position.
class PositionBalance {
 public:
  explicit PositionBalance(PositionBias bias = {});

  void add(const StoredSearch& search, std::span<const Click> clicks);
  /// The weight of a pair of a clicked and another position, at most kLargestFactor. With few counts it is
  /// near to the weight for users who look at position k with probability 1/k.
  double factor(std::size_t clicked, std::size_t other) const;

  static constexpr double kLargestFactor = 10;

 private:
  double count(std::size_t clicked, std::size_t other) const;

  PositionBias bias_;
  std::vector<double> counts_;  ///< by clicked and other position, each below kBiasPositions
};

struct ClickRules {
  double half_life_days = 30;  ///< a click of this age counts half
  /// Cap on the weights of one click's pairs together, as a multiple of the click's weight.
  double most_of_click = 10;
  PositionBalance balance{};
};

/// Which positions were clicked.
///
/// out: 1 or 0 per result shown
std::vector<std::uint8_t> clicked_positions(const StoredSearch& search, std::span<const Click> clicks);

/// Pairs from clicks: a clicked result belongs above every result of its search that was not clicked.
///
/// in:     clicks - of this search, each within search.shown
/// out:    weights: the click's weight x 0.5^(age / half life) x rules.balance.factor(), those of one click
///         together at most most_of_click times its weight
/// cost:   O(clicks x results shown)
/// source: skip-above pairs of Joachims 2002, made unbiased by weights as in Joachims, Swaminathan, Schnabel
///         2017; the balance of directions is what FairPairs (Radlinski, Joachims 2006) draws at random
std::vector<ClickPair> click_pairs(const StoredSearch& search, std::span<const Click> clicks,
                                   const ClickRules& rules, UnixTime now);

}  // namespace metafuse::service
