#pragma once

// Several numbers or bytes at once (SIMD).

#include <cstddef>
#include <cstdint>
#include <cstring>

// METAFUSE_CLONES in front of a function compiles it for several SIMD widths; the widest that the processor
// supports is chosen at run time. Builds with Clang, AddressSanitizer or METAFUSE_PLAIN_KERNELS, or for other
// processors than x86-64, compile the default version only. The results are the same.
#if defined(METAFUSE_PLAIN_KERNELS)
#define METAFUSE_CLONES
#elif defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define METAFUSE_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define METAFUSE_CLONES
#endif

// METAFUSE_AVX2 in front of a function lets it use the instructions of AVX2. Call it only if has_avx2().
// Where the macro is not defined, there is no such function.
#if defined(__GNUC__) && defined(__x86_64__) && !defined(METAFUSE_PLAIN_KERNELS)
#define METAFUSE_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#endif

namespace metafuse {

#if defined(METAFUSE_AVX2)
inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
         __builtin_cpu_supports("bmi2") != 0;
}
#endif

/// Sixteen bytes that are compared at once, for loops that search a text for rare characters.
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

/// Sums are formed in this many lanes, so that they do not depend on the SIMD width.
inline constexpr std::size_t kSumLanes = 8;

/// The total of kSumLanes lanes, always added in the same order.
inline double total_of_lanes(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace metafuse
