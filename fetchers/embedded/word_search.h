#pragma once

// The best documents of a query of words, by the same BM25 as FTS5's bm25(): the same numbers, and documents
// of the same score in the same order.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/embedded/local_engine.h"
#include "fetchers/embedded/ranking_tables.h"
#include "fetchers/embedded/word_finder.h"
#include "fetchers/embedded/word_query.h"

namespace metafuse::fetchers {

/// A document that a query found.
struct ScoredDocument {
  std::int64_t id = 0;
  double score = 0;

  friend bool operator==(const ScoredDocument&, const ScoredDocument&) = default;
};

/// The lengths of an index's documents, which all its connections share; safe to use from threads.
class SharedLengths {
 public:
  /// Those of the reader's version, read where the last ones were of another.
  Result<std::shared_ptr<const DocumentLengths>> of(SqliteDatabase& database, const RankingReader& reader);

 private:
  std::mutex mutex_;
  std::shared_ptr<const DocumentLengths> last_;
};

/// What is searched.
struct RankedTable {
  std::string path;  ///< of the index, for errors
  WordsTable words;  ///< a full-text table
  std::vector<std::string> columns;
  std::vector<double> weights;  ///< of the columns
};

/// Ranks by words, for one thread at a time.
class WordSearch {
 public:
  /// out:    nothing for an index without ranking tables, and for negative weights
  /// errors: bad_data: damaged; those of SQLite
  static Result<std::optional<WordSearch>> open(SqliteDatabase& database, RankedTable table,
                                                SharedLengths& lengths);

  /// in:     count - of the best documents
  /// out:    best first, then by id; nothing where the query is not of words alone, which FTS5 must answer
  /// errors: try_again: the deadline passed; bad_data: a damaged index
  /// cost:   reads the lists of the words; windows of kWindow documents that cannot have one of the best are
  ///         passed over
  Result<std::optional<std::vector<ScoredDocument>>> find(std::string_view query, std::size_t count,
                                                          const Deadline& deadline);

 private:
  /// The word that the tokenizer makes of a text; nothing where it makes none or several.
  Result<std::optional<std::string>> word_of(std::string_view text);

  RankedTable table_;
  std::optional<RankingReader> reader_;
  std::optional<WordFinder> finder_;
  std::shared_ptr<const DocumentLengths> lengths_;
};

}  // namespace metafuse::fetchers
