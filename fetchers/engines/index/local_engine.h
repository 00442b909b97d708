#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/progress.h"
#include "core/query.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/document_files.h"
#include "fetchers/engines/index/index_writing.h"
#include "fetchers/engines/index/vector_index.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// The result of indexing.
struct IndexReport {
  std::size_t documents = 0;
  std::size_t replaced = 0;  ///< documents whose URL occurred again: the last one counts
  std::vector<std::string> columns;
  ReadReport read;             ///< files read and left out, and added documents that do not go with others
  std::size_t dimensions = 0;  ///< of the documents' vectors; 0 if there are none
  std::string language;        ///< of documents that do not state theirs; empty: unknown
  std::string other_version;   ///< of the index that was there and could not be updated for that; else empty
  bool was_damaged = false;    ///< the index that was there, so that it was built anew
  std::string put_aside;       ///< where the file that was there is now, if it could not be read; else empty
  bool is_update = false;      ///< an existing index was updated
  std::size_t added = 0;       ///< this and the next two: for updates
  std::size_t changed = 0;
  std::size_t removed = 0;
  /// Documents that latent semantic indexing was not trained on: all, if the index has yet to get vectors.
  std::size_t folded = 0;
  bool has_more = false;  ///< there were too many changes for one update
};

struct IndexOptions {
  /// The lists of words; an engine uses the first unless it names another.
  std::vector<WordKind> kinds = {WordKind::stems, WordKind::words};
  /// Of documents that do not state theirs, as an ISO 639-1 code; empty: found by stop words.
  std::string language;
  bool has_cosine =
      false;  ///< creates the tables for engines of type local_cosine, and a list of whole words
  bool keeps_terms = false;      ///< keeps the words of each document, so that engines can expand queries
  bool updates = false;          ///< stores the documents too, and updates an index that has them
  bool follows_added = false;    ///< keeps what is there, and only takes what programs added and removed
  bool defers_training = false;  ///< with it: new documents get their vectors from the words known already
  bool is_damaged = false;  ///< what is at the index's path is an index, even if it cannot be read as one
  TellWait tell_wait;       ///< as for IndexWriting::begin()
  IsInterrupted is_interrupted;  ///< called between documents; optional
  ProgressReport progress;
  DocumentFileOptions files;
  VectorOptions vectors;
};

/// Builds the embedded engine's index of documents. Each document has a URL, a title and a
/// text; further fields become columns of their own.
///
/// With `updates`, an index that was built with it and has the same fields and lists is updated instead:
/// files whose size and time are unchanged are not read, and only new, changed and deleted documents cause
/// work. Any other index is rebuilt. With `is_damaged`, a file that is not even a database is kept as
/// DATABASE.damaged.
///
/// in:     documents - files and folders, as for read_documents; database - replaced as a whole
/// errors: bad_config: an unknown language, or an endpoint makes the vectors and there is no `embed`;
///         bad_data: there is no document to index, or a named file is damaged; no_input, also when something
///         other than an index exists at `database`; try_again when the disk is full, another program is
///         writing the index, or is_interrupted returned true. No half-written index is left behind.
/// cost:   about 25,000 short documents per second; memory for all documents and their words
Result<IndexReport> build_local_index(const std::string& database, const std::vector<std::string>& documents,
                                      const IndexOptions& options = {});

/// The options of the index that `metafuse init` makes.
IndexOptions options_of_init();

/// The options with which an index of any version was made; without an index those of `metafuse init`.
/// errors: those of opening; bad_data: the index is damaged
Result<IndexOptions> options_to_update(const std::string& database);

/// Whether a file is a damaged index, or no database at all: it does not say with which options it was made.
bool is_damaged_index(const std::string& database);

struct IndexFacts {
  std::size_t documents = 0;
  std::int64_t added_step = 0;  ///< the last change of AddedDocuments that it has
  std::size_t folded = 0;       ///< as in IndexReport
};

