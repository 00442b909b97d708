#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
};

/// What clicks say about the order of results: a clicked result belongs above every result that stood above
/// it and was not clicked, and above the next one below it when that was not clicked.
///
/// A result is looked at the less the deeper it stands, so the number of clicks says little, but a click says
/// that its user came past everything above (Joachims 2002; Joachims et al. 2005). Under the usual model that
/// position k is looked at with probability 1/k, a click at k stands for k clicks; with k pairs to a click, a
/// pair then weighs the same at every position, until most_of_click bounds the deepest ones.
///
/// in:     clicks - of this search, each within search.shown
/// out:    weight = the click's weight x 0.5^(age / half life) x min(1, most_of_click / its pairs)
/// cost:   O(clicks x results shown)
std::vector<ClickPair> click_pairs(const StoredSearch& search, std::span<const Click> clicks,
                                   const ClickRules& rules, UnixTime now);

}  // namespace metafuse::service
