#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>

namespace metafuse::fusion {

/// How often and how well a document was ranked: what decides between equal scores in every fused ranking.
struct Standing {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t lists = 0;           ///< how many lists hold the document
  std::uint32_t best_rank = kNever;  ///< from 1

  void add(std::uint32_t rank) {
    ++lists;
    if (rank < best_rank) best_rank = rank;
  }

  /// in: ranks - one a list, 0 where it does not hold the document
  static Standing of(std::span<const std::uint32_t> ranks) {
    Standing standing;
    std::uint32_t before = kNever;  // how many documents stand above in the best list
    for (const std::uint32_t rank : ranks) {
      // One where there is a rank, without a jump that depends on it.
      standing.lists += static_cast<std::uint32_t>((std::uint64_t{rank} + kNever) >> 32);
      before = std::min(before, rank - 1);
    }
    if (standing.lists > 0) standing.best_rank = before + 1;
    return standing;
  }

  /// Lower for the document that stands better.
  std::uint64_t number() const { return std::uint64_t{kNever - lists} << 32 | best_rank; }
};

/// `less` when the first stands better: more lists, then the better best rank. Whoever calls goes on by
/// document id.
inline std::strong_ordering by_standing(const Standing& a, const Standing& b) {
  return a.number() <=> b.number();
}

}  // namespace metafuse::fusion
