#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/sqlite_database.h"

namespace metafuse::fetchers {

/// The value of a full-text table's `tokenize=` for unicode61, porter or trigram.
std::string_view tokenizer_arguments(std::string_view tokenizer);

/// Splits a text into words exactly as the index does, by asking FTS5 in memory, and counts them.
/// Not thread-safe.
class WordFinder {
 public:
  using Take = std::function<Result<void>(std::string_view word, std::int64_t count)>;

  /// in:     tokenizer - unicode61; porter, which replaces words by their stems (Porter 1980); or trigram
  static Result<WordFinder> make(std::string_view tokenizer);

  /// Calls `take` once for each distinct word, in byte order.
  /// errors: those of `take`
  Result<void> for_each_word(std::string_view text, const Take& take);

 private:
  std::unique_ptr<SqliteDatabase> database_;
  SqliteStatement insert_;
  SqliteStatement select_;
};

/// A document that contains a word or part, and how often.
struct Posting {
  std::uint32_t document = 0;  ///< its id
  std::uint32_t count = 0;
};

/// The occurrences of words in a full-text table of an index.
struct WordOccurrences {
  std::string table;
  std::string_view condition;  ///< on fts5vocab's columns, as " WHERE ..."; empty: all
  const IsInterrupted& is_interrupted;
};

/// Calls `take` once for each word, in byte order, with its documents in the order of their ids.
/// errors: those of SQLite and `take`; try_again: interrupted
Result<void> for_each_indexed_word(
    SqliteDatabase& database, const WordOccurrences& occurrences,
    const std::function<Result<void>(const std::string& word, const std::vector<Posting>& postings)>& take);

}  // namespace metafuse::fetchers
