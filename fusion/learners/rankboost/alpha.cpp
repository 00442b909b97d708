#include "fusion/learners/rankboost/alpha.h"

#include <algorithm>
#include <cmath>

#include "core/portable_math.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr int kHalvings = 200;

double epsilon(std::uint64_t m) {
  return 1.0 / (2.0 * static_cast<double>(m));
}

}  // namespace

double alpha_of_edge(double r, bool is_certain, std::uint64_t m) {
  const double bounded = std::clamp(r, -1.0, 1.0);
  const double smooth = is_certain || std::abs(bounded) >= 1.0 - 1e-15 ? 2.0 * epsilon(m) : 0.0;
  return 0.5 * portable_log((1.0 + bounded + smooth) / (1.0 - bounded + smooth));
}

double alpha_of_sides(double right, double wrong, std::uint64_t m) {
  const double smooth = right > 0.0 && wrong > 0.0 ? 0.0 : epsilon(m);
  return 0.5 * portable_log((right + smooth) / (wrong + smooth));
}

std::optional<double> alpha_by_search(const Distribution& distribution, const CodedRanking& ranking) {
  const PairSides sides = distribution.sides(ranking);
  if (!sides.has_right || !sides.has_wrong) return std::nullopt;
  // Z is convex in alpha, Z'(0) = -r, and Z'(alpha) -> +-inf for alpha -> +-inf because some pair has
  // b = h(x0) - h(x1) > 0 and some b < 0. So the root lies where -Z'(0) points to, and doubling the step from
  // 0 must pass it: then [low, high] holds exactly one root and halving keeps the sign change inside.
  double low = 0.0;
  double high = distribution.slope(ranking, 0.0) < 0.0 ? 1.0 : -1.0;
  const double sign = high;
  while (distribution.slope(ranking, high) * sign < 0.0 && std::abs(high) < 512.0) {
    low = high;
    high *= 2.0;
  }
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (distribution.slope(ranking, middle) * sign < 0.0 ? low : high) = middle;
    if (std::abs(high - low) <= 1e-15 * std::max(1.0, std::abs(high))) break;
  }
  return 0.5 * (low + high);
}

}  // namespace metafuse::fusion::rankboost
