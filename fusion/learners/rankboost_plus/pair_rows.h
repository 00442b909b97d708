#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion::rankboost_plus {

/// Documents of one query that stand below the same documents with the same weight: a slice of
/// PairRows::below.
struct BelowClass {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The crucial pairs (below, above) of one document `above` with one class: `count` numbers in a row.
struct PairRow {
  std::uint32_t above = 0;
  std::uint32_t below_class = 0;
  std::size_t offset = 0;  ///< of the first pair in an array with a number per pair
  double initial = 0.0;    ///< D_1 of each pair of the row
};

/// Consecutive rows that share neither a class nor a document `above` with other rows: what one thread takes.
struct RowChunk {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Every crucial pair of a training set as dense rows, so that a pass over the pairs is a pass over an array
/// of doubles and no pair holds a pointer or an index.
struct PairRows {
  std::vector<std::uint32_t> below;  ///< document (row of the matrix) a place
  std::vector<BelowClass> classes;
  std::vector<PairRow> rows;
  std::vector<RowChunk> chunks;  ///< all rows, in order; cut by the feedback alone, so that sums are too
  std::size_t pair_count = 0;
  std::size_t document_count = 0;
};

/// The rows of a training set's feedback, D_1 summing to 1.
///
/// in:     max_pairs - more than that are refused
/// errors: bad_data when no crucial pair is left, or too many
/// cost:   O(documents log documents + rows + general pairs)
/// source: Freund et al. 2003, sec. 2 and eq. (1)
Result<PairRows> pair_rows(const TrainingSet& set, std::size_t max_pairs);

/// How many of `threads` threads a pass over the pairs is worth.
unsigned useful_threads(const PairRows& pairs, unsigned threads);

/// D_1, a number per pair.
std::vector<double> initial_weights(const PairRows& pairs);

/// The connected component of each document in the graph whose edges are the crucial pairs, counted from 0;
/// -1 for a document of no pair.
///
/// cost:   O(pairs)
std::vector<std::int32_t> components(const PairRows& pairs);

/// The ranking losses of a scoring function (Connamacher et al. 2020, eqs. (3) - (5)), pairs weighted by D_1.
struct RankLosses {
  double r1 = 0.0;  ///< a tie costs 1
  double r2 = 0.0;  ///< a tie costs 1/2; Freund et al. 2003, eq. (21)
  double e1 = 0.0;  ///< mean of exp(-(H(above) - H(below))); the largest double where it would overflow
};

/// in:     scores - one per document
/// cost:   O(pairs); e1 alone is O(rows)
RankLosses rank_losses(const PairRows& pairs, const std::vector<double>& scores, unsigned threads = 1);

}  // namespace metafuse::fusion::rankboost_plus
