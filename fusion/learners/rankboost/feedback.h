#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "fusion/data/communicator.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion::rankboost {

/// The crucial pairs of one query, never enumerated where they follow from grades: every pair of documents of
/// two of its grade classes a < b is crucial with the weight `weights[table + a * classes + b]`.
struct QueryFeedback {
  std::size_t begin = 0;  ///< rows [begin, end) of the matrix
  std::size_t end = 0;
  std::uint32_t classes = 0;  ///< distinct grades among the documents in feedback
  std::size_t table = 0;
  std::size_t first_class = 0;  ///< place of class 0 in arrays that hold a value per class of every query
  std::size_t pairs_begin = 0;  ///< general feedback: a range of Feedback::pairs
  std::size_t pairs_end = 0;
};

/// The initial distribution D (Freund et al. 2003, sec. 2): all weights sum to 1.
struct Feedback {
  static constexpr std::uint16_t kNone = 0xffff;  ///< the class of a document that is in no feedback

  std::vector<QueryFeedback> queries;  ///< those with a crucial pair
  std::vector<std::uint16_t> classes;  ///< per row
  std::vector<double> weights;
  std::vector<WeightedPair> pairs;
  std::vector<std::uint8_t> is_used;  ///< per row: 1 for the documents of `queries`
  std::size_t class_count = 0;        ///< of all queries together

  // Over all MPI processes together.
  std::uint64_t query_count = 0;
  std::uint64_t crucial_pairs = 0;  ///< m
  std::uint64_t used_documents = 0;
  std::uint64_t left_out = 0;             ///< queries without a crucial pair
  std::uint64_t contradictory_pairs = 0;  ///< general pairs that other feedback turns around
  bool is_single_bipartite = false;       ///< one query, two classes, nothing else: theorem 3 applies
  std::uint64_t below = 0;                ///< documents of the lower class then
  std::uint64_t above = 0;                ///< documents of the upper class then
};

/// in:     communicator - to the MPI processes that hold the other queries, or null
/// errors: bad_data when no query has a crucial pair, or a query has more than 65,534 distinct grades
/// cost:   O(documents log documents of a query + pairs)
Result<Feedback> make_feedback(const TrainingSet& set, Communicator* communicator = nullptr);

}  // namespace metafuse::fusion::rankboost
