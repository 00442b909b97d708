#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "fusion/data/communicator.h"
#include "fusion/input/training_input.h"

namespace metafuse::fusion {

// What the readers of training inputs have in common.

/// Which part of the queries this process reads.
struct InputShare {
  std::size_t part = 0;
  std::size_t parts = 1;

  explicit InputShare(const Communicator* communicator) {
    if (communicator == nullptr) return;
    part = static_cast<std::size_t>(communicator->rank());
    parts = static_cast<std::size_t>(communicator->size());
  }
};

/// The grade that counts: negative ones are zero unless they are kept.
inline double kept_grade(double grade, const TrainingInput& input) {
  return grade < 0.0 && !input.are_negative_grades_kept ? 0.0 : grade;
}

/// The derived features behind the rank features that a set must have.
std::vector<Feature> derived_of(const std::vector<Feature>& expected);

/// The blank-separated fields of a line.
std::vector<std::string_view> fields_of(std::string_view line);

}  // namespace metafuse::fusion
