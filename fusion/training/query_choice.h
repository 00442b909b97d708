#pragma once

// Chooses which base queries to judge next: those on whose order a committee of equally good models
// disagrees most.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

struct QueryChoiceOptions {
  std::size_t count = 20;      ///< queries to choose
  std::size_t documents = 10;  ///< per query, those whose place is least settled
  std::size_t members = 10;    ///< models in the committee
  std::size_t rounds = 30;     ///< RankBoost rounds per member
  std::uint64_t seed = 1;
  unsigned threads = 1;
};

/// A base query that is worth judging.
struct QueryChoice {
  std::size_t query = 0;          ///< index into pool.queries
  double disagreement = 0;        ///< see choose_queries()
  std::vector<std::size_t> rows;  ///< rows of the pool: the query's least settled documents first
};

/// Chooses queries of a pool by a committee. Its members are RankBoost models trained on bootstrap samples of
/// the judged queries (query by bagging) or, while fewer than two queries are judged, the lists themselves.
///
/// A member gives the document at `rank` the discount 1/log2(1 + rank), or 0 below rank 10. The disagreement
/// on a query is the distance of these discounts from their mean over the members, averaged over the members,
/// summed over the documents and divided by the sum of the ten best discounts. It is the part of an NDCG@10
/// that depends on which member one believes. Queries are chosen greedily by disagreement times the share of
/// their documents that no query chosen before contains, so that they spread over topics.
///
/// in:     judged - may have no queries; pool - with the features of `judged`; its grades are ignored
/// out:    at most options.count queries, in the order in which to judge them
/// errors: those of training
/// cost:   members x (training on the judged queries + scoring the pool)
/// source: Abe, Mamitsuka 1998 (query by bagging); Seung, Opper, Sompolinsky 1992
Result<std::vector<QueryChoice>> choose_queries(const TrainingSet& judged, const TrainingSet& pool,
                                                const QueryChoiceOptions& options);

}  // namespace metafuse::fusion
