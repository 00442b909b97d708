#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/query.h"
#include "core/result.h"
#include "core/tracking_parameters.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// A base query with its judged documents.
struct JudgedBaseQuery {
  struct Relevant {
    std::string url;  ///< empty if the document has an id of its own
    std::string key;  ///< canonical, or that id
    int grade = 1;
  };
  std::string id;
  BaseQuery slots;
  std::vector<Relevant> relevant;
};

/// Reads one {"id","slots":{...},"relevant":[{"url" or "id","grade"}]}.
///
/// in:     place - "FILE:LINE", for errors
/// errors: those of read_judged_queries
Result<JudgedBaseQuery> read_judged_query(const Json& json, const std::string& place,
                                          const TrackingParameters& tracking);

/// Reads JSON lines {"id","slots":{...},"relevant":[{"url" or "id","grade"}]}.
///
/// errors: bad_data with "FILE:LINE: ...": not such an object, an id that occurs twice or contains blanks, a
///         slot that is no text, a grade that is no whole number, an invalid URL
Result<std::vector<JudgedBaseQuery>> read_judged_queries(
    const std::string& path, const TrackingParameters& tracking = default_tracking_parameters());

struct RecordOptions {
  std::string domain;
  std::string output;  ///< folder
  double query_seconds = 30;
  ProgressReport progress;
};

struct RecordReport {
  std::size_t queries = 0;
  std::size_t resumed = 0;       ///< queries that an earlier run had recorded
  std::size_t failed_lists = 0;  ///< lists that failed or lack pages; the next run asks their queries again
  std::size_t unanswerable = 0;  ///< judged queries whose relevant documents are in no list
  std::vector<std::string> failures;  ///< the first failure of each engine, as text for people
};

/// Sends every base query's expanded queries, one base query at a time, and writes runs/TEMPLATE@ENGINE.run,
/// qrels and urls.tsv into the output folder. After each query, its lists are appended to lists.jsonl: a
/// later call continues from there and asks failed queries again.
///
/// errors: usage: a slot that the domain does not have; bad_data: the output folder belongs to other
///         templates; those of write_file
Result<RecordReport> record_lists(const Snapshot& snapshot, const std::vector<JudgedBaseQuery>& queries,
                                  const RecordOptions& options, const Clock& clock);

}  // namespace metafuse::service
