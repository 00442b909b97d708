#pragma once

// Keeps an index up to date. Its table `sources` stores every document as it was indexed, with the file it
// came from. When a document has changed or disappeared, this allows its words to be removed from the
// full-text index, which does not store texts itself.

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/embedded/document_files.h"
#include "fetchers/embedded/local_engine.h"

namespace metafuse::fetchers {

/// The column names as `"title", "text"`, or one `?` per column.
std::string joined_columns(const std::vector<std::string>& columns, bool as_marks = false);

/// Binds a document to kInsertPage, which stores what a result shows. The date is the field `date`, else
/// `published`; the language is `language`, else `lang`.
void bind_page(SqliteStatement& page, std::int64_t id, const SourceDocument& document);

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

/// Inserts and removes the words of documents in an index's full-text tables.
class WordsWriter {
 public:
  /// errors: those of SQLite
  static Result<WordsWriter> make(SqliteDatabase& database, const IndexShape& shape);
  Result<void> insert(std::int64_t id, const SourceDocument& document);
  /// Removes the words that the document had.
  Result<void> remove(std::int64_t id, const SourceDocument& before);

 private:
  Result<void> run(std::vector<SqliteStatement>& statements, std::int64_t id, const SourceDocument& document);

  std::vector<std::string> columns_;
  std::vector<SqliteStatement> words_, no_words_;
};

/// Stores the numbers of documents in an index, one row for each document that has any.
class NumberWriter {
 public:
  /// errors: those of SQLite
  static Result<NumberWriter> make(SqliteDatabase& database, const std::vector<std::string>& numbers);
  Result<void> insert(std::int64_t id, const SourceDocument& document);
  Result<void> remove(std::int64_t id);

 private:
  std::vector<std::string> numbers_;
  SqliteStatement row_, no_row_;
};

/// Inserts and removes documents in an index, together with their sources.
class SourceWriter {
 public:
  /// errors: those of SQLite
  static Result<SourceWriter> make(SqliteDatabase& database, const IndexShape& shape);
  Result<void> insert(std::int64_t id, const SourceDocument& document);
  /// Removes a document and the words that it had.
  Result<void> remove(std::int64_t id, const SourceDocument& before);

 private:
  SqliteStatement source_, page_, no_source_, no_page_;
  WordsWriter words_;
  NumberWriter numbers_;
};

/// The SQL that creates the table `sources`.
extern const char* const kCreateSources;

/// Brings an index up to date. `path` is a copy, with which the caller then replaces the index.
///
/// out:    nullopt when the index cannot be updated and must be rebuilt
/// errors: as build_local_index
Result<std::optional<IndexReport>> update_index(const std::string& path,
                                                const std::vector<std::string>& documents,
                                                const IndexOptions& options);

}  // namespace metafuse::fetchers
