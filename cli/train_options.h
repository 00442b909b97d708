#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/learner_options.h"
#include "cli/training_input.h"
#include "cli/verb.h"

namespace metafuse::cli {

/// What --validate measures, and for how many rounds it waits, when nothing is said.
inline constexpr std::string_view kTrainMetric = "map";
inline constexpr std::size_t kTrainPatience = 50;

/// The options of `metafuse train`, as they are typed.
struct TrainArguments {
  TrainingOptions input;
  LearnerChoice learner;
  std::string model;
  std::string trace;
  unsigned threads = 0;  ///< 0: one a core
  std::uint64_t seed = 1;
  std::string resume;
  std::vector<std::string> validate;
  std::optional<std::string> metric;
  std::optional<std::size_t> patience;
  double time_limit = 0.0;
  std::string checkpoint;
  std::size_t checkpoint_every = 100;
  bool is_stream = false;
  std::string bad_lines = "fail";
  std::string store;
  std::string domain;
  double half_life_days = 30;
  bool are_held_out_used = false;
};

/// Adds them with their help and its examples; `arguments` must outlive the parsing.
void add_train_options(CLI::App& verb, TrainArguments& arguments);

}  // namespace metafuse::cli
