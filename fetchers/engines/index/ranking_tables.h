#pragma once

// Tables that rank an index's documents by words without asking FTS5 about every document that contains
// a common word. For each full-text table, `ranking` holds its numbers of documents and words,
// `ranking_lengths` the number of words of each document, and `ranking_words` the posting lists
// (posting_list.h) of its common words. The occurrences of rarer words are read from the full-text
// index itself.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/index_update.h"
#include "fetchers/engines/index/posting_list.h"

namespace metafuse::fetchers {

/// Rewrites all ranking tables of an index, inside the caller's transaction.
///
/// in:     options - uses common_word and is_interrupted
/// errors: those of SQLite; try_again: interrupted
/// cost:   one pass over the terms of the full-text index and one over the occurrences of common words;
///         memory for the documents of one word and four bytes per document
Result<void> write_ranking(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options);

/// The documents that an update has touched.
struct ChangedDocuments {
  std::vector<std::int64_t> renewed, removed;                   ///< ids
  std::function<Result<SourceDocument>(std::int64_t id)> read;  ///< reads a renewed document
};

/// Brings the ranking tables up to date with full-text tables that are. Until a fifth of the documents has
/// changed, the same words have lists as before. After that, and if there are no ranking tables yet, all
/// are rewritten.
///
/// errors: those of write_ranking(), and bad_data: damaged
/// cost:   decodes and encodes every list; one pass over the words of renewed documents
Result<void> update_ranking(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options,
                            const ChangedDocuments& changed);

/// The lengths of the documents in a full-text table.
struct DocumentLengths {
  std::string version;  ///< differs whenever the lengths differ
  std::uint64_t documents = 0;
  std::uint64_t words = 0;             ///< of all documents together
  std::vector<std::uint32_t> lengths;  ///< number of words per document, by id
};

/// Reads the posting lists of one full-text table. Not thread-safe.
class RankingReader {
 public:
  /// in:     table - a full-text table of the index
  /// out:    nullopt for an index without ranking tables, which earlier versions wrote
  /// errors: those of SQLite
  static Result<std::optional<RankingReader>> open(SqliteDatabase& database, const std::string& table,
                                                   const std::vector<std::string>& columns);

  /// The version of the lengths that belong to the lists.
  const std::string& version() const { return version_; }
  /// errors: bad_data: damaged
  Result<DocumentLengths> read_lengths(SqliteDatabase& database) const;

  /// in:     word - as produced by the tokenizer
  /// errors: bad_data: damaged; those of SQLite
  Result<std::shared_ptr<const PostingList>> list_of(std::string_view word, const DocumentLengths& lengths);

 private:
  std::string table_, version_;
  std::vector<std::string> columns_;
  SqliteStatement common_, places_;
};

}  // namespace metafuse::fetchers
