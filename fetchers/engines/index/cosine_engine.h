#pragma once

#include <memory>
#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// The embedded cosine engine: ranks the documents of an index by how similar their titles and texts are to
/// the query's words. Words, stems and 4-grams (cosine_index.h) form one vector each; the score is the mean
/// of the three cosines. This finds documents without an exact word of the query: other endings, parts of
/// words, typing errors. Thread-safe.
///
/// A query consists of words, in FTS5's syntax but without the meaning of its operators, optionally followed
/// by conditions that FTS5 checks: `photo editors AND sections : graphics NOT "kde"`.
///
/// cost:   twelve bytes per document in memory; a search reads the postings of about thirty parts per word
class CosineEngine {
 public:
  explicit CosineEngine(CosineAccess access);
  ~CosineEngine();
  CosineEngine(const CosineEngine&) = delete;
  CosineEngine& operator=(const CosineEngine&) = delete;

  /// out:    documents that share at least one part with the query and meet its conditions, the most similar
  ///         first, ties in the order of the documents
  /// errors: no_input: no such index; bad_config: it was built without `--cosine`; bad_data: a condition that
  ///         FTS5 does not understand, or a damaged index; try_again: the deadline passed
  Result<RankedList> search(std::string_view query, int depth, int offset, const Deadline& deadline);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

/// A query of the cosine engine, split into its parts.
struct CosineQuery {
  std::string words;
  std::string required;               ///< a condition in FTS5's syntax; empty: none
  std::vector<std::string> excluded;  ///< conditions in FTS5's syntax

  friend bool operator==(const CosineQuery&, const CosineQuery&) = default;
};

CosineQuery read_cosine_query(std::string_view query);

}  // namespace metafuse::fetchers
