#pragma once

// What ranks an index's documents by words without asking FTS5 about every document that has a common one.
// For each full-text table, `ranking` says how many documents and words it has, `ranking_lengths` how many
// words each document has, and `ranking_words` holds the lists (posting_list.h) of its common words. Rarer
// words are read from the full-text index itself.

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
#include "fetchers/embedded/index_update.h"
#include "fetchers/embedded/posting_list.h"

namespace metafuse::fetchers {

/// Writes all tables of an index anew, inside the caller's transaction.
///
/// in:     options - common_word, is_interrupted
/// errors: those of SQLite; try_again: interrupted
/// cost:   one pass over the terms of the full-text index and one over the places of common words; memory for
///         the documents of one word and four bytes per document
Result<void> write_ranking(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options);

/// What an update did to documents.
struct ChangedDocuments {
  std::vector<std::int64_t> renewed, removed;                   ///< ids
  std::function<Result<SourceDocument>(std::int64_t id)> read;  ///< a renewed one
};

/// Brings the tables up to date with an index whose full-text tables are. Words keep or lack their lists
/// until a fifth of the documents has changed; then, and where there are no tables yet, all is written anew.
///
/// errors: those of write_ranking(), and bad_data: damaged
/// cost:   decodes and encodes every list; one pass over the words of what is renewed
Result<void> update_ranking(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options,
                            const ChangedDocuments& changed);

/// How long the documents of a full-text table are.
struct DocumentLengths {
  std::string version;  ///< another one for other lengths
  std::uint64_t documents = 0;
  std::uint64_t words = 0;             ///< of all documents together
  std::vector<std::uint32_t> lengths;  ///< words per document, by id
};

/// The lists of one full-text table, for one thread at a time.
class RankingReader {
 public:
  /// in:     table - a full-text table of the index
  /// out:    nothing for an index that has no such tables, as those of earlier versions
  /// errors: those of SQLite
  static Result<std::optional<RankingReader>> open(SqliteDatabase& database, const std::string& table,
                                                   const std::vector<std::string>& columns);

  /// Of the lengths that belong to the lists.
  const std::string& version() const { return version_; }
  /// errors: bad_data: damaged
  Result<DocumentLengths> read_lengths(SqliteDatabase& database) const;

  /// in:     word - as the tokenizer makes it
  /// errors: bad_data: damaged; those of SQLite
  Result<std::shared_ptr<const PostingList>> list_of(std::string_view word, const DocumentLengths& lengths);

 private:
  std::string table_, version_;
  std::vector<std::string> columns_;
  SqliteStatement common_, places_;
};

}  // namespace metafuse::fetchers
