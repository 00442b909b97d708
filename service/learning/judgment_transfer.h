#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "service/store/store.h"

// Imports judgments from elsewhere (TREC runs and qrels, a recording, another store's export) into a store,
// or uses them for one training set without storing them.

namespace metafuse::service {

/// A base query that was judged outside of the store, with its lists.
struct OfflineQuery {
  StoredSearch search;
  std::map<std::string, int> grades;  ///< by document
};

struct OfflineFiles {
  std::vector<std::string> runs;  ///< one list per file, named by the file's tag or as NAME=FILE
  std::string qrels;
  std::string domain;
  int depth = 0;  ///< of each list; 0: whole lists
  /// The base queries by their ids. For an id without an entry, the id itself is the query's text.
  std::map<std::string, BaseQuery> queries{};
};

/// Reads runs and qrels. Judged queries that are in no run are left out.
///
/// in:     secret, plain_slot - see query_digest(); at - when they were judged
/// errors: those of read_runs and read_qrels; bad_data: no query is both judged and in a run
Result<std::vector<OfflineQuery>> read_offline_queries(const OfflineFiles& files, std::string_view secret,
                                                       std::string_view plain_slot, UnixTime at);

struct ImportReport {
  std::size_t searches = 0;
  std::size_t judgments = 0;
  std::size_t unlisted = 0;            ///< judged documents that are in none of their query's lists
  std::size_t older = 0;               ///< left out, because the store has a newer judgment
  std::size_t foreign = 0;             ///< lines of other domains, left out
  std::vector<std::string> conflicts;  ///< documents with two grades: which one was kept

  std::string text() const;
};

/// Adds offline queries to a store under one judge's name, in one transaction; if this judge judged a
/// document twice, the newer judgment wins.
Result<ImportReport> import_offline_queries(Store& store, const std::vector<OfflineQuery>& queries,
                                            const std::string& judge, UnixTime at);

/// Adds one domain's searches, judgments and template versions from a file that export_lines() wrote, in one
/// transaction. Clicks are not imported, because an export does not say whose they were. Queries get the
/// digests that this store would have given them.
///
/// in:     plain_slot - see query_digest()
/// errors: bad_data with file and line, or when the file has only other domains; then nothing is imported
/// cost:   memory for all imported data
Result<ImportReport> import_lines(Store& store, const std::string& path, const std::string& domain,
                                  std::string_view plain_slot = {});

}  // namespace metafuse::service
