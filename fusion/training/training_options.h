#pragma once

// What a training may be told beside the learner's own options, and the rules for it. Declared once for the
// command line and the library, and through it for Python.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "fusion/input/input_files.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// Declares the options that say which documents and judgments count, and how. `Options` is an OptionTable or
/// has the same functions.
template <class Options>
void declare_input_options(Options& options, TrainingInput& input) {
  FeedbackOptions& feedback = input.feedback;
  options.count("depth", input.depth, 0, 1U << 30, "how far down each list counts, 0 for all of it");
  options.text("derive", input.derive, "derived features: lists,rrf,best-rank,median-rank,share,vsim");
  options.choice("feedback", feedback.is_bipartite, {{"graded", false}, {"bipartite", true}},
                 "graded or bipartite");
  options.number("relevance-level", feedback.relevance_level, -1000.0, 1000.0,
                 "the lowest relevant grade for bipartite feedback");
  options.choice("unjudged", input.is_unjudged_ignored, {{"nonrelevant", false}, {"ignore", true}},
                 "unjudged documents: nonrelevant, or ignore in feedback");
  options.choice("negative-grades", input.are_negative_grades_kept, {{"zero", false}, {"keep", true}},
                 "grades below 0: zero (count as 0) or keep");
  options.word_or_file("query-weights", input.query_weights, {"pairs", "equal", "documents"},
                       "pairs (every pair weighs the same), equal (every query), documents (every document), "
                       "or a file of: qid weight");
  using Weights = FeedbackOptions::GradeWeights;
  options.choice("grade-weights", feedback.grade_weights,
                 {{"one", Weights::one}, {"difference", Weights::difference}, {"gain", Weights::gain}},
                 "a pair weighs one, the difference of grades, or of gains");
}

/// The defaults of --metric and --patience.
inline constexpr std::string_view kTrainMetric = "map";
inline constexpr std::size_t kTrainPatience = 50;

/// What is given of --validate, --metric and --patience.
struct ValidationOptions {
  bool has_set = false;
  std::optional<std::string> metric;
  std::optional<std::size_t> patience;
};

/// The usage error that "the learner NAME" does or has something: the rest of the sentence.
Error refused_by(const Learner& learner, std::string_view rest);

/// errors: usage: the learner does not use what is given
Result<void> check_validation(const Learner& learner, const ValidationOptions& given);

/// Sets the measure of a request and, if there is a validation set, when to stop by it. The set must outlive
/// the request.
///
/// in:     set - nullptr if none is given
/// errors: those of validation_measure
Result<void> set_validation(const Learner& learner, const ValidationOptions& given, const TrainingSet* set,
                            TrainingRequest& request);

}  // namespace metafuse::fusion
