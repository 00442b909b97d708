#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/progress.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/recording/recording.h"

namespace metafuse::service {

struct RecordOptions {
  std::string domain;
  std::string output;  ///< folder
  double query_seconds = 30;
  ProgressReport progress;
};

struct RecordReport {
  std::size_t queries = 0;
  std::size_t resumed = 0;            ///< that an earlier run had recorded
  std::size_t failed_lists = 0;       ///< of queries that the next run asks again
  std::size_t unanswerable = 0;       ///< judged queries whose answers stand in no list
  std::vector<std::string> failures;  ///< the first of each engine, for people
};

/// Sends every base query's expanded queries, one base query at a time, and writes runs/TEMPLATE@ENGINE.run,
/// qrels and urls.tsv into the output folder. What is recorded stands in lists.jsonl after each query: a
/// later call goes on from there, and asks again what failed.
///
/// errors: usage: a slot that the domain does not have; bad_data: an output folder of other templates; those
/// of
///         write_file
Result<RecordReport> record_lists(const Snapshot& snapshot, const std::vector<JudgedBaseQuery>& queries,
                                  const RecordOptions& options, const Clock& clock);

}  // namespace metafuse::service
