// The ROMMA step is a quadratic program in k unknowns. Its solution is v = a v_t + b x + (moves of
// thresholds), where a is the multiplier of the old rule's half-space. For a given a, the new score is the
// root of an increasing, piecewise linear function. v . v_t then grows with a, also piecewise linearly, until
// it reaches ||v_t||^2.

#include <algorithm>
#include <cmath>
#include <vector>

#include "fusion/model/online/prank_bank.h"

namespace metafuse::fusion::online {
namespace {

/// The solution for a given multiplier of the old rule.
struct RommaPoint {
  double score = 0.0;   ///< s
  double along = 0.0;   ///< how far the weights move along x
  double excess = 0.0;  ///< v . v_t - ||v_t||^2
  double slope = 0.0;   ///< derivative of the excess by the multiplier while the same thresholds move
};

class RommaProgram {
 public:
  RommaProgram(const RommaExample& example, std::span<const double> thresholds)
      : example_(example), thresholds_(thresholds), below_(static_cast<std::size_t>(example.rank - 1)) {}

  RommaPoint at(double multiplier) const {
    RommaPoint point;
    point.score = score_at(multiplier);
    double count = 0.0, sum = 0.0, squares = 0.0, pull = 0.0;
    for (std::size_t r = 0; r < thresholds_.size(); ++r) {
      const double move = move_of(r, multiplier, point.score);
      if (move == 0.0) continue;
      count += 1.0;
      sum += thresholds_[r];
      squares += thresholds_[r] * thresholds_[r];
      point.along -= move;
      pull += move * thresholds_[r];
    }
    point.excess = (multiplier - 1.0) * example_.rule_square + point.along * example_.score + pull;
    const double score_slope = (example_.score + example_.square * sum) / (1.0 + example_.square * count);
    const double along_slope = sum - count * score_slope;
    point.slope = example_.rule_square + along_slope * example_.score + sum * score_slope - squares;
    return point;
  }

  /// Where a threshold ends up: multiplier x c_r, or a margin of 1 from the score. Does not decrease
  /// with c_r, even after rounding.
  double threshold_at(std::size_t r, double multiplier, double score) const {
    const double kept = multiplier * thresholds_[r];
    return r < below_ ? std::min(kept, score - 1.0) : std::max(kept, score + 1.0);
  }

 private:
  double move_of(std::size_t r, double multiplier, double score) const {
    return threshold_at(r, multiplier, score) - multiplier * thresholds_[r];
  }

  /// score - multiplier w . x - square x (how far the weights move along x). Increases with the score.
  double gap(double multiplier, double score) const {
    double along = 0.0;
    for (std::size_t r = 0; r < thresholds_.size(); ++r) along -= move_of(r, multiplier, score);
    return score - multiplier * example_.score - example_.square * along;
  }

  double score_at(double multiplier) const {
    std::vector<double> ends;  // scores at which a threshold starts to move
    for (std::size_t r = 0; r < thresholds_.size(); ++r)
      ends.push_back(multiplier * thresholds_[r] + (r < below_ ? 1.0 : -1.0));
    std::sort(ends.begin(), ends.end());
    const auto above = std::partition_point(ends.begin(), ends.end(),
                                            [&](double end) { return gap(multiplier, end) < 0.0; });
    // The function is linear between two neighbouring ends, so two points of it give the root.
    double left = 0.0;
    double right = 0.0;
    if (above == ends.begin()) {
      right = ends.front();
      left = right - 1.0;
    } else {
      left = *(above - 1);
      right = above == ends.end() ? left + 1.0 : *above;
    }
    const double low = gap(multiplier, left);
    const double high = gap(multiplier, right);
    return high > low ? left - low * (right - left) / (high - low) : left;
  }

  const RommaExample& example_;
  std::span<const double> thresholds_;
  std::size_t below_;  ///< thresholds that must lie below the score
};

/// The smallest multiplier with v . v_t >= ||v_t||^2; negative if there is none.
double multiplier_of(const RommaProgram& program, double rule_square) {
  if (program.at(0.0).excess >= 0.0) return 0.0;
  constexpr double kLargest = 1e12;
  const double tolerance = 1e-13 * rule_square;
  double low = 0.0;
  double high = 1.0;
  while (program.at(high).excess < -tolerance) {
    low = high;
    high *= 2.0;
    if (high > kLargest) return -1.0;
  }
  double multiplier = high;
  for (int i = 0; i < 200 && low < high; ++i) {
    const RommaPoint point = program.at(multiplier);
    if (std::abs(point.excess) <= tolerance) break;
    (point.excess < 0.0 ? low : high) = multiplier;
    multiplier -= point.excess / point.slope;
    // Bisects if a step leaves the bracket, and now and then anyway, since many pieces would slow Newton
    // steps down.
    if (!(multiplier > low && multiplier < high) || i % 8 == 7) multiplier = low / 2.0 + high / 2.0;
  }
  return multiplier;
}

}  // namespace

bool is_within_margin(double score, std::span<const double> thresholds, int rank) {
  const auto below = static_cast<std::size_t>(rank - 1);
  return (below > 0 && score - thresholds[below - 1] < 1.0) ||
         (below < thresholds.size() && thresholds[below] - score < 1.0);
}

std::optional<RommaStep> romma_step(const RommaExample& example, std::span<double> thresholds) {
  const RommaProgram program(example, thresholds);
  const double multiplier = multiplier_of(program, example.rule_square);
  if (multiplier < 0.0) return std::nullopt;
  const RommaPoint point = program.at(multiplier);
  if (!std::isfinite(point.score) || !std::isfinite(point.along)) return std::nullopt;
  std::vector<double> moved;
  for (std::size_t r = 0; r < thresholds.size(); ++r)
    moved.push_back(program.threshold_at(r, multiplier, point.score));
  std::copy(moved.begin(), moved.end(), thresholds.begin());
  return RommaStep{multiplier, point.along};
}

}  // namespace metafuse::fusion::online
