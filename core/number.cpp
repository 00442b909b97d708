#include "core/number.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace metafuse {
namespace {

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr std::uint64_t kZeros = 0x3030303030303030;
constexpr std::uint64_t kPowers[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

/// How many of eight characters, the first in the lowest byte, are digits before the first that is none.
int leading_digits(std::uint64_t eight) {
  const std::uint64_t values = eight ^ kZeros;  // 0 to 9 for digits
  const std::uint64_t others = ((values + 0x7676767676767676) | values) & 0x8080808080808080;
  return others == 0 ? 8 : std::countr_zero(others) / 8;
}

/// The number that the first `count` of eight digits make; count > 0. Three multiplications instead of eight.
std::uint64_t number_of(std::uint64_t eight, int count) {
  std::uint64_t values = (eight ^ kZeros) << (64 - 8 * count);  // zeros in front
  values = values * 10 + (values >> 8);
  return ((values & 0x000000ff000000ff) * 0x000f424000000064 +
          (values >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >>
         32;
}

/// Reads digits on to what `digits` holds and moves p behind them.
void read_digits(const char*& p, const char* end, std::uint64_t& digits) {
  if constexpr (std::endian::native == std::endian::little) {
    while (end - p >= 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, p, 8);
      const int count = leading_digits(eight);
      if (count == 0) return;
      digits = digits * kPowers[count] + number_of(eight, count);
      p += count;
      if (count < 8) return;
    }
  }
  while (p < end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
}

bool read_double_slowly(const char*& at, const char* end, double& value) {
  const char* from = at;
  if (from < end && *from == '+' && from + 1 < end && from[1] != '-') ++from;
  const auto [behind, error] = std::from_chars(from, end, value);
  if (error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    // Beyond the range of a double: strtod's answer, infinity or zero, is what a reader expects.
    const std::string copy(from, behind);
    value = std::strtod(copy.c_str(), nullptr);
  }
  at = behind;
  return true;
}

}  // namespace

bool read_double(const char*& at, const char* end, double& value) {
  const char* p = at;
  const bool is_negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  std::uint64_t digits = 0;
  const char* const first = p;
  // Most numbers begin with one digit before the point.
  if (p < end && is_digit(*p)) digits = static_cast<std::uint64_t>(*p++ - '0');
  if (p < end && is_digit(*p)) read_digits(p, end, digits);
  auto count = p - first;
  std::ptrdiff_t decimals = 0;
  if (p < end && *p == '.') {
    const char* const point = p++;
    read_digits(p, end, digits);
    decimals = p - point - 1;
    count += decimals;
  }
  // Exact by one correctly rounded division when both numbers are exact doubles (Clinger 1990).
  const bool has_exponent = p < end && (*p == 'e' || *p == 'E');
  if (count == 0 || count > 19 || digits > (std::uint64_t{1} << 53) || decimals > 22 || has_exponent)
    return read_double_slowly(at, end, value);
  const double magnitude = static_cast<double>(digits) / kPowersOfTen[decimals];
  value = is_negative ? -magnitude : magnitude;
  at = p;
  return true;
}

bool read_integer(const char*& at, const char* end, std::int64_t& value) {
  const char* from = at;
  if (from < end && *from == '+' && from + 1 < end && is_digit(from[1])) ++from;
  const auto [behind, error] = std::from_chars(from, end, value);
  if (error != std::errc()) return false;
  at = behind;
  return true;
}

bool to_double(std::string_view text, double& value) {
  const char* at = text.data();
  return read_double(at, text.data() + text.size(), value) && at == text.data() + text.size();
}

bool to_integer(std::string_view text, std::int64_t& value) {
  const char* at = text.data();
  return read_integer(at, text.data() + text.size(), value) && at == text.data() + text.size();
}

void append_number(std::string& text, double value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, end);
}

void append_number(std::string& text, std::int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, end);
}

}  // namespace metafuse
