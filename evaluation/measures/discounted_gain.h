#pragma once

#include <cmath>
#include <cstddef>

namespace metafuse::evaluation {

// The terms of discounted cumulative gain, for measures and for learners that optimise it.

/// What a document is worth by its grade: 2^grade - 1, and 0 for grades from 0 down (Burges et al. 2005).
inline double exponential_gain(double grade) {
  return grade > 0.0 ? std::exp2(grade) - 1.0 : 0.0;
}

/// What the gain at a position, from 1, is divided by: log2(1 + position) (Jarvelin, Kekalainen 2002).
inline double log_discount(std::size_t position) {
  return std::log2(static_cast<double>(position + 1));
}

/// The same as Burges et al. 2005 have it: 1 at the first position, log2(position) after.
inline double burges_discount(std::size_t position) {
  return position == 1 ? 1.0 : std::log2(static_cast<double>(position));
}

}  // namespace metafuse::evaluation
