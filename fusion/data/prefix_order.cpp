#include "fusion/data/prefix_order.h"

#include <bit>
#include <utility>

namespace metafuse::fusion {
namespace {

constexpr std::size_t kBuckets = 256;
constexpr std::size_t kFew = 1024;
constexpr std::size_t kBytesOfFew = 3;  // enough to tell most of few apart

/// A stable pass over one byte of every number.
void sort_by_byte(const std::vector<std::uint64_t>& from, unsigned shift, std::vector<std::uint64_t>& to) {
  std::uint32_t next[kBuckets] = {};
  for (const std::uint64_t number : from) ++next[number >> shift & 0xff];
  std::uint32_t begin = 0;
  for (std::uint32_t& place : next) begin += std::exchange(place, begin);
  for (const std::uint64_t number : from) to[next[number >> shift & 0xff]++] = number;
}

}  // namespace

std::uint64_t ordered_bits(double number) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

unsigned sort_prefixes(std::vector<std::uint64_t>& numbers) {
  if (std::is_sorted(numbers.begin(), numbers.end())) return kPlaceBits;
  std::uint64_t differing = 0;
  for (const std::uint64_t number : numbers) differing |= number ^ numbers.front();
  const std::size_t most = numbers.size() > kFew ? 8 : kBytesOfFew;
  std::size_t passes = 0;
  unsigned lowest = 64;
  for (unsigned shift = 56; shift >= kPlaceBits && passes < most; shift -= 8)
    if ((differing >> shift & 0xff) != 0) {
      ++passes;
      lowest = shift;
    }
  // In nanoseconds about 2 a number and 130 a pass, against 3 a comparison.
  if (passes * (2 * numbers.size() + 130) > 3 * numbers.size() * std::bit_width(numbers.size())) {
    std::sort(numbers.begin(), numbers.end());
    return kPlaceBits;
  }
  std::vector<std::uint64_t> other(numbers.size());
  for (unsigned shift = lowest; shift < 64; shift += 8) {
    if ((differing >> shift & 0xff) == 0) continue;
    sort_by_byte(numbers, shift, other);
    numbers.swap(other);
  }
  return lowest;
}

}  // namespace metafuse::fusion
