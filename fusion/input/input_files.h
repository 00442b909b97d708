#pragma once

// Reads training input (runs with judgments, LETOR files, aggregation files, weighted pairs) into training
// sets. A set does not depend on the order of the input's lines.

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

/// Where the judged base queries come from (INPUT of the command line). Exactly one of runs, letor and
/// letor_ranks is given.
struct TrainingInput {
  std::vector<std::string> runs;  ///< TREC runs, FILE or NAME=FILE each: the rank features
  std::string qrels;              ///< required with runs, unless there are pairs
  std::vector<std::string> letor;
  std::vector<std::string> letor_ranks;
  std::string pairs;                 ///< with any input: lines `qid document_below document_above weight`
  bool is_absent_unranked = false;   ///< of letor: a feature that a row does not name is unranked, not 0
  bool is_unjudged_ignored = false;  ///< feedback leaves unjudged documents out, else they have grade 0
  bool are_negative_grades_kept = false;  ///< else they count as 0
  int depth = 0;                          ///< of rank features, 0 for all
  std::string derive;                     ///< derived features: kDerivedNames, or some of them
  std::string query_weights = "pairs";    ///< pairs, equal, documents, or a file of `qid weight` lines
  FeedbackOptions feedback;               ///< its query_weights are set from the field above
  unsigned threads = 1;
  std::optional<MemoryLimit> limit;      ///< of letor and letor_ranks: columns then lie in a file
  ProgressReport progress = {};          ///< of letor and letor_ranks: bytes read of unpacked files
  Communicator* communicator = nullptr;  ///< each process reads its own part of the queries
  /// If not empty: the features that the input must have, in this order (those a model was trained on).
  std::vector<Feature> expected;
};

/// What a reader reports in addition to the set.
struct TrainingInputReport {
  std::size_t judged_queries = 0;       ///< queries with judgments or pairs
  std::size_t unretrieved_queries = 0;  ///< those of them that no list answers
};

/// Reads judged base queries into a canonical training set.
///
/// errors: usage: no input or several, unknown derived features, more documents, grades or pairs than the
///         memory limit allows, or a memory limit with runs or derived features; bad_data: a pair with an
///         unknown query or document or a weight that is not positive, features that differ from the expected
///         ones (by name), or, with a communicator, a query whose lines lie in several processes' parts;
///         those of the readers and of column files
Result<TrainingSet> read_training_set(const TrainingInput& input, TrainingInputReport* report = nullptr);

// Shared by the readers of training inputs.

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

/// The grade that counts: negative grades become 0 unless they are kept.
inline double kept_grade(double grade, const TrainingInput& input) {
  return grade < 0.0 && !input.are_negative_grades_kept ? 0.0 : grade;
}

/// The derived features among the expected ones.
std::vector<Feature> derived_of(const std::vector<Feature>& expected);

/// Sets how much each query counts: `pairs`, `equal`, `documents` (its number of documents), or the path of a
/// file with lines `qid weight`.
///
/// errors: bad_data: a malformed line, a query that occurs twice or not at all
Result<void> apply_query_weights(const std::string& choice, TrainingSet& set);

/// Reads LETOR or aggregation files; see read_training_set(). Blocks of lines are parsed on
/// input.threads workers.
Result<TrainingSet> read_from_letor(const TrainingInput& input, TrainingInputReport& report);

/// Makes a training set of runs and judgments in memory; ignores `input.runs` and `input.qrels`.
///
/// errors: as read_training_set() for the fields that count
Result<TrainingSet> training_set_of(std::vector<evaluation::Run> runs, const evaluation::Judgments& judgments,
                                    const TrainingInput& input, TrainingInputReport& report);

}  // namespace metafuse::fusion
