#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "service/store/store.h"

// Judgments from elsewhere: TREC runs and qrels, a recording, or the lines of another store's export become
// part of a store, or of one training set beside it.

namespace metafuse::service {

/// A base query that was judged outside of the store, with its lists.
struct OfflineQuery {
  StoredSearch search;
  std::map<std::string, int> grades;  ///< by document
};

struct OfflineFiles {
  std::vector<std::string> runs;  ///< one list per file, by the tag or NAME=FILE
  std::string qrels;
  std::string domain;
  int depth = 0;  ///< of each list; 0: whole lists
  /// What the queries' ids stand for. Without an entry the id itself is the query's text.
  std::map<std::string, BaseQuery> queries{};
};

/// Reads runs and qrels. Judged queries that stand in no run are left out.
///
/// in:     secret, plain_slot - of query_digest(); at - when they were judged
/// errors: those of read_runs and read_qrels; bad_data: no query is both judged and in a run
Result<std::vector<OfflineQuery>> read_offline_queries(const OfflineFiles& files, std::string_view secret,
                                                       std::string_view plain_slot, UnixTime at);

struct ImportReport {
  std::size_t searches = 0;
  std::size_t judgments = 0;
  std::size_t unlisted = 0;            ///< judged documents that none of their query's lists holds
  std::size_t older = 0;               ///< left out: the store has a newer judgment
  std::size_t foreign = 0;             ///< lines of other domains, left out
  std::vector<std::string> conflicts;  ///< a document whose grade changed, or stayed because it is newer

  std::string text() const;
};

/// Adds offline queries to a store under one judge's name, in one transaction; of two judgments of this judge
/// the newer wins.
Result<ImportReport> import_offline_queries(Store& store, const std::vector<OfflineQuery>& queries,
                                            const std::string& judge, UnixTime at);

/// Adds the searches, judgments and template versions of a file that export_lines() wrote, those of one
/// domain, in one transaction. Clicks stay behind: whose they were is no part of an export. Queries get the
/// digests that this store would have given them.
///
/// in:     plain_slot - of query_digest()
/// errors: bad_data with file and line, or when the file has other domains only; nothing is imported then
/// cost:   memory for what is imported
Result<ImportReport> import_lines(Store& store, const std::string& path, const std::string& domain,
                                  std::string_view plain_slot = {});

}  // namespace metafuse::service
