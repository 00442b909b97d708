#pragma once

#include <memory>
#include <string>

#include "cli/verb.h"
#include "fusion/input/training_input.h"

namespace metafuse::cli {

/// The options INPUT and feedback of train and crossvalidate, as they are typed.
struct TrainingOptions {
  fusion::TrainingInput input;
  std::string absent = "zero";
  std::string feedback = "graded";
  std::string unjudged = "nonrelevant";
  std::string negative_grades = "zero";
  std::string grade_weights = "one";
};

/// Adds --runs, --qrels, --letor, --letor-ranks, --pairs, --absent, --depth, --derive, --feedback,
/// --relevance-level, --unjudged, --negative-grades, --query-weights and --grade-weights.
void add_training_options(CLI::App& verb, TrainingOptions& options);

/// The same as a library reads them.
fusion::TrainingInput training_input(const TrainingOptions& options, unsigned threads);

}  // namespace metafuse::cli
