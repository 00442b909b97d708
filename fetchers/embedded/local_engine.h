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
#include "fetchers/definition/engine.h"
#include "fetchers/embedded/document_files.h"
#include "fetchers/embedded/vector_index.h"

namespace metafuse::fetchers {

/// What indexing found.
struct IndexReport {
  std::size_t documents = 0;
  std::size_t replaced = 0;  ///< documents whose URL came again: the last one counts
  std::vector<std::string> columns;
  std::vector<std::string> left_out;  ///< files of folders, as "FILE: why"
  std::size_t dimensions = 0;         ///< of the documents' vectors, 0 without
  bool is_update = false;             ///< an index that was there was changed
  std::size_t added = 0;              ///< of an update
  std::size_t changed = 0;
  std::size_t removed = 0;
};

struct IndexOptions {
  bool stems_english = false;            ///< "searches" finds "search"
  std::vector<std::string> tokenizers;   ///< further full-text tables: unicode61, porter, trigram
  bool has_cosine = false;               ///< what engines of the type local_cosine need
  bool updates = false;                  ///< keeps the documents too, and changes an index that does
  std::function<bool()> is_interrupted;  ///< asked between documents; may be left out
  ProgressReport progress;
  DocumentFileOptions files;
  VectorOptions vectors;
  std::int64_t common_word = 4096;  ///< times that a word stands in the documents to get a list for ranking
};

/// Builds the embedded engine's index (SQLite FTS5) of documents: each has a URL, a title and a text; further
/// fields become columns of their own.
///
/// in:     documents - files and folders, as read_documents takes them; database - replaced as a whole
/// errors: bad_data with "FILE:LINE: ...": no JSON object, no url, a value that is neither text nor number;
///         no_input, also when something other than an index stands at `database`; try_again when the disk is
///         full or is_interrupted says so. Nothing half-written stays behind. With `updates` an index that
///         was built with it, of the same fields and tokenizers, is changed: files whose size and time are
///         as before are not read, and only documents that are new, changed or gone are worked on; another
///         index is built anew.
/// cost:   about 30,000 short documents per second
Result<IndexReport> build_local_index(const std::string& database, const std::vector<std::string>& documents,
                                      const IndexOptions& options = {});

/// The embedded engine: FTS5's query language (phrases, AND, OR, NOT, NEAR, prefix*, column: filters),
/// ordered by BM25 with column weights, or by a number of the documents, then by document order. The words
/// are those of the index's own tokenizer or of another that it was built with. Safe to use from threads.
class LocalEngine {
 public:
  explicit LocalEngine(LocalAccess access);
  ~LocalEngine();
  LocalEngine(const LocalEngine&) = delete;
  LocalEngine& operator=(const LocalEngine&) = delete;

  /// errors: no_input: no such index; bad_config: a weight, order or tokenizer that the index does not have;
  ///         bad_data: FTS5 does not understand the query, the file is no index; try_again: the
  ///         deadline passed
  Result<RankedList> search(std::string_view query, int depth, int offset, const Deadline& deadline);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// The embedded engine's file: `meta` says what it is; `documents` (FTS5, without content) holds the words of
// every column, and `documents_porter` and the like the same by other tokenizers; `pages` holds what a result
// shows; `numbers`, where a document has some, what can order; `ranking` and the like (ranking_tables.h) what
// ranks by words without FTS5. A document has the same rowid in all.

/// The SQL that begins such a file.
inline constexpr const char* kCreateIndexMeta =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT);"
    "INSERT INTO meta VALUES('format','metafuse-index'),('version','1');";

/// A full-text table of an index.
struct WordsTable {
  std::string name;
  std::string tokenizer;  ///< unicode61, porter or trigram

  friend bool operator==(const WordsTable&, const WordsTable&) = default;
};

/// The SQL that makes `pages`, and the one that writes a row of it.
inline constexpr const char* kCreatePages =
    "CREATE TABLE pages(id INTEGER PRIMARY KEY, url TEXT NOT NULL, title TEXT NOT NULL, snippet TEXT NOT "
    "NULL, "
    "published TEXT NOT NULL, language TEXT NOT NULL);";
inline constexpr const char* kInsertPage = "INSERT INTO pages VALUES(?, ?, ?, ?, ?, ?)";

/// False for an index of an earlier version, which keeps neither dates nor languages for its results.
bool has_shown_facts(SqliteDatabase& database);

/// The columns of `pages AS p` that indexed_hit() reads, for a SELECT.
std::string shown_columns(SqliteDatabase& database);
constexpr int kShownColumns = 5;

/// A result of a row that begins with shown_columns().
Hit indexed_hit(const SqliteStatement& row, double score);

/// The full-text tables of an index, `documents` first.
/// errors: those of SQLite
Result<std::vector<WordsTable>> read_words_tables(SqliteDatabase& database);

/// What is said of a file that is no index.
/// in:     why - what it lacks
Error not_an_index(const std::string& path, const std::string& why);

/// errors: bad_data: another file, or an index of another version
Result<void> check_index_format(SqliteDatabase& database, const std::string& path);

}  // namespace metafuse::fetchers
