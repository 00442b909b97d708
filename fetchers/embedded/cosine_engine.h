#pragma once

#include <memory>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

/// The embedded cosine engine: the documents of an index by how alike their titles and texts are to the
/// query's words. Words, stems and 4-grams (cosine_index.h) each make a vector; the score is the mean of the
/// three cosines. It finds what no exact word finds: other endings, parts of words, typing errors. Safe to
/// use from several threads.
///
/// A query is words, in FTS5's syntax without its operators' meaning, and behind them conditions that FTS5
/// checks: `photo editors AND sections : graphics NOT "kde"`.
///
/// cost: twelve bytes per document in memory; a search reads the postings of some thirty parts per word
class CosineEngine {
 public:
  explicit CosineEngine(CosineAccess access);
  ~CosineEngine();
  CosineEngine(const CosineEngine&) = delete;
  CosineEngine& operator=(const CosineEngine&) = delete;

  /// out:    documents that share at least one part with the query and meet its conditions, the most alike
  ///         first, then in the order of the documents
  /// errors: no_input: no such index; bad_config: it was built without `--cosine`; bad_data: a condition that
  ///         FTS5 does not understand, a damaged index; try_again: the deadline passed
  Result<RankedList> search(std::string_view query, int depth, int offset, const Deadline& deadline);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

/// What a query of the cosine engine says.
struct CosineQuery {
  std::string words;
  std::string required;               ///< FTS5; empty: nothing
  std::vector<std::string> excluded;  ///< FTS5, each of them

  friend bool operator==(const CosineQuery&, const CosineQuery&) = default;
};

CosineQuery read_cosine_query(std::string_view query);

}  // namespace metafuse::fetchers
