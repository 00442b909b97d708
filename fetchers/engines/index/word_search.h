#pragma once

// Finds the best documents for a condition by the lists of its words. Documents are visited in windows of a
// thousand; a window is skipped if an upper bound of its scores shows that none of its documents can be among
// the best.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/weighting.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {

/// A document found by a query.
struct ScoredDocument {
  std::int64_t id = 0;
  double score = 0;

  friend bool operator==(const ScoredDocument&, const ScoredDocument&) = default;
};

/// How documents are scored.
struct Scoring {
  Weighting weighting = Weighting::ineb2;
  std::vector<double> column_weights;  ///< at least 0; columns beyond have weight 1
};

inline constexpr std::size_t kAllDocuments = ~std::size_t{0};

/// How many words a beginning stands for: those of the most documents.
inline constexpr std::size_t kMostBeginnings = 1000;

/// in:     count - how many of the best documents to find
/// out:    best first, then by id. A word adds to the score of a document if every condition that contains
///         the word matches; a phrase adds the shares of its words.
/// errors: try_again: the deadline passed; bad_data: a damaged index
/// cost:   reads the lists of the words; skips windows that cannot contain one of the best
Result<std::vector<ScoredDocument>> find_best(ListReader& reader, const DocumentLengths& lengths,
                                              const AskedQuery& asked, const Scoring& scoring,
                                              std::size_t count, const Deadline& deadline);

/// Which of some documents match a condition, whatever their scores.
///
/// in:     ids - ascending, each once
/// errors: those of find_best()
/// cost:   reads the windows of the words' lists in which the documents are
Result<std::vector<bool>> find_matching(ListReader& reader, const DocumentLengths& lengths,
                                        const AskedQuery& asked, std::span<const std::int64_t> ids,
                                        const Deadline& deadline);

}  // namespace metafuse::fetchers
