#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/communicator.h"
#include "fusion/data/training_set.h"
#include "fusion/input/memory_budget.h"

namespace metafuse::fusion {

/// Where judged base queries come from: INPUT of the command line. Exactly one of runs, letor and
/// letor_ranks.
struct TrainingInput {
  std::vector<std::string> runs;  ///< FILE or NAME=FILE each: TREC runs; the rank features
  std::string qrels;              ///< beside runs; may be left out when there are pairs
  std::vector<std::string> letor;
  std::vector<std::string> letor_ranks;
  std::string pairs;                 ///< beside any: `qid document_below document_above weight` a line
  bool is_absent_unranked = false;   ///< of letor: a feature that a row does not name is unranked, not 0
  bool is_unjudged_ignored = false;  ///< unjudged documents are left out of feedback, else they have grade 0
  bool are_negative_grades_kept = false;  ///< else they count as 0
  int depth = 0;                          ///< of rank features, 0 for all
  std::string derive;                     ///< derived features: kDerivedNames, or some of them
  std::string query_weights = "pairs";    ///< pairs, equal, documents, or a file of `qid weight` lines
  FeedbackOptions feedback;               ///< its query_weights are set from the field above
  unsigned threads = 1;
  std::optional<MemoryLimit> limit;      ///< of letor and letor_ranks: columns lie in a file
  ProgressReport progress = {};          ///< of letor and letor_ranks: bytes read of plain files
  Communicator* communicator = nullptr;  ///< each process reads the part of the queries that is its own
  /// When not empty: features that the input must have, in this order (what a model was trained on).
  std::vector<Feature> expected;
};

/// What a reader has to say beside the set.
struct TrainingInputReport {
  std::size_t judged_queries = 0;       ///< queries with judgments or pairs
  std::size_t unretrieved_queries = 0;  ///< of them, those that no list answers
};

/// Reads judged base queries into a canonical training set.
///
/// errors: usage: none or several inputs, unknown derived features, more documents than the memory limit
///         allows, or a limit of runs or of derived features; those of the readers and of files of columns;
///         bad_data: a pair that names an unknown query or document, or a weight that is not positive;
///         features that differ from the expected ones, by name; with a communicator: a query whose lines
///         stand in several parts
Result<TrainingSet> read_training_set(const TrainingInput& input, TrainingInputReport* report = nullptr);

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

/// The queries that a file of weighted pairs names, ascending.
Result<std::vector<std::string>> queries_of_pairs(const std::string& path);

/// Adds the pairs of a file, `qid document_below document_above weight` a line, to a training set.
///
/// in:     communicator - the processes that hold the queries that this set does not, or null
/// errors: bad_data with file and line: an unknown query or document, a weight that is not positive
Result<void> read_pairs(const std::string& path, Communicator* communicator, TrainingSet& set);

/// Sets how much each query counts: `pairs`, `equal`, `documents` (as many as it has), or a file of `qid
/// weight` lines.
///
/// errors: bad_data: a bad line, a query that stands twice or not at all
Result<void> apply_query_weights(const std::string& choice, TrainingSet& set);

/// The training set of LETOR or aggregation files; see read_training_set(). Blocks of lines are parsed on
/// input.threads workers.
Result<TrainingSet> read_from_letor(const TrainingInput& input, TrainingInputReport& report);

/// The training set of runs and their judgments; see read_training_set().
Result<TrainingSet> read_from_runs(const TrainingInput& input, TrainingInputReport& report);

/// The same for runs and judgments in memory; `input.runs` and `input.qrels` are not looked at.
///
/// errors: usage: unknown derived features; those of read_pairs; runs that differ from the expected ones
Result<TrainingSet> training_set_of(std::vector<evaluation::Run> runs, const evaluation::Judgments& judgments,
                                    const TrainingInput& input, TrainingInputReport& report);

}  // namespace metafuse::fusion
