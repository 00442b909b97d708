#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/progress.h"
#include "core/query.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/document_files.h"
#include "fetchers/engines/index/vector_index.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// The result of indexing.
struct IndexReport {
  std::size_t documents = 0;
  std::size_t replaced = 0;  ///< documents whose URL occurred again: the last one counts
  std::vector<std::string> columns;
  std::vector<std::string> left_out;  ///< skipped files of folders, as "FILE: why"
  std::size_t dimensions = 0;         ///< of the documents' vectors; 0 if there are none
  bool is_update = false;             ///< an existing index was updated
  std::size_t added = 0;              ///< this and the next two: for updates
  std::size_t changed = 0;
  std::size_t removed = 0;
};

struct IndexOptions {
  bool stems_english = false;           ///< "searches" also finds "search"
  std::vector<std::string> tokenizers;  ///< of additional full-text tables: unicode61, porter, trigram
  bool has_cosine = false;              ///< creates the tables for engines of type local_cosine
  bool updates = false;                 ///< stores the documents too, and updates an index that has them
  IsInterrupted is_interrupted;         ///< called between documents; optional
  ProgressReport progress;
  DocumentFileOptions files;
  VectorOptions vectors;
  /// A word that occurs at least so often in all documents together gets a posting list for ranking.
  std::int64_t common_word = 4096;
};

/// Builds the embedded engine's index (SQLite FTS5) of documents. Each document has a URL, a title and a
/// text; further fields become columns of their own.
///
/// With `updates`, an index that was built with it and has the same fields and tokenizers is updated instead:
/// files whose size and time are unchanged are not read, and only new, changed and deleted documents cause
/// work. Any other index is rebuilt.
///
/// in:     documents - files and folders, as for read_documents; database - replaced as a whole
/// errors: bad_data with "FILE:LINE: ...": not a JSON object, no url, a value that is neither text nor
///         number; no_input, also when something other than an index exists at `database`; try_again when the
///         disk is full or is_interrupted returned true. No half-written index is left behind.
/// cost:   about 30,000 short documents per second
Result<IndexReport> build_local_index(const std::string& database, const std::vector<std::string>& documents,
                                      const IndexOptions& options = {});

/// The embedded engine. Queries use FTS5's language (phrases, AND, OR, NOT, NEAR, prefix*, column:
/// filters). Results are ordered by BM25 with column weights, or by a number of the documents; ties in the
/// order of the documents. Queries are split into words by the index's own tokenizer or by another that it
/// was built with. Thread-safe.
class LocalEngine {
 public:
  explicit LocalEngine(LocalAccess access);
  ~LocalEngine();
  LocalEngine(const LocalEngine&) = delete;
  LocalEngine& operator=(const LocalEngine&) = delete;

  /// errors: no_input: no such index; bad_config: a weight, order or tokenizer that the index does not have;
  ///         bad_data: FTS5 does not understand the query, or the file is not an index; try_again: the
  ///         deadline passed
  Result<RankedList> search(std::string_view query, int depth, int offset, const Deadline& deadline);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// The embedded engine's file. `meta` describes it. `documents` (FTS5, without content) holds the words of
// every column; `documents_porter` and similar tables hold the same for other tokenizers. `pages` holds what
// a result shows. `numbers` holds the documents' numbers for ordering, if they have any. `ranking` and
// related tables (ranking_tables.h) rank by words without FTS5. A document has the same rowid in all tables.

/// A full-text table of an index.
struct WordsTable {
  std::string name;
  std::string tokenizer;  ///< unicode61, porter or trigram

  friend bool operator==(const WordsTable&, const WordsTable&) = default;
};

/// False for an index of an earlier version, which stores neither dates nor languages of its results.
bool has_shown_facts(SqliteDatabase& database);

/// Reads what results show.
class ShownPages {
 public:
  /// errors: those of SQLite
  static Result<ShownPages> make(SqliteDatabase& database);

  /// Appends a document to the list. False if the index has no such document.
  Result<bool> append(std::int64_t id, double score, RankedList& list);

 private:
  SqliteStatement page_;
};

/// The full-text tables of an index, `documents` first.
/// errors: those of SQLite
Result<std::vector<WordsTable>> read_words_tables(SqliteDatabase& database);

/// The error for a file that is not an index.
/// in:     why - what it lacks
Error not_an_index(const std::string& path, const std::string& why);

/// Opens an index to search in it.
/// in:     mapped_bytes - how much of the file is read through mapped memory
/// errors: no_input: no such file; those of check_index_format()
Result<SqliteDatabase> open_index(const std::string& path, std::int64_t mapped_bytes = 268435456);

/// True if the query is valid and finds a row.
bool finds_row(SqliteDatabase& database, std::string_view sql);

/// errors: bad_data: some other file, or an index of another version
Result<void> check_index_format(SqliteDatabase& database, const std::string& path);

}  // namespace metafuse::fetchers
