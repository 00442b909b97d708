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

/// What a result shows of a document's text.
std::string_view snippet_of(const SourceDocument& document);

/// A field of a document, or nothing.
std::string_view field_of(const SourceDocument& document, const std::string& column);

/// What the documents of an index have: texts, each a column that is searched, and numbers.
struct DocumentFields {
  std::vector<std::string> columns = {"title", "text"};
  std::vector<std::string> numbers;
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
  static Result<SourceWriter> make(SqliteDatabase& database, const DocumentFields& fields);
  Result<void> insert(std::int64_t id, const SourceDocument& document);
  /// Takes a document out, with the words that it had.
  Result<void> remove(std::int64_t id, const SourceDocument& before);

 private:
  std::vector<std::string> columns_;
  SqliteStatement source_, words_, page_, no_source_, no_words_, no_page_;
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
