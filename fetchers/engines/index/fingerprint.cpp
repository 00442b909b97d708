#include "fetchers/engines/index/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "fetchers/engines/index/analysis.h"

namespace metafuse::fetchers {
namespace {

/// Calls `take` with the hash of each pair of neighbouring words; the first word has no word before it.
template <class Take>
void for_each_word_pair(std::string_view text, const Take& take) {
  std::uint64_t before = 0;
  for (WordCutter cutter(text); cutter.next();) {
    const std::uint64_t word = XXH3_64bits(cutter.word().data(), cutter.word().size());
    take(XXH3_64bits_withSeed(&word, sizeof word, before));
    before = word;
  }
}

}  // namespace

std::uint64_t text_fingerprint(std::string_view text) {
  std::array<std::int32_t, 64> votes{};
  std::size_t pairs = 0;
  for_each_word_pair(text, [&](std::uint64_t pair) {
    ++pairs;
    for (std::size_t bit = 0; bit < 64; ++bit)
      votes[bit] += static_cast<std::int32_t>(pair >> bit & 1) * 2 - 1;
  });
  std::uint64_t out = 0;
  for (std::size_t bit = 0; bit < 64; ++bit) out |= std::uint64_t{votes[bit] > 0} << bit;
  return pairs == 0 ? 0 : std::max<std::uint64_t>(out, 1);
}

int differing_bits(std::uint64_t a, std::uint64_t b) {
  return std::popcount(a ^ b);
}

std::vector<std::uint64_t> word_pairs(std::string_view text) {
  std::vector<std::uint64_t> out;
  for_each_word_pair(text, [&](std::uint64_t pair) { out.push_back(pair); });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double common_share(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::size_t common = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    common += *x == *y ? 1 : 0;
    const bool moves_x = *x <= *y;
    const bool moves_y = *y <= *x;
    x += moves_x ? 1 : 0;
    y += moves_y ? 1 : 0;
  }
  const std::size_t all = a.size() + b.size() - common;
  return all == 0 ? 0.0 : static_cast<double>(common) / static_cast<double>(all);
}

}  // namespace metafuse::fetchers
