#include "core/text.h"

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;

namespace {

/// Whether the text is valid UTF-8, directly by table 3-7 of the Unicode standard.
bool decodes(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t extra = 0;
    unsigned code = 0;
    if (lead < 0x80) {
      code = lead;
    } else if (lead >> 5U == 6U) {
      extra = 1;
      code = lead & 0x1FU;
    } else if (lead >> 4U == 14U) {
      extra = 2;
      code = lead & 0x0FU;
    } else if (lead >> 3U == 30U) {
      extra = 3;
      code = lead & 0x07U;
    } else {
      return false;
    }
    if (i + extra >= text.size()) return false;
    for (std::size_t k = 1; k <= extra; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if (byte >> 6U != 2U) return false;
      code = code << 6U | (byte & 0x3FU);
    }
    const unsigned smallest[] = {0, 0x80, 0x800, 0x10000};
    if (code < smallest[extra] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    i += extra + 1;
  }
  return true;
}

}  // namespace

TEST_CASE("Names as long as nobody mistypes are not compared", "[core]") {
  const std::string name(200, 'a');
  CHECK(near_names(name, {name + "b"}) == std::vector<std::string>{name + "b"});
  CHECK(near_names(name + "a", {name + "b"}).empty());
}

TEST_CASE("Validation of random bytes agrees with a plain decoder", "[core][utf8]") {
  Random random(11);
  const unsigned char interesting[] = {0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0x9F,
                                       0xA0, 0xED, 0xEF, 0xF0, 0x8F, 0x90, 0xF4, 0xF5, 0xFF};
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(7); n > 0; --n)
      text += static_cast<char>(interesting[random.below(sizeof interesting)]);
    INFO(i);
    CHECK((first_invalid_utf8(text) == std::string_view::npos) == decodes(text));
    CHECK(decodes(to_valid_utf8(text)));
  }
}

TEST_CASE("Text is cut between characters", "[core][utf8]") {
  CHECK(truncate_utf8("a\xc3\xa9z", 2) == "a");
  CHECK(truncate_utf8("a\xc3\xa9z", 3) == "a\xc3\xa9");
  CHECK(truncate_utf8("abc", 9) == "abc");
  CHECK(truncate_utf8("\x80\x80\x80", 2).empty());
}

TEST_CASE("Code points of every length are read", "[core][utf8]") {
  for (const auto& [text, code] : {std::pair<std::string, char32_t>{"a", U'a'},
                                   {"\xC2\x80", 0x80},
                                   {"\xDF\xBF", 0x7FF},
                                   {"\xE0\xA0\x80", 0x800},
                                   {"\xEF\xBF\xBF", 0xFFFF},
                                   {"\xF0\x90\x80\x80", 0x10000}}) {
    std::size_t at = 0;
    CHECK(next_code_point(text + "x", at) == code);
    CHECK(at == text.size());
  }
}
