#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/progress.h"
#include "core/query.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/judges/judge_prompt.h"
#include "service/judges/judge_run.h"
#include "service/store/store.h"

// What a language model is to judge: the results that the lists of a domain give to queries, and where its
// grades go.

namespace metafuse::service {

struct JudgePoolOptions {
  std::string domain;
  std::string judge;  ///< its name in the store
  int depth = 10;     ///< how far down each list its results are judged
  double query_seconds = 30;
  JudgeTextLimits limits;
  StoreIdentity identity;  ///< by which the store knows queries and documents
  UnixTime now = 0;
  IsInterrupted is_interrupted;
  ProgressReport progress;  ///< in queries
};

/// A query whose lists were asked.
struct PooledQuery {
  StoredSearch search;
  JudgeTask task;  ///< its documents are those that the search shows, in this order
};

struct JudgePool {
  std::vector<PooledQuery> queries;  ///< without those that found nothing
  std::size_t empty = 0;             ///< queries that found nothing
  std::size_t unasked = 0;           ///< queries that the domain cannot be asked
  std::size_t failed_lists = 0;
  std::vector<std::string> failures;  ///< the first failure of each engine and query, as text for people
};

/// Searches every query and takes the first results of each list, in an order that tells nothing of ranks. A
/// query that the domain cannot be asked, such as one of conditions only, is told and left out.
///
/// errors: usage: no such domain; unavailable: every list of every query failed; bad_data: no query could be
///         asked, or none found anything; try_again: interrupted
Result<JudgePool> pool_results(const Snapshot& snapshot, const std::vector<BaseQuery>& queries,
                               const JudgePoolOptions& options, const Clock& clock);

/// What a store says people asked.
struct AskedQueries {
  std::vector<BaseQuery> queries;  ///< the most asked first
  std::size_t wordless = 0;        ///< further ones whose words are not known (hashed, or past the retention)
};

/// The base queries of a domain that people asked most, of those whose words are known and that the domain
/// can still be asked.
///
/// errors: those of the store; usage: no such domain; bad_data: there are none
Result<AskedQueries> most_asked(Store& store, const Snapshot& snapshot, const std::string& domain,
                                std::size_t count, const Clock& clock);

/// The grades of a run as they are stored: searches that nobody was shown, with judgments of their results.
StoreBatch judgments_of(const JudgePool& pool, const JudgeRun& run, const JudgePoolOptions& options);

/// The same as qrels, whose topics and documents are texts of query_word() and document_word().
std::string qrels_of(const JudgePool& pool, const JudgeRun& run, std::string_view plain_slot);

}  // namespace metafuse::service
