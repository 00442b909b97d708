#include "core/text.h"

#include <cstdint>
#include <numeric>
#include <utility>

#include <simdjson.h>

#include "core/byte_blocks.h"
#include "core/contract.h"

namespace metafuse {
namespace {

/// The length of the well-formed character at the start of the text; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U; };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  const bool is_overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xED && byte(1) > 0x9F;
  const bool is_beyond_unicode = first == 0xF4 && byte(1) > 0x8F;
  return text.empty() || is_overlong || is_surrogate || is_beyond_unicode ? 0 : length;
}

char to_byte(char32_t value) {
  return static_cast<char>(static_cast<unsigned char>(value));
}

/// The number of letters to insert, remove, replace or swap with a neighbour (Damerau 1964).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0U : 1U), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string ascii_squeezed(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n\f\v";
  std::string out;
  for (const char c : ascii_trimmed(text, kWhite)) {
    const bool is_white = kWhite.find(c) != std::string_view::npos;
    if (!is_white || out.back() != ' ') out += is_white ? ' ' : c;
  }
  return out;
}

bool contains_text(std::string_view text, std::string_view part) {
  constexpr std::size_t kStep = sizeof(ByteBlock);
  if (part.empty() || text.size() < part.size() + kStep - 1) return text.find(part) != std::string_view::npos;
  const ByteBlock first = ByteBlock{} + static_cast<unsigned char>(part.front());
  const ByteBlock last = ByteBlock{} + static_cast<unsigned char>(part.back());
  const auto may_begin = [&](std::size_t at) {
    return (block_at(text.data() + at) == first) & (block_at(text.data() + at + part.size() - 1) == last);
  };
  const std::size_t end = text.size() - part.size() + 1 - kStep;
  auto found = may_begin(end);
  for (std::size_t at = 0; at < end; at += kStep) found |= may_begin(at);
  return has_any(found) && text.find(part) != std::string_view::npos;
}

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
    return;
  }
  const unsigned further_bytes = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  unsigned shift = 6 * further_bytes;
  out += to_byte((0xFF80U >> further_bytes) | (c >> shift));
  while (shift > 0) {
    shift -= 6;
    out += to_byte(0x80 | ((c >> shift) & 0x3F));
  }
}

std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestMistyped = 200;  // comparing takes time; longer text is no mistyped name
  if (given.size() > kLongestMistyped) return {};
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(given, name);
    const bool begins_alike = given.size() >= 2 && name.starts_with(given.substr(0, 3));
    if (begins_alike || distance <= (std::max(given.size(), name.size()) + 1) / 3)
      found.emplace_back(distance, name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [distance, name] : found) names.push_back(std::move(name));
  return names;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t kShown = 3;
  constexpr std::size_t kMostListed = 48;
  std::vector<std::string> near = near_names(given, known);
  if (near.size() > kShown) near.resize(kShown);
  const std::vector<std::string>& names = near.empty() ? known : near;
  if (names.empty()) return "";
  if (near.empty() && names.size() > kMostListed)
    return "; there are " + std::to_string(names.size()) + ", such as " + names[0] + " and " + names[1];
  std::string text = near.empty() ? "; there are " : "; did you mean ";
  const std::string_view last = near.empty() ? " and " : " or ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace metafuse
