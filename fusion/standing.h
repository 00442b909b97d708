#pragma once

#include <compare>
#include <cstdint>
#include <limits>

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
};

/// `less` when the first stands better: more lists, then the better best rank. Whoever calls goes on by
/// document id.
inline std::strong_ordering by_standing(const Standing& a, const Standing& b) {
  if (a.lists != b.lists) return b.lists <=> a.lists;
  return a.best_rank <=> b.best_rank;
}

}  // namespace metafuse::fusion
