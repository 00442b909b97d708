#include "core/number.h"

#include <charconv>
#include <cstdlib>

namespace metafuse {
namespace {

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
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
  while (p < end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
  auto count = p - first;
  std::ptrdiff_t decimals = 0;
  if (p < end && *p == '.') {
    const char* const point = p++;
    while (p < end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
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
