#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/text_list.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// The documents of one base query: rows [begin, end) of the matrix.
struct QueryRange {
  std::string id;
  std::size_t begin = 0;
  std::size_t end = 0;
  double weight = 1.0;  ///< its share in the feedback relative to other queries (--query-weights)
};

/// One item of general feedback: `above` belongs above `below` (both are rows, of one query).
struct WeightedPair {
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  double weight = 1.0;
};

/// How grades become crucial pairs (paper 000, sec. 2).
struct FeedbackOptions {
  enum class QueryWeights { pairs, equal, given };
  enum class GradeWeights { one, difference, gain };

  bool is_bipartite = false;     ///< only "at least relevance_level" against the rest
  double relevance_level = 1.0;  ///< the lowest relevant grade
  QueryWeights query_weights = QueryWeights::pairs;
  GradeWeights grade_weights = GradeWeights::one;
};

/// Judged base queries ready for a learner. Queries ascend by id and the documents of a query by document id
/// (LETOR files without ids: by their features), so that nothing depends on the order of the input.
struct TrainingSet {
  FeatureMatrix matrix;
  std::vector<QueryRange> queries;
  TextList documents;                     ///< id a row; may be empty strings
  std::vector<double> grades;             ///< a row; integral unless the source has real grades
  std::vector<std::uint8_t> in_feedback;  ///< a row; 0 where an unjudged document is left out of feedback
  std::vector<WeightedPair> pairs;        ///< general feedback, beside or instead of the grades
  FeedbackOptions feedback;
};

}  // namespace metafuse::fusion
