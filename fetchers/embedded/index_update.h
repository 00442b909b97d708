#pragma once

// An index that is kept up to date. Its table `sources` holds every document as it was indexed, with the file
// it came from, so that the words of one that changed or went can be taken out of the full-text index, which
// keeps no texts itself.

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/embedded/document_files.h"
#include "fetchers/embedded/local_engine.h"

namespace metafuse::fetchers {

/// `"title", "text"` of columns, or a `?` for each.
std::string joined_columns(const std::vector<std::string>& columns, bool as_marks = false);

/// Binds a document to kInsertPage: what a result shows of it. The date is the field `date`, else
/// `published`, the language `language`, else `lang`.
void bind_page(SqliteStatement& page, std::int64_t id, const SourceDocument& document);

/// A field of a document, or nothing.
std::string_view field_of(const SourceDocument& document, const std::string& column);

/// What an index holds of its documents: texts, each a column that is searched, in one full-text table or
/// several, and numbers.
struct IndexShape {
  std::vector<std::string> columns = {"title", "text"};
  std::vector<std::string> numbers;
  std::vector<WordsTable> tables;
};

/// The full-text tables that an index of these options has, `documents` first.
std::vector<WordsTable> wanted_tables(const IndexOptions& options);

/// The table that holds whole words, not stems or parts.
const WordsTable* table_of_words(const std::vector<WordsTable>& tables);

/// Writes the words of documents into the full-text tables of an index.
class WordsWriter {
 public:
  /// errors: those of SQLite
  static Result<WordsWriter> make(SqliteDatabase& database, const IndexShape& shape);
  Result<void> insert(std::int64_t id, const SourceDocument& document);
  /// Takes the words out that a document had.
  Result<void> remove(std::int64_t id, const SourceDocument& before);

 private:
  Result<void> run(std::vector<SqliteStatement>& statements, std::int64_t id, const SourceDocument& document);

  std::vector<std::string> columns_;
  std::vector<SqliteStatement> words_, no_words_;
};

/// Writes the numbers of documents into an index, a row for each document that has one.
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

/// Writes documents and their sources into an index, one by one.
class SourceWriter {
 public:
  /// errors: those of SQLite
  static Result<SourceWriter> make(SqliteDatabase& database, const IndexShape& shape);
  Result<void> insert(std::int64_t id, const SourceDocument& document);
  /// Takes a document out, with the words that it had.
  Result<void> remove(std::int64_t id, const SourceDocument& before);

 private:
  SqliteStatement source_, page_, no_source_, no_page_;
  WordsWriter words_;
  NumberWriter numbers_;
};

/// The SQL that adds `sources` to an index.
extern const char* const kCreateSources;

/// Brings an index up to date; `path` is its copy, which the caller puts in its place.
///
/// out:    nothing where the index cannot be changed and is to be built anew
/// errors: as build_local_index
Result<std::optional<IndexReport>> update_index(const std::string& path,
                                                const std::vector<std::string>& documents,
                                                const IndexOptions& options);

}  // namespace metafuse::fetchers
