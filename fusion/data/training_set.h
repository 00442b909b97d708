#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/text_list.h"
#include "fusion/data/communicator.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// The documents of one base query: rows [begin, end) of the matrix.
struct QueryRange {
  std::string id;
  std::size_t begin = 0;
  std::size_t end = 0;
  double weight = 1.0;  ///< relative to other queries (--query-weights)
  /// Rank features whose lists were not asked for: that they rank nothing says nothing about them.
  std::vector<std::uint32_t> unasked = {};
  bool is_judged = true;  ///< false: all that is known of its documents are pairs
  /// The grades of its judged documents that no list holds. No ranking has them, but measures count them.
  std::vector<double> unlisted = {};
};

/// One pair of general feedback: row `above` belongs above row `below`; both are documents of the same query.
struct WeightedPair {
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  double weight = 1.0;
};

/// How grades become crucial pairs (Freund et al. 2003, sec. 2).
struct FeedbackOptions {
  enum class QueryWeights { pairs, equal };
  enum class GradeWeights { one, difference, gain };

  bool is_bipartite = false;     ///< only pairs of a grade >= relevance_level and one below it
  double relevance_level = 1.0;  ///< the lowest relevant grade
  /// Whether a query counts as much as its crucial pairs together, or all queries the same; either times
  /// QueryRange::weight.
  QueryWeights query_weights = QueryWeights::pairs;
  GradeWeights grade_weights = GradeWeights::one;
};

/// Judged base queries ready for a learner. Queries are sorted by id and the documents of a query by document
/// id (LETOR files without ids: by features), so that nothing depends on the order of the input.
struct TrainingSet {
  FeatureMatrix matrix;
  std::vector<QueryRange> queries;
  TextList documents;                     ///< one id per row; may be empty strings
  std::vector<double> grades;             ///< one per row; integral unless the source has real grades
  std::vector<std::uint8_t> in_feedback;  ///< one per row; 0 if an unjudged document is left out of feedback
  /// General feedback, in addition to or instead of grades; ascending by the row below.
  std::vector<WeightedPair> pairs;
  FeedbackOptions feedback;
};

/// The grades of a query's documents, and after them those of the judged documents that no list holds.
std::vector<double> judged_grades(const TrainingSet& set, const QueryRange& query);

/// The training set of some of the queries, equal to what reading only those queries would give: values that
/// no longer occur are no candidate thresholds.
///
/// in:     queries - positions in set.queries, ascending; a position that occurs twice gives two queries,
///         each with its documents and pairs
/// cost:   O(documents kept x features + pairs kept)
TrainingSet select_queries(const TrainingSet& set, std::span<const std::size_t> queries);

/// Digests of the parts of a training set, by name ("features", "queries", "documents", "grades", "values",
/// "feedback"). Equal sets have equal digests; different sets differ except by chance (64 bits, not secure
/// against an adversary).
/// cost:   O(documents x features)
std::vector<std::pair<std::string, std::string>> fingerprint(const TrainingSet& set,
                                                             Communicator* communicator = nullptr);

}  // namespace metafuse::fusion
