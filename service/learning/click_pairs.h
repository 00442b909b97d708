#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "service/store/store.h"

// The position bias: how likely a result is looked at, by its position. If the same result of the same query
// was shown at different positions (because of interleaving, another model, a missing list), its click rates
// differ only because of the positions. Such interventions happen by themselves; this file harvests them.

namespace metafuse::service {

/// One result of one query at one position: how often it was shown there and clicked.
struct Exposure {
  std::string result;  ///< identifies query and document
  std::uint32_t position = 0;
  double shown = 0;
  double clicks = 0;
};

/// The probability that each position is looked at, relative to the first one's.
struct PositionBias {
  std::vector<double> looked_at;  ///< by position from 0, never rising; empty if there are too few clicks
  double clicks = 0;              ///< on results that were shown at several positions

  bool is_known() const { return !looked_at.empty(); }
  /// The value of a position; beyond the last known one, the last one's.
  double at(std::size_t position) const;
};

inline constexpr std::size_t kBiasPositions = 30;    ///< positions that an estimate covers
inline constexpr double kFewestHarvestClicks = 200;  ///< needed for an estimate, see PositionBias::clicks

/// Estimates the bias from results that were shown at several positions. For two positions, the ratio of
/// being looked at is the Mantel-Haenszel common ratio of the click rates over all results shown at both. The
/// ratios of all pairs of positions are combined by least squares of their logarithms, each weighted by the
/// inverse of its variance.
///
/// out:    unknown with fewer than kFewestHarvestClicks such clicks, or if position 0 is compared with
///         no other
/// cost:   O(exposures log exposures + results x positions^2)
/// source: Agarwal, Zaitsev, Wang, Li, Najork, Joachims 2019 (intervention harvesting, all pairs)
PositionBias harvest_position_bias(std::vector<Exposure> exposures);

/// As harvest_position_bias(), for a domain's latest searches.
///
/// in:     from - earlier searches are left out; limit - most searches, and most clicks
/// errors: those of the store
Result<PositionBias> position_bias_of(Store& store, const std::string& domain, UnixTime from,
                                      std::size_t limit);

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
