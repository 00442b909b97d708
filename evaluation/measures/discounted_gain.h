#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace metafuse::evaluation {

// The terms of discounted cumulative gain, shared by the measures and by the learners that optimise it.

/// The gain of a grade: 2^grade - 1, and 0 for grades of 0 and below (Burges et al. 2005). Grades above 512
/// gain no more than 512, so that sums of gains stay finite.
inline double exponential_gain(double grade) {
  return grade > 0.0 ? std::exp2(std::min(grade, 512.0)) - 1.0 : 0.0;
}

/// The divisor of the gain at a position, counted from 1: log2(1 + position) (Jarvelin, Kekalainen 2002).
inline double log_discount(std::size_t position) {
  return std::log2(static_cast<double>(position + 1));
}

/// The divisor of Burges et al. 2005: 1 at the first position, log2(position) after it.
inline double burges_discount(std::size_t position) {
  return position == 1 ? 1.0 : std::log2(static_cast<double>(position));
}

}  // namespace metafuse::evaluation
