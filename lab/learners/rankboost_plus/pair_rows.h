#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::rankboost_plus {

/// Documents of one query that belong below the same documents with the same weight: a slice
/// of PairRows::below.
struct BelowClass {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The crucial pairs (below, above) of one document `above` with one class. An array with one number per pair
/// stores them consecutively.
struct PairRow {
  std::uint32_t above = 0;
  std::uint32_t below_class = 0;
  std::size_t offset = 0;  ///< index of the first pair in such an array
  double initial = 0.0;    ///< D_1 of each pair of the row
};

/// Consecutive rows that share no class and no document `above` with other rows: the work unit of a thread.
struct RowChunk {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Every crucial pair of a training set, in dense rows. A pass over the pairs is thus a pass over an array of
/// doubles, and no pair needs a pointer or an index.
struct PairRows {
  std::vector<std::uint32_t> below;  ///< documents, as rows of the matrix
  std::vector<BelowClass> classes;
  std::vector<PairRow> rows;
  std::vector<RowChunk> chunks;  ///< all rows, in order; cut by the feedback alone, and so are sums
  std::size_t pair_count = 0;
  std::size_t document_count = 0;
};

/// The size of a training set's rows, known without making them.
struct PairCounts {
  std::size_t pairs = 0;
  std::size_t rows = 0;

  /// The bytes that the rows take.
  std::size_t row_bytes() const { return rows * (sizeof(PairRow) + sizeof(BelowClass)); }
};

/// errors: bad_data when there is no crucial pair
/// cost:   O(documents log documents)
Result<PairCounts> count_pairs(const TrainingSet& set);

inline constexpr auto kAnyMemory = static_cast<std::size_t>(-1);

/// Makes the rows of a training set's feedback; D_1 sums to 1.
///
/// in:     max_bytes - of the rows and of `pair_bytes` for each pair; nothing is made if they need more
/// errors: bad_data when there is no crucial pair, or too many
/// cost:   O(documents log documents + rows + general pairs)
/// source: Freund et al. 2003, sec. 2 and eq. (1)
Result<PairRows> pair_rows(const TrainingSet& set, std::size_t max_bytes,
                           std::size_t pair_bytes = sizeof(double));

/// How many of `threads` threads are worth using for a pass over the pairs.
unsigned useful_threads(const PairRows& pairs, unsigned threads);

/// The ranking losses of a scoring function (Connamacher et al. 2020, eqs. (3) - (5)). Pairs are weighted
/// by D_1.
struct RankLosses {
  double r1 = 0.0;  ///< a tie costs 1
  double r2 = 0.0;  ///< a tie costs 1/2; Freund et al. 2003, eq. (21)
  double e1 = 0.0;  ///< mean of exp(-(H(above) - H(below))); the largest double on overflow
};

/// in:     scores - one per document
/// cost:   O((documents + rows) log documents)
RankLosses rank_losses(const PairRows& pairs, const std::vector<double>& scores, unsigned threads = 1);

}  // namespace metafuse::lab::rankboost_plus
