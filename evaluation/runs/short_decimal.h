#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace metafuse::evaluation {

/// Reads a number such as 13.473713 or -2.5: at most eight digits before a point and one to eight behind it.
///
/// in:     from, to - the whole number; the eight bytes before `from` and those behind `to` up to
///         `from + 24` can be read
/// out:    the nearest double; false for any other text, which read_double then looks at
/// source: both halves by multiplications over eight digits at once (Lemire 2018); exact by one correctly
///         rounded division, since both numbers are below 2^53 (Clinger 1990)
[[gnu::always_inline]] inline bool read_short_decimal(const char* from, const char* to, double& value) {
  constexpr std::uint64_t kZeros = 0x3030303030303030U;
  if constexpr (std::endian::native != std::endian::little) return false;
  const bool is_negative = *from == '-';
  if (is_negative) ++from;
  const auto load = [](const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    return word;
  };
  // The point: the lowest byte equal to '.' among the first nine; bytes below it cannot borrow.
  const std::uint64_t differs = load(from + 1) ^ 0x2e2e2e2e2e2e2e2eU;
  const std::uint64_t hit = (differs - 0x0101010101010101U) & ~differs & 0x8080808080808080U;
  if (hit == 0) return false;
  const auto whole = static_cast<std::uint64_t>(std::countr_zero(hit)) / 8 + 1;  // digits before the point
  const char* const point = from + whole;
  const auto decimals = static_cast<std::uint64_t>(to - point - 1);
  if (point >= to || decimals - 1 > 7) return false;
  // Digits to the high end of each word, zeros below: the words read as eight-digit numbers.
  const std::uint64_t high = (load(point - 8) ^ kZeros) >> (64 - 8 * whole) << (64 - 8 * whole);
  const std::uint64_t low = (load(point + 1) ^ kZeros) << (64 - 8 * decimals);
  const std::uint64_t no_digit = (high + 0x7676767676767676U) | high | (low + 0x7676767676767676U) | low;
  if ((no_digit & 0x8080808080808080U) != 0) return false;
  const auto eight_digits = [](std::uint64_t word) {
    word = word * 10 + (word >> 8);
    constexpr std::uint64_t kMask = 0x000000ff000000ffU;
    word = (word & kMask) * 0x000f424000000064U + (word >> 16 & kMask) * 0x0000271000000001U;
    return static_cast<std::int64_t>(word >> 32);
  };
  static constexpr std::int64_t kPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const std::int64_t power = kPowers[decimals];
  const std::int64_t digits = eight_digits(high) * power + eight_digits(low);
  if (digits > std::int64_t{1} << 53) return false;
  const double magnitude = static_cast<double>(digits) / static_cast<double>(power);
  value = is_negative ? -magnitude : magnitude;
  return true;
}

}  // namespace metafuse::evaluation
