#pragma once

#include <cmath>
#include <cstddef>

#include "fusion/data/feature_matrix.h"
#include "fusion/data/thresholds.h"

namespace metafuse::fusion {

/// Threshold `level` as a WeakRanking has it: of a rank feature "rank <= k" with k the deepest training rank
/// that fires, so that ranks that training never saw fall on the side of the deeper ones.
inline double step_threshold(const Thresholds& thresholds, std::size_t level, FeatureKind kind) {
  const double theta = thresholds.values[level];
  return kind == FeatureKind::rank && std::isfinite(theta) ? thresholds.fires_from[level] - 1.0 : theta;
}

}  // namespace metafuse::fusion
