#pragma once

// Keeps an index up to date. Its table `sources` stores every document as it was indexed, with the file it
// came from. When a document has changed or disappeared, this allows its words to be removed from the
// full-text index, which does not store texts itself.

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/document_files.h"
#include "fetchers/engines/index/local_engine.h"

namespace metafuse::fetchers {

/// The column names as `"title", "text"`, or one `?` per column.
std::string joined_columns(const std::vector<std::string>& columns, bool as_marks = false);

/// The field of a document, or an empty text.
std::string_view field_of(const SourceDocument& document, const std::string& column);

/// The structure of an index: text columns, which are searched, in one or more full-text tables, and numbers.
struct IndexShape {
  std::vector<std::string> columns = {"title", "text"};
  std::vector<std::string> numbers;
  std::vector<WordsTable> tables;
};

/// The full-text tables that an index with these options has, `documents` first.
std::vector<WordsTable> wanted_tables(const IndexOptions& options);

/// The table that holds whole words, not stems or trigrams.
const WordsTable* table_of_words(const std::vector<WordsTable>& tables);

/// The document's title and text, of which an endpoint makes a vector.
std::string text_of(const SourceDocument& document);

/// What the options say about the writing of vectors, without the documents.
VectorWriting vector_writing(const IndexOptions& options);

/// Binds a document's words to `INSERT INTO TABLE(rowid, COLUMNS) VALUES(?, ...)`.
void bind_words(SqliteStatement& statement, std::int64_t id, const SourceDocument& document,
                const std::vector<std::string>& columns);

/// Inserts and removes documents in an index.
class DocumentWriter {
 public:
  /// in:     stores_sources - the index has the table `sources`
  /// errors: those of SQLite
  static Result<DocumentWriter> make(SqliteDatabase& database, const IndexShape& shape, bool stores_sources);

  /// Stores what a result shows, with the words and numbers. The date is the field `date`, else `published`;
  /// the language is `language`, else `lang`.
  Result<void> insert(std::int64_t id, const SourceDocument& document);
  /// Removes a document and the words that it had. Requires an index with sources.
  Result<void> remove(std::int64_t id, const SourceDocument& before);

 private:
  IndexShape shape_;
  std::optional<SqliteStatement> source_;
  SqliteStatement page_, number_;
  std::vector<SqliteStatement> words_, no_words_;
  std::vector<SqliteStatement> no_rows_;  ///< delete the rows of a document elsewhere
};

/// Reads the documents of all files and folders; `take` is not called after an interruption.
///
/// out:    skipped files, as read_documents()
/// errors: those of read_documents(); try_again: interrupted
Result<std::vector<std::string>> read_all(const std::vector<std::string>& paths,
                                          const DocumentFileOptions& files, const IndexOptions& options,
                                          const TakeDocument& take);

/// Brings an index up to date. `path` is a copy, with which the caller then replaces the index.
///
/// out:    nullopt when the index cannot be updated and must be rebuilt
/// errors: as build_local_index
Result<std::optional<IndexReport>> update_index(const std::string& path,
                                                const std::vector<std::string>& documents,
                                                const IndexOptions& options);

}  // namespace metafuse::fetchers
