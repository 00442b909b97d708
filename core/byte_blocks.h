#pragma once

// Blocks of sixteen bytes that are compared at once (SIMD), for loops that search a text for rare characters.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace metafuse {

using ByteBlock __attribute__((vector_size(16))) = unsigned char;

inline ByteBlock block_at(const char* text) {
  ByteBlock block;
  std::memcpy(&block, text, sizeof block);
  return block;
}

/// True when any byte is not 0. Comparing two blocks gives a block with -1 in each byte where it holds and
/// 0 elsewhere.
template <class Block>
bool has_any(const Block& block) {
  static_assert(sizeof(Block) == sizeof(ByteBlock));
  std::uint64_t halves[2];
  std::memcpy(halves, &block, sizeof block);
  return (halves[0] | halves[1]) != 0;
}

}  // namespace metafuse
