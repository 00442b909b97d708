#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "fusion/data/communicator.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion::rankboost {

/// The crucial pairs of one query. Those that follow from grades are never enumerated: every pair of
/// documents from two grade classes a < b is crucial, with weight `weights[table + a * classes + b]`.
struct QueryFeedback {
  std::size_t begin = 0;  ///< rows [begin, end) of the matrix
  std::size_t end = 0;
  std::uint32_t classes = 0;  ///< distinct grades among the documents in feedback
  std::size_t table = 0;
  std::size_t first_class = 0;  ///< index of class 0 in arrays with one value per class of every query
  std::size_t pairs_begin = 0;  ///< general feedback: a range of Feedback::pairs
  std::size_t pairs_end = 0;
};

/// The numbers of documents in the two classes of the only query.
struct SingleBipartite {
  std::int64_t below = 0;
  std::int64_t above = 0;
};

/// The initial distribution D (Freund et al. 2003, sec. 2). All weights sum to 1.
struct Feedback {
  static constexpr std::uint16_t kNone = 0xffff;  ///< the class of a document outside the feedback
  /// Of all queries: 1 GiB. So a query has fewer classes than kNone.
  static constexpr std::size_t kMostWeights = std::size_t{1} << 27;

  std::vector<QueryFeedback> queries;  ///< those with a crucial pair
  std::vector<std::uint16_t> classes;  ///< per row
  std::vector<std::size_t> members;    ///< number of documents in each class of each query
  std::vector<double> weights;
  std::vector<WeightedPair> pairs;
  std::vector<std::uint8_t> is_used;  ///< per row: 1 for the documents of `queries`

  // Totals over all MPI processes.
  std::int64_t query_count = 0;
  std::int64_t crucial_pairs = 0;  ///< m
  std::int64_t used_documents = 0;
  std::int64_t left_out = 0;             ///< queries without a crucial pair
  std::int64_t contradictory_pairs = 0;  ///< general pairs that other feedback orders the other way round
  /// If there is one query with two classes and no general pairs, so that theorem 3 applies.
  std::optional<SingleBipartite> single_bipartite;

  /// The numbers of documents in the classes of a query.
  std::span<const std::size_t> members_of(const QueryFeedback& query) const {
    return std::span(members).subspan(query.first_class, query.classes);
  }

  /// The number of a query's crucial pairs.
  std::size_t pairs_of(const QueryFeedback& query) const {
    std::size_t count = query.pairs_end - query.pairs_begin;
    std::size_t below = 0;
    for (const std::size_t own : members_of(query)) {
      count += below * own;
      below += own;
    }
    return count;
  }
};

/// in:     communicator - of the MPI processes that hold the other queries, or null
/// errors: bad_data when no query has a crucial pair, or the squares of the queries' numbers of distinct
///         grades add up to more than kMostWeights
/// cost:   O(documents log documents per query + squared distinct grades per query + general pairs); memory:
///         8 bytes per pair of distinct grades of a query
Result<Feedback> make_feedback(const TrainingSet& set, Communicator* communicator = nullptr);

}  // namespace metafuse::fusion::rankboost
