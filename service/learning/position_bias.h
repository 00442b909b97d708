#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "service/store/store.h"

// How likely a result is looked at by where it stands. Where the same result of the same query stood at
// different positions (interleaving's coins, another model, a list that was missing), its click rates there
// differ by the positions alone: such interventions happen by themselves and are harvested.

namespace metafuse::service {

/// One result of one query at one position: how often it was shown there and clicked.
struct Exposure {
  std::string result;  ///< names query and document
  std::uint32_t position = 0;
  double shown = 0;
  double clicks = 0;
};

/// The probability of each position being looked at, as a share of the first one's.
struct PositionBias {
  std::vector<double> looked_at;  ///< by position from 0, never rising; empty: too few clicks to tell
  double clicks = 0;              ///< of results that stood at several positions

  bool is_known() const { return !looked_at.empty(); }
  /// Of a position beyond the last one known, the last one's.
  double at(std::size_t position) const;
};

inline constexpr std::size_t kBiasPositions = 30;    ///< that are looked at by an estimate
inline constexpr double kFewestHarvestClicks = 200;  ///< at several positions, for an estimate

/// Estimates the bias from results that stood at several positions. Of two positions, the ratio of looking is
/// Mantel's and Haenszel's common ratio of click rates over all results that stood at both; the ratios of all
/// pairs of positions are joined by least squares of their logarithms, each weighing as its variance.
///
/// out:    unknown with fewer than kFewestHarvestClicks such clicks, or when position 0 is compared with none
/// cost:   O(exposures log exposures + results x positions^2)
/// source: Agarwal, Zaitsev, Wang, Li, Najork, Joachims 2019 (intervention harvesting, all pairs)
PositionBias harvest_position_bias(std::vector<Exposure> exposures);

/// The same for a domain's latest searches.
/// in:     from - searches before are left out; limit - of searches and of clicks
/// errors: those of the store
Result<PositionBias> position_bias_of(Store& store, const std::string& domain, UnixTime from,
                                      std::size_t limit);

}  // namespace metafuse::service
