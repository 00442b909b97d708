#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/learning/position_bias.h"
#include "service/store/store.h"

namespace metafuse::service {

/// A document that belongs above another, by clicks; both are positions in StoredSearch::documents.
struct ClickPair {
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  double weight = 0;

  friend bool operator==(const ClickPair&, const ClickPair&) = default;
};

/// How clicks are weighed so that where results stood cancels out.
///
/// A result high up is seen more often and is clicked more often; one that stands below others and is clicked
/// says that they were passed over, one that stands above says little. Counted as they come, clicks therefore
/// say what the order shown was, or its reverse. So of every two positions it is counted how often the result
/// at one was clicked while the one at the other was not, over all queries, and both directions are weighed
/// to odds that are set beforehand: what is left is which results are clicked more often than others at their
/// positions. The odds are those of looking by position, where the bias is known, and else of a belief about
/// orders that are worth showing: relevance falls with the cube root of the position.
class PositionBalance {
 public:
  explicit PositionBalance(PositionBias bias = {});

  void add(const StoredSearch& search, std::span<const Click> clicks);
  /// What a pair of a clicked and another position weighs. With few counts near to what looking at position k
  /// with probability 1/k would need; at most kLargestFactor.
  double factor(std::size_t clicked, std::size_t other) const;

  static constexpr double kLargestFactor = 10;

 private:
  double count(std::size_t clicked, std::size_t other) const;

  PositionBias bias_;
  std::vector<double> counts_;  ///< by clicked and other position, of the first kBiasPositions
};

struct ClickRules {
  double half_life_days = 30;  ///< a click this old counts half
  double most_of_click = 10;   ///< what the pairs of one click weigh together, times the click's weight
  PositionBalance balance{};
};

/// Marks the positions that were clicked.
/// out: one per result shown
std::vector<std::uint8_t> clicked_positions(const StoredSearch& search, std::span<const Click> clicks);

/// What clicks say about the order of results: a clicked result belongs above every other one of its search
/// that was not clicked.
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
