#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/result.h"

namespace metafuse::cli {

struct StreamArguments {
  std::string learner;
  std::map<std::string, std::string> options;
  std::uint64_t seed = 1;
  std::string resume;  ///< a model file, or empty
  std::string model;   ///< written at the end
  bool is_skipping_bad_lines = false;
};

/// Reads LETOR lines from standard input; prints the predicted grade and the score of each before it is
/// learned from.
///
/// errors: usage; those of the model file; bad_data with the line, unless bad lines are skipped (then each is
///         reported on standard error)
Result<void> train_on_stream(const StreamArguments& arguments);

}  // namespace metafuse::cli
