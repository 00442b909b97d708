#pragma once

// The options of `train` and `crossvalidate`: the training data, the learner, when to stop.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/result.h"
#include "fusion/input/input_files.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {

/// The options for training data and feedback, as typed.
struct InputChoice {
  fusion::TrainingInput input;
  std::string absent = "zero";
  std::string feedback = "graded";
  std::string unjudged = "nonrelevant";
  std::string negative_grades = "zero";
  std::string grade_weights = "one";
};

/// Adds --runs, --qrels, --letor, --letor-ranks, --pairs, --absent, --depth, --derive, --feedback,
/// --relevance-level, --unjudged, --negative-grades, --query-weights and --grade-weights.
void add_input_options(CLI::App& verb, InputChoice& choice);

/// The same, in the form that fusion/input reads.
fusion::TrainingInput chosen_input(const InputChoice& choice, unsigned threads);

/// The learner, and the learner options that the user set.
struct LearnerChoice {
  std::string learner;  ///< empty: default_learner() chooses
  std::map<std::string, std::string> options;
};

/// Adds --learner and every option of every learner, each once; the help names the learners that have it.
void add_learner_options(CLI::App& verb, LearnerChoice& choice);

/// The learner that is named. If none is named, it is the default learner; but if options are given that the
/// default does not have, it is the first learner in the table that has them all, RankBoost for most.
///
/// errors: usage for an unknown learner, or an option that the chosen learner does not have
Result<const fusion::Learner*> chosen_learner(const LearnerChoice& choice);

/// The measure of --validate, and the number of rounds without improvement after which training stops,
/// by default.
inline constexpr std::string_view kTrainMetric = "map";
inline constexpr std::size_t kTrainPatience = 50;

/// The options of `metafuse train`, as typed.
struct TrainArguments {
  InputChoice input;
  LearnerChoice learner;
  std::string model;
  std::string trace;
  std::size_t trace_every = 1;
  unsigned threads = 0;  ///< 0: one per core
  std::uint64_t seed = 1;
  std::string resume;
  std::vector<std::string> validate;
  std::optional<std::string> metric;
  std::optional<std::size_t> patience;
  std::uint64_t memory_limit = 0;  ///< bytes; 0: no limit
  std::string temporary;
  double time_limit = 0.0;
  std::string checkpoint;
  std::size_t checkpoint_every = 100;
  bool is_stream = false;
  std::string bad_lines = "fail";
  std::string store;
  std::string domain;
  double half_life_days = 30;
  bool are_held_out_used = false;
  bool wants_certainty = false;
};

/// Adds the options with their help and examples; `arguments` must outlive the parsing.
void add_train_options(CLI::App& verb, TrainArguments& arguments);

}  // namespace metafuse::cli
