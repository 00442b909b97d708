#include "templates/code_points.h"

#include "core/contract.h"

namespace metafuse::templates {
namespace {

bool is_within(char32_t c, char32_t low, char32_t high) {
  return c >= low && c <= high;
}

char to_byte(char32_t value) {
  return static_cast<char>(static_cast<unsigned char>(value));
}

/// Blocks where capitals are even and the small letter follows.
bool is_even_capital(char32_t c) {
  return c % 2 == 0 &&
         (is_within(c, 0x100, 0x137) || is_within(c, 0x14A, 0x177) || is_within(c, 0x460, 0x481) ||
          is_within(c, 0x48A, 0x4BF) || is_within(c, 0x4D0, 0x52F) || is_within(c, 0x1E00, 0x1E95) ||
          is_within(c, 0x1EA0, 0x1EFF)) &&
         c != 0x130;
}

/// Blocks where capitals are odd and the small letter follows.
bool is_odd_capital(char32_t c) {
  return c % 2 == 1 &&
         (is_within(c, 0x139, 0x148) || is_within(c, 0x179, 0x17E) || is_within(c, 0x4C1, 0x4CE));
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  require(at < text.size(), "a character beyond the text");
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  require(at + length <= text.size(), "text that is not valid UTF-8");
  char32_t c = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) c = (c << 6) | (byte(at + i) & 0x3F);
  at += length;
  return c;
}

void append_code_point(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += to_byte(c);
  } else if (c < 0x800) {
    out += to_byte(0xC0 | (c >> 6));
    out += to_byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += to_byte(0xE0 | (c >> 12));
    out += to_byte(0x80 | ((c >> 6) & 0x3F));
    out += to_byte(0x80 | (c & 0x3F));
  } else {
    out += to_byte(0xF0 | (c >> 18));
    out += to_byte(0x80 | ((c >> 12) & 0x3F));
    out += to_byte(0x80 | ((c >> 6) & 0x3F));
    out += to_byte(0x80 | (c & 0x3F));
  }
}

char32_t to_lower(char32_t c) {
  if (is_within(c, U'A', U'Z') || (is_within(c, 0xC0, 0xDE) && c != 0xD7)) return c + 0x20;
  if (is_even_capital(c) || is_odd_capital(c)) return c + 1;
  if (c == 0x178) return 0xFF;
  if (c == 0x386) return 0x3AC;
  if (is_within(c, 0x388, 0x38A)) return c + 37;
  if (c == 0x38C) return 0x3CC;
  if (c == 0x38E || c == 0x38F) return c + 63;
  if (is_within(c, 0x391, 0x3AB) && c != 0x3A2) return c + 0x20;
  if (is_within(c, 0x400, 0x40F)) return c + 0x50;
  if (is_within(c, 0x410, 0x42F)) return c + 0x20;
  if (c == 0x4C0) return 0x4CF;
  if (is_within(c, 0x531, 0x556)) return c + 0x30;
  return c;
}

}  // namespace metafuse::templates
