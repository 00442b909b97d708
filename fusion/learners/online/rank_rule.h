#pragma once

#include <cmath>
#include <span>

namespace metafuse::fusion {

/// The smallest rank r in {1, ..., k} with score < thresholds[r - 1], where the k-th threshold is infinite.
///
/// in:     thresholds - k - 1 values, ascending
/// cost:   O(k)
/// source: Harrington 2003, algorithm 1, line 1
inline int rank_of(double score, std::span<const double> thresholds) {
  // Ascending thresholds: counting those at or below the score needs no branch on it.
  int rank = 1;
  for (const double threshold : thresholds) rank += score < threshold ? 0 : 1;
  return rank;
}

/// A real-valued prediction as a rank: the nearest one, halves up, kept inside {1, ..., ranks}.
inline int nearest_rank(double prediction, int ranks) {
  if (!(prediction > 1.0)) return 1;
  if (prediction >= ranks) return ranks;
  return static_cast<int>(std::floor(prediction + 0.5));
}

}  // namespace metafuse::fusion
