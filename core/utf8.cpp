#include "core/utf8.h"

#include <cstdint>

#include <simdjson.h>

#include "core/contract.h"

namespace metafuse {
namespace {

/// The length of the well-formed character at the start of the text; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

char to_byte(char32_t value) {
  return static_cast<char>(static_cast<unsigned char>(value));
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string_view::npos;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string to_valid_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      out += "\xef\xbf\xbd";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

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

}  // namespace metafuse
