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

}  // namespace metafuse::service
