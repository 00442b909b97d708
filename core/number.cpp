#include "core/number.h"

#include <charconv>

#include <fast_float/fast_float.h>

#include "core/shortest_decimal.h"
#include "core/text.h"

namespace metafuse {

bool read_double(const char*& at, const char* end, double& value) {
  const char* from = at;
  if (from < end && *from == '+' && from + 1 < end && from[1] != '-') ++from;
  // Numbers outside the range of a double become infinity or zero, as a reader would expect.
  const auto [behind, error] = fast_float::from_chars(from, end, value);
  if (error == std::errc::invalid_argument) return false;
  at = behind;
  return true;
}

bool read_integer(const char*& at, const char* end, std::int64_t& value) {
  const char* from = at;
  if (from < end && *from == '+' && from + 1 < end && is_ascii_digit(from[1])) ++from;
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

std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

void append_number(std::string& text, double value) {
  char digits[kMostDecimalBytes];
  text.append(digits, write_shortest(digits, value));
}

}  // namespace metafuse