/// What an index says of itself; zeros if it does not exist.
/// cost:   counts its documents
Result<IndexFacts> facts_of_index(const std::string& database);

/// A text that changes with what an index holds. It is the same for everybody who searches this file.
///
/// errors: those of opening; bad_data: the index is damaged
/// cost:   O(files that the index was made of)
Result<std::string> content_version(const std::string& database);

/// Whether documents can be added to it: it was built with `updates`, or does not exist yet.
Result<bool> takes_documents(const std::string& database);

struct FollowOptions {
  bool defers_training = true;  ///< new documents get their vectors from the words known already
  EmbedTexts embed;             ///< for an index whose vectors an endpoint makes
  unsigned threads = 1;
  IsInterrupted is_interrupted;
};

/// Brings an index up to date with the documents that programs added and removed (AddedDocuments), with the
/// lists and vectors that it has. Without an index it makes one as `metafuse init` does.
///
/// out:    nullopt if there is nothing to do
/// errors: bad_config: the index does not keep its documents (built without `updates`); those of
///         build_local_index()
/// cost:   a copy of the index; decodes and encodes the lists of the words of the changed documents
Result<std::optional<IndexReport>> follow_added_documents(const std::string& database,
                                                          const FollowOptions& following);

/// A key of an engine's definition with a name that its index does not have.
struct UnknownName {
  std::string_view key;
  std::string text;  ///< what is wrong, with the names that there are
};

/// The first of `weights`, `tokenizer` and `order_by` that the index cannot follow. Nothing for an index that
/// does not exist yet or cannot be read: a search says that.
std::optional<UnknownName> find_unknown_name(const LocalAccess& access);

/// The embedded engine. Queries use the language of word_query.h. Results are ordered by BM25 or I(n_e)B2
/// with column weights, by the same for the query expanded by its best results, or by a number of the
/// documents; ties in the order of the documents. Queries are analysed as the documents were. Thread-safe.
class LocalEngine {
 public:
  explicit LocalEngine(LocalAccess access);
  ~LocalEngine();
  LocalEngine(const LocalEngine&) = delete;
  LocalEngine& operator=(const LocalEngine&) = delete;

  /// errors: no_input: no such index; bad_config: a weight, order, tokenizer or expansion that the index does
  ///         not have; bad_data: a query that cannot be understood, or the file is not an index; try_again:
  ///         the deadline passed
  Result<RankedList> search(std::string_view query, int depth, int offset, const Deadline& deadline);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// The embedded engine's file is a SQLite database. `meta` describes it. `pages` holds what a result shows.
// `numbers` holds the documents' numbers for ordering, if they have any. word_lists.h describes the lists of
// words, cosine_index.h and vector_index.h what they add, passage_source.h the texts. A document has the same
// id in all tables.

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

/// Opens an index and reads all of its pages.
/// errors: those of open_index; bad_data: it is damaged
/// cost:   reads the file once
Result<void> check_index(const std::string& path);

/// The error for a file that is not an index.
/// in:     why - what it lacks
Error not_an_index(const std::string& path, const std::string& why);

/// Opens a file that should be an index of any version.
/// errors: no_input: no such file
Result<SqliteDatabase> open_index_file(const std::string& path);

/// Opens an index to search in it.
/// in:     mapped_bytes - how much of the file is read through mapped memory
/// errors: no_input: no such file; those of check_index_format()
Result<SqliteDatabase> open_index(const std::string& path, std::int64_t mapped_bytes = 268435456);

/// True if the query is valid and finds a row.
bool finds_row(SqliteDatabase& database, std::string_view sql);

inline constexpr std::string_view kIndexVersion = "4";

/// The version of the index in a database; empty if the database is something else.
/// errors: bad_data: damaged, or no database at all; try_again: locked by another program
Result<std::string> index_version(SqliteDatabase& database);

/// errors: those of index_version(); bad_data: some other database, or an index of another version
Result<void> check_index_format(SqliteDatabase& database, const std::string& path);

}  // namespace metafuse::fetchers
