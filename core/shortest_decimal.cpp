#include "core/shortest_decimal.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

// A double x = m 2^e is what every number between (m - 1/2) 2^e and (m + 1/2) 2^e reads as. Multiplied by
// the power of ten that makes the gap 2^e at least 1 and less than 10, these numbers include a whole number
// and at most one multiple of ten. If there is one, it has the fewest digits; else the nearest whole number.
// In the range below, the power of ten times m fits into 128 bits, so nothing is rounded.

namespace metafuse {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr int kFractionBits = 52;
constexpr std::uint64_t kHiddenBit = std::uint64_t{1} << kFractionBits;
constexpr int kLeastExponent = -10;  // below 1/1024, some numbers are shorter in scientific notation
constexpr int kMostExponent = 29;
constexpr unsigned kPlacesAtEnd = 16;
constexpr std::uint64_t kHalf = 100'000'000;  // of these places

constexpr std::array<std::uint64_t, 20> powers_of(std::uint64_t base) {
  std::array<std::uint64_t, 20> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& one : powers) one = std::exchange(power, power * base);
  return powers;
}

constexpr auto kTens = powers_of(10);
constexpr auto kFives = powers_of(5);

/// For the doubles of one binary exponent: multiplies by 10^places.
struct Scale {
  std::uint64_t factor;  ///< m x 2^11 x factor has the product above its low 64 bits
  unsigned places;
};

constexpr auto all_scales() {
  std::array<Scale, kMostExponent - kLeastExponent + 1> scales{};
  for (int exponent = kLeastExponent; exponent <= kMostExponent; ++exponent) {
    const auto down = static_cast<unsigned>(kFractionBits - exponent);  // the gap is 2^-down
    const unsigned places = (down * 78913 >> 18) + 1;                   // down x log10(2), rounded up
    const unsigned bits_behind = down - places;  // 10^places 2^-down = 5^places 2^-bits_behind
    scales[static_cast<std::size_t>(exponent - kLeastExponent)] = {kFives[places] << (64 - 11 - bits_behind),
                                                                   places};
  }
  return scales;
}

constexpr auto kScales = all_scales();

/// A decimal: digits / 10^places.
struct Decimal {
  std::uint64_t digits;
  unsigned places;
};

/// in: fraction - of a double with this exponent, not 0
Decimal shortest(std::uint64_t fraction, int exponent) {
  const auto [factor, places] = kScales[static_cast<std::size_t>(exponent - kLeastExponent)];
  const Wide scaled = Wide{(fraction | kHiddenBit) << 11} * factor;
  const Wide half_gap = Wide{factor} << 10;  // no bound is a whole number, so it does not matter whose it is
  const auto whole = static_cast<std::uint64_t>(scaled >> 64);
  const auto rest = static_cast<std::uint64_t>(scaled);
  const auto most = static_cast<std::uint64_t>((scaled + half_gap) >> 64);
  const auto least = static_cast<std::uint64_t>((scaled - half_gap) >> 64);
  const std::uint64_t tens = most - most % 10;
  const std::uint64_t rounds_up = rest >> 63 & (std::uint64_t{rest << 1 != 0} | (whole & 1));
  return {tens > least ? tens : whole + rounds_up, places};
}

/// Eight digits as numbers 0 to 9, one per byte, the first in the lowest byte.
std::uint64_t eight_digits(std::uint64_t number) {
  const std::uint64_t fours = number / 10'000 | number % 10'000 << 32;
  const std::uint64_t hundreds = fours * 10'486 >> 20 & 0x7f0000007f;
  const std::uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  const std::uint64_t tens = twos * 103 >> 10 & 0x000f000f000f000f;
  return tens | (twos - tens * 10) << 8;
}

/// Writes sixteen digits, without the zeros at the end.
char* write_last_places(char* at, std::uint64_t high, std::uint64_t low) {
  constexpr std::uint64_t kZeros = 0x3030303030303030;
  const std::uint64_t digits[] = {eight_digits(high), eight_digits(low)};
  const std::uint64_t text[] = {digits[0] | kZeros, digits[1] | kZeros};
  std::memcpy(at, text, sizeof text);
  if (digits[1] != 0) return at + 16 - std::countl_zero(digits[1]) / 8;
  if (digits[0] != 0) return at + 8 - std::countl_zero(digits[0]) / 8;
  while (at[-1] == '0') --at;
  return at;
}

/// Writes a decimal below 1, which has 16 to 19 places, of which at most 17 are no zeros at the beginning.
char* write_below_one(char* at, Decimal decimal) {
  const std::uint64_t high = decimal.digits / kHalf;
  const std::uint64_t first = high / kHalf;
  const auto three = static_cast<std::uint32_t>((0x303030 | first << 16) >> 8 * (19 - decimal.places));
  std::memcpy(at, "0.", 2);
  std::memcpy(at + 2, &three, sizeof three);
  return write_last_places(at + 2 + (decimal.places - kPlacesAtEnd), high % kHalf, decimal.digits % kHalf);
}

/// Writes a decimal of at least 1 that is no whole number and has at most 16 places.
char* write_from_one(char* at, Decimal decimal) {
  const std::uint64_t one = kTens[decimal.places];
  const std::uint64_t behind = decimal.digits % one * kTens[kPlacesAtEnd - decimal.places];
  at = std::to_chars(at, at + kMostDecimalBytes, decimal.digits / one).ptr;
  *at++ = '.';
  return write_last_places(at, behind / kHalf, behind % kHalf);
}

}  // namespace

char* write_shortest(char* at, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>(bits >> kFractionBits & 0x7ff) - 1023;
  const std::uint64_t fraction = bits & (kHiddenBit - 1);
  if (std::endian::native != std::endian::little || exponent < kLeastExponent || exponent > kMostExponent ||
      fraction == 0 || static_cast<double>(static_cast<std::int64_t>(value)) == value)
    return std::to_chars(at, at + kMostDecimalBytes, value).ptr;
  *at = '-';
  at += bits >> 63;
  const Decimal decimal = shortest(fraction, exponent);
  return exponent < 0 ? write_below_one(at, decimal) : write_from_one(at, decimal);
}

}  // namespace metafuse
