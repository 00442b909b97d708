#pragma once

// The order of documents in a fused ranking: by score, equal scores by number of lists, best rank and id; and
// the sorting by keys that makes it fast. The order depends only on scores, ranks and ids.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "core/text_list.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// How many lists rank a document, and how well. Decides between equal scores in every fused ranking.
struct Standing {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t lists = 0;           ///< how many lists hold the document
  std::uint32_t best_rank = kNever;  ///< from 1

  void add(std::uint32_t rank) {
    ++lists;
    best_rank = std::min(best_rank, rank);
  }

  /// in: ranks - one per list, 0 if it does not hold the document
  static Standing of(std::span<const std::uint32_t> ranks) {
    Standing standing;
    std::uint32_t before = kNever;  // the best rank less 1; rank 0 wraps around to kNever
    for (const std::uint32_t rank : ranks) {
      // Adds 1 if the rank is above 0, without a branch.
      standing.lists += static_cast<std::uint32_t>((std::uint64_t{rank} + kNever) >> 32);
      before = std::min(before, rank - 1);
    }
    if (standing.lists > 0) standing.best_rank = before + 1;
    return standing;
  }

  /// A sort key: lower for the document with the better standing.
  std::uint64_t number() const { return std::uint64_t{kNever - lists} << 32 | best_rank; }
};

/// The first eight bytes of a text as a number. Such numbers order texts bytewise as far as eight bytes can.
inline std::uint64_t first_bytes(std::string_view text) {
  const std::size_t count = text.size() < 8 ? text.size() : 8;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number << 8 | static_cast<unsigned char>(text[i]);
  return count == 0 ? 0 : number << 8 * (8 - count);
}

/// A number whose unsigned order is the order of the doubles, infinities included; minus zero equals zero.
std::uint64_t ordered_bits(double number);
/// The inverse of ordered_bits().
double number_of_ordered_bits(std::uint64_t bits);

/// The length of the prefix that all texts `text_of(item)` share.
template <class Item, class TextOf>
std::size_t common_prefix(std::span<const Item> items, const TextOf& text_of) {
  if (items.empty()) return 0;
  std::string_view prefix = text_of(items.front());
  for (const Item& item : items) {
    const std::string_view text = text_of(item);
    const std::size_t most = std::min(prefix.size(), text.size());
    std::size_t same = 0;
    while (same < most && prefix[same] == text[same]) ++same;
    prefix = prefix.substr(0, same);
  }
  return prefix.size();
}

constexpr unsigned kPlaceBits = 16;  // low bits of a key that hold its item's position

/// Sorts numbers, whose low kPlaceBits are in ascending order already, by as many of their high bits as
/// should be enough to tell them apart.
/// out:  the lowest bit that was compared
/// cost: one radix pass per byte that differs, or a comparison sort if that is cheaper
unsigned sort_prefixes(std::vector<std::uint64_t>& numbers);

/// Sorts items by the high bits of their keys, which decide in nearly all cases, and by `precedes` where
/// these bits are equal.
///
/// in:  keys - one per item, in the order that `precedes` defines; overwritten
/// out: whether any high bits were equal
template <class Item, class Precedes>
bool sort_by_keys(std::vector<std::uint64_t>& keys, std::span<Item> items, const Precedes& precedes) {
  constexpr std::uint64_t kPlaces = (std::uint64_t{1} << kPlaceBits) - 1;
  if (items.size() > kPlaces) {
    std::sort(items.begin(), items.end(), precedes);
    return true;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = (keys[i] & ~kPlaces) | i;
  const unsigned front = sort_prefixes(keys);
  const std::vector<Item> before(items.begin(), items.end());
  bool has_equals = false;
  std::size_t begin = 0;  // of the current run of items with equal high bits
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = before[keys[i] & kPlaces];
    if (i + 1 < items.size() && keys[i] >> front == keys[i + 1] >> front) continue;
    if (i > begin) {
      has_equals = true;
      std::sort(items.begin() + static_cast<std::ptrdiff_t>(begin),
                items.begin() + static_cast<std::ptrdiff_t>(i + 1), precedes);
    }
    begin = i + 1;
  }
  return has_equals;
}

/// Applies the tie rule, which orders the documents of a fused ranking: higher score first, then more lists,
/// then the better best rank, then `precedes`, which compares ids bytewise.
///
/// in:   scores - one per document; standing_of(document) - its Standing, called only for equal scores
/// cost: O(documents log documents)
template <class StandingOf, class Precedes>
std::vector<std::uint32_t> fused_order(std::span<const double> scores, const StandingOf& standing_of,
                                       const Precedes& precedes) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::uint64_t> keys;
  keys.reserve(scores.size());
  for (const double score : scores) keys.push_back(~ordered_bits(score));
  sort_by_keys(keys, std::span(order), [&](std::uint32_t a, std::uint32_t b) {
    if (scores[a] != scores[b]) return scores[a] > scores[b];
    const std::uint64_t standing_a = Standing(standing_of(a)).number();
    const std::uint64_t standing_b = Standing(standing_of(b)).number();
    return standing_a != standing_b ? standing_a < standing_b : precedes(a, b);
  });
  return order;
}

/// The same for rows [begin, end) of a matrix. A value feature that ranks the document counts as a list. Rows
/// with equal ids keep their order.
///
/// in:     scores - one per row of the range; ids - one per row of the whole matrix
/// cost:   O(rows x features + rows log rows)
std::vector<std::size_t> fused_order(const FeatureMatrix& matrix, std::size_t begin, std::size_t end,
                                     std::span<const double> scores, const TextList& ids);

/// NDCG at 1..depth of each query when its documents are ordered by score, equal scores in document order.
/// The gain is 2^grade - 1; the discount is 1 at the first place and 1/log2(place) after it (Zhu et al. 2009,
/// sec. 5.2).
///
/// in:     scores - one per document
/// out:    one row per query that has a document of positive grade; the other queries are left out
/// cost:   O(documents log depth)
std::vector<std::vector<double>> ndcg_by_query(const TrainingSet& set, const std::vector<double>& scores,
                                               std::size_t depth);

/// Mean over the queries of NDCG at `depth`; 0 when no query has a relevant document.
double mean_ndcg(const TrainingSet& set, const std::vector<double>& scores, std::size_t depth);

}  // namespace metafuse::fusion
