#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/communicator.h"
#include "fusion/data/training_set.h"

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
  std::string derive;                     ///< derived features: "lists,rrf,best-rank,median-rank,share"
  std::string query_weights = "pairs";    ///< pairs, equal, documents, or a file of `qid weight` lines
  FeedbackOptions feedback;               ///< its query_weights are set from the field above
  unsigned threads = 1;
  Communicator* communicator = nullptr;  ///< each rank reads the part of the queries that is its own
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
/// errors: usage: none or several inputs, unknown derived features; those of the readers; bad_data: a pair
///         that names an unknown query or document, or a weight that is not positive; features that differ
///         from the expected ones, by name; with a communicator: a query whose lines stand in several parts
Result<TrainingSet> read_training_set(const TrainingInput& input, TrainingInputReport* report = nullptr);

}  // namespace metafuse::fusion
