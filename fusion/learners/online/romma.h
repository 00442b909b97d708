#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace metafuse::fusion::online {

/// When and how a PRank moves: by the perceptron's step if it is wrong (Harrington 2003), by ROMMA's step if
/// it is wrong, or by ROMMA's step whenever a threshold lies within a margin of 1 (aggressive ROMMA).
enum class StepRule : std::uint8_t { perceptron, romma, aggressive_romma };

struct StepOptions {
  StepRule rule = StepRule::perceptron;
  double slack = 1.0;  ///< ROMMA: square of the coordinate that each example has to itself

  friend bool operator==(const StepOptions&, const StepOptions&) = default;
};

/// An example as seen by one rule (w, c).
struct RommaExample {
  double score = 0.0;        ///< w . x
  double square = 0.0;       ///< ||x||^2, including the slack
  double rule_square = 0.0;  ///< ||w||^2 + ||c||^2, plus what the slacks of earlier steps add
  int rank = 1;              ///< y, 1 ... k
};

/// The new weights are scale w + step x.
struct RommaStep {
  double scale = 1.0;
  double step = 0.0;
};

/// Whether some threshold lies on the wrong side of the score or closer than 1 to it.
bool is_within_margin(double score, std::span<const double> thresholds, int rank);

/// The relaxed online maximum margin step for ranks. It chooses the shortest of all rules v = (w, c) that
/// place the example with a margin of 1 at each of the k - 1 thresholds and lie in the half-space v . v_t >=
/// ||v_t||^2, which represents all earlier examples. With k = 2 this is ROMMA on (x, -1).
///
/// With s the new score, threshold r becomes min(scale c_r, s - 1) below the true rank and max(scale c_r, s +
/// 1) from the true rank on, so ascending thresholds remain ascending.
///
/// in:     thresholds - ascending; moved in place
/// out:    nothing, with unchanged thresholds, if no rule satisfies both conditions (possible only for a
///         square of 0) or if numbers would overflow
/// cost:   O(k log k) for each of the few pieces of a piecewise linear equation that are visited
/// source: Li, Long 2002, with the constraints of all thresholds instead of one, as Harrington 2003, sec. 5,
///         proposes; a coordinate per example as in Freund, Schapire 1999
std::optional<RommaStep> romma_step(const RommaExample& example, std::span<double> thresholds);

}  // namespace metafuse::fusion::online
