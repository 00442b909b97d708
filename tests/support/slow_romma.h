#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace metafuse::test {

/// A half-space v . g >= b. shortest_within() finds the shortest v in all of them by Hildreth's method: it
/// visits one after the other and moves its multiplier until the condition holds or the multiplier is 0,
/// until none moves any more.
struct HalfSpace {
  std::vector<double> normal;
  double bound = 0.0;
};

inline std::vector<double> shortest_within(const std::vector<HalfSpace>& half_spaces, std::size_t dimensions,
                                           std::size_t rounds) {
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  std::vector<double> v(dimensions, 0.0);
  std::vector<double> multipliers(half_spaces.size(), 0.0);
  for (std::size_t round = 0; round < rounds; ++round) {
    double moved = 0.0;
    for (std::size_t h = 0; h < half_spaces.size(); ++h) {
      const auto& [normal, bound] = half_spaces[h];
      const double square = product(normal, normal);
      if (square == 0.0) continue;
      const double next = std::max(0.0, multipliers[h] + (bound - product(normal, v)) / square);
      for (std::size_t i = 0; i < dimensions; ++i) v[i] += (next - multipliers[h]) * normal[i];
      moved = std::max(moved, std::abs(next - multipliers[h]) * std::sqrt(square));
      multipliers[h] = next;
    }
    if (moved < 1e-13) break;
  }
  return v;
}

/// A rule as one long vector: weights, thresholds, and one coordinate per example learned from.
struct LongRule {
  std::size_t inputs = 0;
  std::size_t thresholds = 0;
  std::vector<double> v;
};

/// ROMMA's step for ranks in these coordinates, by its definition.
inline void slow_romma_step(LongRule& rule, const std::vector<double>& x, int rank, double slack) {
  rule.v.push_back(0.0);
  std::vector<HalfSpace> half_spaces;
  HalfSpace old{rule.v, 0.0};
  for (const double value : rule.v) old.bound += value * value;
  half_spaces.push_back(old);
  for (std::size_t r = 1; r <= rule.thresholds; ++r) {
    const double label = rank <= static_cast<int>(r) ? -1.0 : 1.0;
    HalfSpace wanted{std::vector<double>(rule.v.size(), 0.0), 1.0};
    for (std::size_t i = 0; i < rule.inputs; ++i) wanted.normal[i] = label * x[i];
    wanted.normal[rule.inputs + r - 1] = -label;
    wanted.normal.back() = label * std::sqrt(slack);
    half_spaces.push_back(wanted);
  }
  rule.v = shortest_within(half_spaces, rule.v.size(), 20'000);
}

}  // namespace metafuse::test
