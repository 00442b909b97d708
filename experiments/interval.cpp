#include "experiments/interval.h"

#include <cmath>
#include <cstdio>

#include <boost/math/distributions/students_t.hpp>

#include "core/contract.h"

namespace metafuse::experiments {

Interval interval_of(std::span<const double> values) {
  require(!values.empty(), "an interval needs a value");
  const auto n = static_cast<double>(values.size());
  Interval interval;
  for (const double value : values) interval.mean += value / n;
  if (values.size() == 1) return interval;
  double squares = 0.0;
  for (const double value : values) squares += (value - interval.mean) * (value - interval.mean);
  const double error = std::sqrt(squares / (n - 1.0) / n);
  interval.half_width = error * boost::math::quantile(boost::math::students_t(n - 1.0), 0.975);
  return interval;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string to_text(const Interval& interval, int digits) {
  if (interval.mean > 1e6) return "diverged";
  return fixed(interval.mean, digits) + " ± " + fixed(interval.half_width, digits);
}

}  // namespace metafuse::experiments
