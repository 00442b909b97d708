#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/sqlite_database.h"

namespace metafuse::fetchers {

/// The words of a text as the index finds words, with their counts: FTS5 itself is asked, in memory. For one
/// thread at a time.
class WordFinder {
 public:
  using Take = std::function<Result<void>(std::string_view word, std::int64_t count)>;

  /// in: stems_english - stems stand for words, as Porter 1980 makes them
  static Result<WordFinder> make(bool stems_english);

  /// Calls `take` once for each different word, in the words' order of bytes.
  /// errors: those of `take`
  Result<void> for_each_word(std::string_view text, const Take& take);

 private:
  std::unique_ptr<SqliteDatabase> database_;
  SqliteStatement insert_;
  SqliteStatement select_;
};

}  // namespace metafuse::fetchers
