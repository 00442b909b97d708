#pragma once

// The lists of words in an index's file. `lists` has a row for each kind of list, with its numbers of
// documents and words; `list_lengths` the number of words of each document. `list_words` has a row for each
// word with the number of its documents and the codes of its list (a word of as many documents as `meta` says
// under "frequent" is also in the index list_words_frequent), and `list_parts` one for each part of a
// list (posting_list.h); its id combines the word's id with the first window. `terms` holds for each document
// its words of the first kind as pairs of numbers: the step to the word's id and how often the document
// contains it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/list_builder.h"
#include "fetchers/engines/index/posting_list.h"

namespace metafuse::fetchers {

constexpr std::int64_t stored_number(WordKind kind) {
  return static_cast<std::int64_t>(kind);
}

/// The error for lists that no version of this program wrote.
Error damaged_lists(std::string_view what);

/// What to do about an index that lacks what an engine needs, or is damaged: each engine needs other options,
/// and building it with those of one engine would take away what another needs.
///
/// in: options - that the engine needs
std::string build_again_with(std::string_view options);

/// The id of a part of a word's list.
constexpr std::int64_t part_id(std::int64_t word, std::uint32_t first_window) {
  return word << 22 | static_cast<std::int64_t>(first_window);
}
constexpr std::uint32_t first_window_of(std::int64_t part) {
  return static_cast<std::uint32_t>(part & ((1 << 22) - 1));
}

/// Creates the tables of lists and writes what `meta` says of them, inside the caller's transaction.
Result<void> create_lists(SqliteDatabase& database, const ListShape& shape);

/// Keeps the terms of the document that was added last. Numbers of words become ids of `list_words`.
Result<void> write_terms(SqliteStatement& insert, std::uint32_t id, const ListBuilder::Terms& terms);

/// Notes the languages of all documents, in which queries are read. Documents of the index's own language may
/// state none.
Result<void> renew_languages(SqliteDatabase& database, const std::string& language);

/// Writes all lists of a new index. The builder is empty afterwards.
///
/// errors: those of SQLite; try_again: interrupted
/// cost:   encodes every list once
Result<void> write_lists(SqliteDatabase& database, const ListShape& shape, ListBuilder& builder,
                         const IsInterrupted& is_interrupted);

/// The documents that an update has touched.
struct ChangedDocuments {
  std::vector<std::uint32_t> renewed;              ///< ids, ascending: new and changed documents
  std::map<std::uint32_t, SourceDocument> before;  ///< changed and removed documents as they were
  std::function<Result<SourceDocument>(std::uint32_t id)> read;  ///< reads a renewed document
};

/// Brings the lists up to date.
///
/// errors: those of write_lists(), and bad_data: damaged
/// cost:   decodes and encodes the parts of lists in which the changed documents are or were
Result<void> update_lists(SqliteDatabase& database, const ListShape& shape, const ChangedDocuments& changed,
                          const IsInterrupted& is_interrupted);

/// out:    what create_lists() wrote
/// errors: bad_data: damaged
Result<ListShape> read_list_shape(SqliteDatabase& database);

/// The languages of an index's documents, the most frequent first; those of less than a twentieth
/// are left out.
Result<std::vector<std::string>> read_languages(SqliteDatabase& database);

/// The lengths of the documents in one kind of list.
struct DocumentLengths {
  std::string version;  ///< differs whenever the lengths differ
  std::uint64_t documents = 0;
  std::uint64_t words = 0;             ///< of all documents together
  std::vector<std::uint32_t> lengths;  ///< number of words per document, by id
};

/// A word of an index.
struct ListedWord {
  std::int64_t id = 0;
  std::string text;
  std::uint64_t documents = 0;
};

/// The number of an index's documents.
/// errors: bad_data: damaged
Result<std::size_t> count_documents(SqliteDatabase& database);

/// Reads the lists of one kind. Not thread-safe.
class ListReader {
 public:
  /// errors: bad_config: the index has no lists of this kind; those of SQLite
  static Result<ListReader> open(SqliteDatabase& database, WordKind kind);

  WordKind kind() const { return kind_; }
  /// The version of the lengths that belong to the lists.
  const std::string& version() const { return version_; }
  /// errors: bad_data: damaged
  Result<DocumentLengths> read_lengths(SqliteDatabase& database) const;

  /// out:    id 0 if no document has the word
  Result<ListedWord> find(std::string_view word);
  /// The ids of the words that begin so, those of the most documents first, at most `most`.
  Result<std::vector<std::int64_t>> begin_with(std::string_view beginning, std::size_t most);
  /// errors: bad_data: damaged; those of SQLite
  Result<std::shared_ptr<const PostingList>> list_of(std::int64_t id);
  /// The places of the part that begins with a window.
  Result<std::string> places_of(std::int64_t id, std::uint32_t first_window);

 private:
  WordKind kind_ = WordKind::words;
  std::string version_;
  SqliteStatement find_, begin_, begin_frequent_, codes_, parts_, places_;
};

/// Calls `take` with each word of a kind and its list, in the order of the ids.
/// errors: bad_data: damaged; those of SQLite and `take`
Result<void> for_each_list(
    SqliteDatabase& database, WordKind kind,
    const std::function<Result<void>(const ListedWord& word, const PostingList& list)>& take);

/// A document that contains a word or part, and how often.
struct Posting {
  std::uint32_t document = 0;  ///< its id
  std::uint32_t count = 0;
};

/// The documents of a list that have the word in one of the columns. False if the bytes are damaged.
bool read_postings(const PostingList& list, ColumnSet columns, std::vector<Posting>& out);

/// The lengths of an index's documents, shared by all its connections. Thread-safe.
class SharedLengths {
 public:
  /// The lengths of the reader's version; read from the database if the stored ones are of another version.
  Result<std::shared_ptr<const DocumentLengths>> of(SqliteDatabase& database, const ListReader& reader);

 private:
  std::mutex mutex_;
  std::shared_ptr<const DocumentLengths> last_;
};

}  // namespace metafuse::fetchers
