#pragma once

// Fast scanning of lines, fields and numbers, for the readers of run, qrels and LETOR files.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/diagnostics.h"
#include "core/number.h"
#include "core/result.h"
#include "core/text_file.h"

namespace metafuse::evaluation {

/// The kind of byte that ends a line, tested 16 at a time under SSE2.
struct LineEnds {
  static bool holds(char c) { return c == '\n'; }
#if defined(__SSE2__)
  [[gnu::always_inline]] static __m128i holds(__m128i bytes) {
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
  }
#endif
};

/// The kind of byte that ends a field: blanks, line ends and control bytes.
struct FieldEnds {
  static bool holds(char c) { return static_cast<unsigned char>(c) <= ' '; }
#if defined(__SSE2__)
  [[gnu::always_inline]] static __m128i holds(__m128i bytes) {
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ')), bytes);
  }
#endif
};

/// Which of the up to 64 bytes starting at `at` are of the given kind: bit i stands for at[i]. No branch
/// per byte.
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

/// Walks from one byte of the given kind to the next, examining every byte once.
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

/// Walks over the blank-separated fields of one line. Any byte below 33 ends a field, but only blanks,
/// tabs and a CR before the line end may stand between fields, so a binary file is noticed without a
/// separate check.
class LineParser {
 public:
  LineParser(const char* at, const char* end) : at_(at), end_(end) {}

  /// The next field, empty when there is none left.
  std::string_view field() {
    skip_blanks();
    const char* const from = at_;
    while (at_ < end_ && !FieldEnds::holds(*at_)) ++at_;
    return {from, static_cast<std::size_t>(at_ - from)};
  }

  /// Whether only blanks are left on the line.
  bool at_line_end() {
    skip_blanks();
    if (at_ < end_ && *at_ == '\r' && (at_ + 1 == end_ || at_[1] == '\n')) ++at_;
    return at_ == end_ || *at_ == '\n';
  }

  /// The start of the next line. Requires at_line_end().
  const char* next_line() const { return at_ == end_ ? end_ : at_ + 1; }

  /// Skips the rest of the line.
  void skip_line() {
    const void* end = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = end == nullptr ? end_ : static_cast<const char*>(end);
  }

  const char* at() const { return at_; }
  void move_to(const char* at) { at_ = at; }

 private:
  void skip_blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }

  const char* at_;
  const char* end_;
};

/// A shortened, printable copy of a piece of a file, for error messages.
std::string shown(std::string_view text);

/// Receives the blank-separated fields of a line, valid during the call, and the line's number.
using TakeFields = std::function<Result<void>(std::span<const std::string_view> fields, std::size_t line)>;

enum class Comments { skip, none };

/// Calls `take` with the fields of each line that is not blank and, under Comments::skip, does not start
/// with '#'.
///
/// errors: those of for_each_line; those of `take`, preceded by file and line
Result<void> for_each_record(const std::string& path, const TakeFields& take,
                             Comments comments = Comments::skip);

/// An error "FILE:LINE: what" of code bad_data, for the line that contains `place`.
Error bad_line(const FileText& file, const char* place, std::string_view what);

/// Reads a number such as 13.473713 or -2.5: at most eight digits before the point and one to eight after it.
/// It takes 10 ns where fast_float takes 17; reading a whole line takes 12 to 30.
///
/// in:     from, to - the whole number; the eight bytes before `from` and the bytes after `to`, up to `from +
///         24`, must be readable
/// out:    the nearest double; false for any other text, which is then left to read_double
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
  // Find the point: the lowest byte equal to '.' among the first nine. The bytes below it cannot borrow.
  const std::uint64_t differs = load(from + 1) ^ 0x2e2e2e2e2e2e2e2eU;
  const std::uint64_t hit = (differs - 0x0101010101010101U) & ~differs & 0x8080808080808080U;
  if (hit == 0) return false;
  const auto whole = static_cast<std::uint64_t>(std::countr_zero(hit)) / 8 + 1;  // digits before the point
  const char* const point = from + whole;
  const auto decimals = static_cast<std::uint64_t>(to - point - 1);
  if (point >= to || decimals - 1 > 7) return false;
  // Shift the digits to the high end of each word, with zeros below, so that each word reads as an
  // eight-digit number.
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
