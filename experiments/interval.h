#pragma once

#include <span>
#include <string>

namespace metafuse::experiments {

/// A mean and the half-width of its 95 % interval by Student's t.
struct Interval {
  double mean = 0.0;
  double half_width = 0.0;  ///< 0 for a single value
};

/// Requires at least one value.
Interval interval_of(std::span<const double> values);

/// "0.23 ± 0.01" with `digits` digits; "diverged" for a mean beyond a million.
std::string to_text(const Interval& interval, int digits);

/// A number with a fixed count of digits behind the point.
std::string fixed(double value, int digits);

}  // namespace metafuse::experiments
