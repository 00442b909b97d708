#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

// Which base query to judge next: the one about whose order models that are all as good disagree most.

namespace metafuse::fusion {

struct QueryChoiceOptions {
  std::size_t count = 20;      ///< queries to choose
  std::size_t documents = 10;  ///< of each, those whose place is least settled
  std::size_t members = 10;    ///< of the committee
  std::size_t rounds = 30;     ///< of each member
  std::uint64_t seed = 1;
  unsigned threads = 1;
};

/// A base query worth a judgment.
struct QueryChoice {
  std::size_t query = 0;          ///< in pool.queries
  double disagreement = 0;        ///< see choose_queries()
  std::vector<std::size_t> rows;  ///< of the pool: its least settled documents, the least settled first
};

/// Chooses queries of a pool by a committee: RankBoost on bootstrap samples of the judged queries (query by
/// bagging), or, while fewer than two queries are judged, the lists themselves.
///
/// The disagreement on a query is how far the members' discounts 1/log2(1 + rank) of its documents lie from
/// their mean, averaged over the members and divided by the discounts of an ideal order of the first ten: the
/// share of an NDCG@10 that hangs on whom one believes. Queries are taken greedily by disagreement times the
/// share of their documents that no query chosen before has, so that they spread over topics.
///
/// in:     judged - may be empty of queries; pool - features as judged has; its grades are not looked at
/// out:    at most options.count, in the order in which to judge them
/// errors: those of training
/// cost:   members x (training on the judged + scoring of the pool)
/// source: Abe, Mamitsuka 1998 (query by bagging); Seung, Opper, Sompolinsky 1992
Result<std::vector<QueryChoice>> choose_queries(const TrainingSet& judged, const TrainingSet& pool,
                                                const QueryChoiceOptions& options);

}  // namespace metafuse::fusion
