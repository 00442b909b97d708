#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace metafuse::fusion::online {

/// What moves a PRank: the perceptron's step where it errs (Harrington 2003), ROMMA's there, or ROMMA's
/// wherever a threshold lies within a margin of 1 (aggressive ROMMA).
enum class StepRule : std::uint8_t { perceptron, romma, aggressive_romma };

struct StepOptions {
  StepRule rule = StepRule::perceptron;
  double slack = 1.0;  ///< square of the coordinate that each example has to itself, of ROMMA

  friend bool operator==(const StepOptions&, const StepOptions&) = default;
};

/// An example as one rule (w, c) sees it.
struct RommaExample {
  double score = 0.0;        ///< w . x
  double square = 0.0;       ///< ||x||^2, with the slack
  double rule_square = 0.0;  ///< ||w||^2 + ||c||^2, and what the slacks of earlier steps add
  int rank = 1;              ///< y, 1 ... k
};

/// The new weights are `scale` w + `step` x.
struct RommaStep {
  double scale = 1.0;
  double step = 0.0;
};

/// Whether some threshold lies on the wrong side of the score, or less than 1 from it.
bool is_within_margin(double score, std::span<const double> thresholds, int rank);

/// The relaxed online maximum margin step for ranks: of all rules v = (w, c) that place the example with a
/// margin of 1 at each of the k - 1 thresholds, and that stay in the half-space v . v_t >= ||v_t||^2 which
/// stands for all earlier examples, the shortest one. With k = 2 this is ROMMA on (x, -1).
///
/// Each threshold ends at min(scale c_r, s - 1) below the true rank and at max(scale c_r, s + 1) from it on,
/// s being the new score, so ascending thresholds stay ascending.
///
/// in:     thresholds - ascending; moved in place
/// out:    nothing, with the thresholds as they were, where no rule does both, which takes a square of 0, or
///         where the numbers would overflow
/// cost:   O(k log k) for each of the few pieces of a piecewise linear equation that are looked at
/// source: Li, Long 2002, with all thresholds' constraints in the place of one, as Harrington 2003, sec. 5
///         proposes; the coordinate per example as in Freund, Schapire 1999
std::optional<RommaStep> romma_step(const RommaExample& example, std::span<double> thresholds);

}  // namespace metafuse::fusion::online
