#pragma once

// Sixteen bytes of a text at once, for loops that look for rare characters.

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

/// True when a byte is not 0. Comparisons of blocks give blocks of 0 and -1.
template <class Block>
bool has_any(const Block& block) {
  static_assert(sizeof(Block) == sizeof(ByteBlock));
  std::uint64_t halves[2];
  std::memcpy(halves, &block, sizeof block);
  return (halves[0] | halves[1]) != 0;
}

}  // namespace metafuse
