#pragma once

// Finds the best documents for a query of words. Uses the same BM25 as FTS5's bm25(): the scores are equal,
// and documents with equal scores come in the same order.

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
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/ranking_tables.h"
#include "fetchers/engines/index/word_finder.h"
#include "fetchers/engines/index/word_query.h"

namespace metafuse::fetchers {

/// A document found by a query.
struct ScoredDocument {
  std::int64_t id = 0;
  double score = 0;

  friend bool operator==(const ScoredDocument&, const ScoredDocument&) = default;
};

/// The lengths of an index's documents, shared by all its connections. Thread-safe.
class SharedLengths {
 public:
  /// The lengths of the reader's version; read from the database if the stored ones are of another version.
  Result<std::shared_ptr<const DocumentLengths>> of(SqliteDatabase& database, const RankingReader& reader);

 private:
  std::mutex mutex_;
  std::shared_ptr<const DocumentLengths> last_;
};

/// The table to search, and how.
struct RankedTable {
  std::string path;  ///< of the index file, for errors
  WordsTable words;  ///< a full-text table
  std::vector<std::string> columns;
  std::vector<double> weights;  ///< of the columns
};

/// Ranks documents by words. Not thread-safe.
class WordSearch {
 public:
  /// out:    nullopt for an index without ranking tables, or if a weight is negative
  /// errors: bad_data: damaged; those of SQLite
  static Result<std::optional<WordSearch>> open(SqliteDatabase& database, RankedTable table,
                                                SharedLengths& lengths);

  /// in:     count - how many of the best documents to find
  /// out:    best first, then by id; nullopt if the query does not consist of words alone, so that FTS5 must
  ///         answer it
  /// errors: try_again: the deadline passed; bad_data: a damaged index
  /// cost:   reads the lists of the words; skips windows of kWindow documents that cannot contain one of
  ///         the best
  Result<std::optional<std::vector<ScoredDocument>>> find(std::string_view query, std::size_t count,
                                                          const Deadline& deadline);

 private:
  /// The word that the tokenizer makes of a text; nullopt if it makes none or several.
  Result<std::optional<std::string>> word_of(std::string_view text);

  RankedTable table_;
  std::optional<RankingReader> reader_;
  std::optional<WordFinder> finder_;
  std::shared_ptr<const DocumentLengths> lengths_;
};

}  // namespace metafuse::fetchers
