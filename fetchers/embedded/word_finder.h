#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/sqlite_database.h"

namespace metafuse::fetchers {

/// What a full-text table's `tokenize=` says for unicode61, porter or trigram.
std::string_view tokenizer_arguments(std::string_view tokenizer);

/// The words of a text as the index finds words, with their counts: FTS5 itself is asked, in memory. For one
/// thread at a time.
class WordFinder {
 public:
  using Take = std::function<Result<void>(std::string_view word, std::int64_t count)>;

  /// in: tokenizer - unicode61; porter, whose stems (Porter 1980) stand for words; or trigram
  static Result<WordFinder> make(std::string_view tokenizer);

  /// Calls `take` once for each different word, in the words' order of bytes.
  /// errors: those of `take`
  Result<void> for_each_word(std::string_view text, const Take& take);

 private:
  std::unique_ptr<SqliteDatabase> database_;
  SqliteStatement insert_;
  SqliteStatement select_;
};

}  // namespace metafuse::fetchers
