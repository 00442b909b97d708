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

struct ClickRules {
  double half_life_days = 30;  ///< a click this old counts half
  double most_of_click = 10;   ///< what the pairs of one click weigh together, times the click's weight
  PositionBias bias{};         ///< unknown: the cascade, by which a user sees all above a click and the next
};

/// What clicks say about the order of results: a clicked result belongs above every other one that its user
/// saw and did not click.
///
/// A result is looked at the less the deeper it stands, so the number of clicks says little, but a click says
/// that its user came past everything above (Joachims 2002; Joachims et al. 2005). Below the click the
/// cascade lets the user see the next result; where the position bias is known, the one at position i with
/// probability looked_at(i) / looked_at(click). A click at k stands for 1 / looked_at(k) clicks (Joachims,
/// Swaminathan, Schnabel 2017), 1/k being the usual model while nothing is known, and its pairs share that.
///
/// in:     clicks - of this search, each within search.shown
/// out:    weights of one click's pairs: in proportion to how surely the other result was seen, together
///         min(most_of_click, 1 / looked_at; its pairs when the bias is unknown) x the click's weight x
///         0.5^(age / half life)
/// cost:   O(clicks x results shown)
std::vector<ClickPair> click_pairs(const StoredSearch& search, std::span<const Click> clicks,
                                   const ClickRules& rules, UnixTime now);

}  // namespace metafuse::service
