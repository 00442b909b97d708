#pragma once

// Texts as ASCII and as UTF-8, independent of the machine's locale, and names that resemble each other.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse {

constexpr bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_ascii_letter_or_digit(char c) {
  return is_ascii_letter(c) || is_ascii_digit(c);
}

constexpr bool is_ascii_small_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || is_ascii_digit(c);
}

/// Lower-casing of ASCII letters only: names of hosts, headers and languages are compared this way.
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr char ascii_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  return lower;
}

/// Whether two texts are equal but for the case of ASCII letters.
constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

/// The value of a hexadecimal digit; -1 for any other character.
constexpr int hex_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  const char small = ascii_lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// The text without any of `blanks` at both ends.
constexpr std::string_view ascii_trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// The text without white space at both ends, and with one blank for each run of it inside.
std::string ascii_squeezed(std::string_view text);

/// Whether a text has another one in it: 16 places at a time are looked at for its first and last byte.
bool contains_text(std::string_view text, std::string_view part);

/// Removes the text before the first separator, and the separator, from the front of `rest` and returns it;
/// without a separator, all of `rest`.
constexpr std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

/// Offset of the first byte that is not part of well-formed UTF-8 (no surrogates, no overlong forms),
/// or npos.
std::size_t first_invalid_utf8(std::string_view text);

/// The text with every ill-formed byte sequence replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

/// At most `max_bytes` bytes of the text, never cut inside a character.
std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes);

/// Returns the character at byte `at` and moves `at` past it. Requires valid UTF-8 and at < text.size().
char32_t next_code_point(std::string_view text, std::size_t& at);

void append_code_point(std::string& out, char32_t c);

/// The known names that a person may have meant by `given`: those that begin with the same letters, or differ
/// from it by at most a third of their letters. The nearest come first.
std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known);

/// The end of an error about an unknown name: "; did you mean A or B", or "; there are A, B and C" when no
/// name is near; of more than 48 only two examples. Empty when `known` is empty.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

}  // namespace metafuse
