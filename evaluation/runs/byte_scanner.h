#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace metafuse::evaluation {

/// Which of 64 bytes end a line.
struct LineEnds {
  static bool holds(char c) { return c == '\n'; }
#if defined(__SSE2__)
  [[gnu::always_inline]] static __m128i holds(__m128i bytes) {
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
  }
#endif
};

/// Which of 64 bytes end a field: blanks, line ends and control bytes.
struct FieldEnds {
  static bool holds(char c) { return static_cast<unsigned char>(c) <= ' '; }
#if defined(__SSE2__)
  [[gnu::always_inline]] static __m128i holds(__m128i bytes) {
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ')), bytes);
  }
#endif
};

/// Which of the up to 64 bytes from `at` on are of the kind: bit i for at[i], without a branch a byte.
template <class Kind>
[[gnu::always_inline]] inline std::uint64_t bits_of_block(const char* at, const char* end) {
  constexpr std::ptrdiff_t kBlock = 64;
#if defined(__SSE2__)
  if (end - at >= kBlock) {
    const auto sixteen = [at](int part) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + part);
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(Kind::holds(bytes))));
    };
    return sixteen(0) | sixteen(1) << 16 | sixteen(2) << 32 | sixteen(3) << 48;
  }
#endif
  std::uint64_t bits = 0;
  const auto size = end - at < kBlock ? end - at : kBlock;
  for (std::ptrdiff_t i = 0; i < size; ++i) bits |= static_cast<std::uint64_t>(Kind::holds(at[i])) << i;
  return bits;
}

/// Walks from one byte of a kind to the next, looking at every byte once.
template <class Kind>
class ByteScanner {
 public:
  ByteScanner(const char* at, const char* end) : block_(at), end_(end), bits_(bits_of_block<Kind>(at, end)) {}

  /// The next byte of the kind, or the end.
  const char* next() {
    while (bits_ == 0) {
      if (end_ - block_ <= 64) return end_;
      block_ += 64;
      bits_ = bits_of_block<Kind>(block_, end_);
    }
    const char* const found = block_ + std::countr_zero(bits_);
    bits_ &= bits_ - 1;
    return found;
  }

 private:
  const char* block_;
  const char* end_;
  std::uint64_t bits_;
};

}  // namespace metafuse::evaluation
