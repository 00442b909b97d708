#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "service/learning/judging.h"
#include "service/store/store.h"

// Imports judgments from elsewhere (TREC runs and qrels, a recording, another store's export) into a store,
// or uses them for one training set without storing them; and writes a store's judgments as files.

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
/// in:     at - when they were judged
/// errors: those of read_runs and read_qrels; bad_data: no query is both judged and in a run
Result<std::vector<OfflineQuery>> read_offline_queries(const OfflineFiles& files,
                                                       const StoreIdentity& identity, UnixTime at);

struct ImportReport {
  std::size_t searches = 0;   ///< new ones
  std::size_t judgments = 0;  ///< new ones
  /// Judged documents that are in none of their query's lists; nothing if nobody looked.
  std::optional<std::size_t> unlisted{};
  std::size_t older = 0;               ///< left out, because the store has a newer judgment
  std::size_t known = 0;               ///< judgments that the store has
  std::size_t foreign = 0;             ///< lines of other domains, left out
  std::vector<std::string> conflicts;  ///< documents with two grades: which one was kept

  std::string text() const;
};

/// Adds offline queries to a store under one judge's name, in one transaction; if this judge judged a
/// document twice, the newer judgment wins.
Result<ImportReport> import_offline_queries(Store& store, const std::vector<OfflineQuery>& queries,
                                            const std::string& judge, UnixTime at);

/// Adds searches, judgments and template versions of an export, in one transaction. Queries get the digests
/// that this store would have given them. Template versions that are not later than the domain's latest are
/// left out.
///
/// in: identity - with an empty plain slot, each domain has the one that its server stored
Result<ImportReport> import_lines(Store& store, ExportedLines exported, const StoreIdentity& identity);

/// Whether a base query is only what a plain query fills.
bool is_plain_query(const BaseQuery& query, std::string_view plain_slot);

/// A base query as one word: the percent-encoded value of the plain slot, "slot.NAME=value&..." if there are
/// other slots, or "digest:..." if the words are not known.
///
/// in: plain_slot - of the domain, see canonical_query()
std::string query_word(const SearchedQuery& query, std::string_view plain_slot);

/// Judgments of a base query, read from a file.
struct ImportedQuery {
  BaseQuery slots;                    ///< empty if only the digest is known
  std::string digest;                 ///< empty: computed from the slots
  std::map<std::string, int> grades;  ///< by document; if there are none, the query is added to the queue
};

/// A document's key or id as one word: itself, or, if it has blanks or would be read as another document's
/// URL, percent-encoded behind "document:".
std::string document_word(std::string_view document);

/// Reads qrels lines whose topics are texts of query_word(), and whose documents are texts of document_word()
/// or URLs.
///
/// in:     tracking - for the keys of URLs; nullptr if documents are ids of their own, and no URLs
/// errors: bad_data naming the line
Result<std::vector<ImportedQuery>> read_qrels_text(std::string_view text, std::string_view plain_slot,
                                                   const TrackingParameters* tracking);

struct ImportedJudgments {
  std::size_t queries = 0;
  std::size_t judgments = 0;
  /// Queries without a stored search that has lists; models learn from them once there is one.
  std::size_t without_search = 0;
};

/// Stores judgments under a judge's name, in one transaction. Queries without judgments are added to the
/// queue for judges.
Result<ImportedJudgments> import_judgments(Store& store, const JudgmentSource& source,
                                           const std::vector<ImportedQuery>& queries,
                                           const StoreIdentity& identity);

enum class JudgmentFormat { qrels, lines };

/// A domain's judgments as qrels, or as the JSON lines that `metafuse record` and the import read.
///
/// in: judge - whose grades; empty: the lower median of people's grades
Result<std::string> judgments_text(Store& store, std::string_view domain, std::string_view plain_slot,
                                   JudgmentFormat format, std::string_view judge = {});

}  // namespace metafuse::service
