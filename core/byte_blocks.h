#pragma once

// Searching texts for rare bytes, 16 at a time. A comparison of blocks gives -1 in each byte where it holds.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/simd.h"

namespace metafuse {

/// A block's bytes as numbers from -128 to 127, which are compared faster.
using SignedBlock __attribute__((vector_size(16))) = signed char;

/// The first byte of a block of comparisons where it holds. Requires has_any(block).
template <class Block>
std::size_t first_place(const Block& block) {
  std::uint64_t halves[2];
  std::memcpy(halves, &block, sizeof block);
  const auto in_half = [](std::uint64_t half) {
    const int bits =
        std::endian::native == std::endian::little ? std::countr_zero(half) : std::countl_zero(half);
    return static_cast<std::size_t>(bits) / 8;
  };
  return halves[0] != 0 ? in_half(halves[0]) : 8 + in_half(halves[1]);
}

/// The place of the first byte of a text for which a comparison holds; the text's size if there is none.
///
/// in: holds - from a block to a block of comparisons
template <class Holds>
std::size_t find_byte(std::string_view text, const Holds& holds) {
  constexpr std::size_t kStep = sizeof(ByteBlock);
  char padded[kStep] = {};
  if (text.size() < kStep) {
    if (!text.empty()) std::memcpy(padded, text.data(), text.size());
    const auto found = holds(block_at(padded));
    return has_any(found) ? std::min(first_place(found), text.size()) : text.size();
  }
  for (std::size_t at = 0;; at = std::min(at + kStep, text.size() - kStep)) {
    const auto found = holds(block_at(text.data() + at));
    if (has_any(found)) return at + first_place(found);
    if (at + kStep == text.size()) return text.size();
  }
}

/// The block that begins one byte later than the given one, with a letter in place of its last byte. It is
/// put together in registers: loading what was just stored in two pieces would wait for them.
inline ByteBlock block_behind(const char* text) {
  using Halves __attribute__((vector_size(16))) = std::uint64_t;
  std::uint64_t first = 0, second = 0;
  std::memcpy(&first, text + 1, sizeof first);
  std::memcpy(&second, text + 8, sizeof second);
  if constexpr (std::endian::native == std::endian::little)
    second = second >> 8 | std::uint64_t{'x'} << 56;
  else
    second = second << 8 | std::uint64_t{'x'};
  return ByteBlock(Halves{first, second});
}

/// Whether a comparison holds for no byte of a text.
///
/// in: holds - from a block, and the block that begins one byte later, to a block of comparisons. Behind the
///     text's last byte it sees a letter; it must not hold for two letters.
template <class Holds>
bool holds_nowhere(std::string_view text, const Holds& holds) {
  constexpr std::size_t kStep = sizeof(ByteBlock);
  char padded[kStep];
  if (text.size() < kStep) {
    std::memset(padded, 'x', sizeof padded);
    if (!text.empty()) std::memcpy(padded, text.data(), text.size());
    text = {padded, kStep};
  }
  const char* const last = text.data() + text.size() - kStep;
  auto found = holds(block_at(last), block_behind(last));
  for (const char* at = text.data(); at < last; at += kStep) found |= holds(block_at(at), block_at(at + 1));
  return !has_any(found);
}

}  // namespace metafuse
