#include "fetchers/answers/answer_text.h"

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse::fetchers;
using namespace std::string_view_literals;

TEST_CASE("Cleaning removes markup and control characters and keeps the words", "[fetchers][text]") {
  const auto plain = [](std::string_view text) { return clean_text(text, false, 500); };
  const auto html = [](std::string_view text) { return clean_text(text, true, 500); };
  CHECK(html("a <b c <i>d</i> <u e") == "a d <u e");  // a tag ends at the next >, whatever is before it
  CHECK(plain("x <qq y <zz w> <b>v</b>") == "x <qq y <zz w> v");
  CHECK(plain("A <b>fast</b> browser") == "A fast browser");
  CHECK(plain("std::vector<int> and a < b > c") == "std::vector<int> and a < b > c");
  CHECK(plain("Tom &amp; Jerry") == "Tom &amp; Jerry");
  CHECK(plain("<em>Tom</em> &amp; Jerry") == "Tom & Jerry");
  CHECK(html("Tom &amp; Jerry &lt;3 &#233;&#xe9;&nbsp;!") == "Tom & Jerry <3 éé !");
  CHECK(html("a<script>alert('<b>')</script>b") == "ab");
  CHECK(html("one<br>two<p>three") == "one two three");
  CHECK(html("be<b>fore</b>") == "before");
  CHECK(html("<!-- hidden -->seen") == "seen");
  CHECK(html("cut <b") == "cut <b");
  CHECK(html("&#0;&#xD800;&#1114112;&bogus;") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD&bogus;");
  CHECK(plain("a\x01\x02\tb\r\n  c\x7F") == "a b c");
  CHECK(plain("evil\xE2\x80\xAEtxt.exe \xE2\x81\xA6x") == "eviltxt.exe x");
  CHECK(plain("bad \xFF\xC3( byte") == "bad \xEF\xBF\xBD\xEF\xBF\xBD( byte");
  CHECK(clean_text("äöü", false, 3) == "ä");
  CHECK(plain(" \n ") == "");
}

TEST_CASE("A printable text has no character that acts instead of being shown", "[fetchers][text]") {
  CHECK(printable("a\x1b[31m\nb\tc\x7F") == "a [31m b c ");
  CHECK(printable("\xC2\x9B"
                  "31m \xC2\x9C \xC2\xA0\xC3\xA4") == " 31m   \xC2\xA0\xC3\xA4");
  CHECK(printable("a\xE2\x80\xAEgpj.exe \xE2\x81\xA6x\xE2\x81\xA9") == "a gpj.exe  x ");
  CHECK(printable("\xE2\x80\xA9 \xE2\x81\xAA") == "\xE2\x80\xA9 \xE2\x81\xAA");  // next to those
  CHECK(printable("a\xFF") == "a\xEF\xBF\xBD");
  CHECK(without_controls("a\r\n\tb\0c\x1b"sv) == "a\r\n\tb c ");
}

TEST_CASE("A lone surrogate costs no other character of UTF-16", "[fetchers][text]") {
  const std::string lone(
      "a\0\x00\xD8"
      "b\0c\0",
      8);
  CHECK(as_utf8(lone, "utf-16le") == "a\uFFFDbc");
  CHECK(as_utf8("\xFF\xFE" + lone, "") == "a\uFFFDbc");
  CHECK(as_utf8(lone + "d", "utf-16le") == "a\uFFFDbc\uFFFD");  // half a unit
  const std::string wide(
      "a\0\0\0\xFF\xFF\xFF\xFF"
      "b\0\0\0",
      12);
  CHECK(as_utf8(wide, "utf-32le") == "a\uFFFDb");
}

TEST_CASE("Characters to clean are found at every place of a text of any length", "[fetchers][text]") {
  for (std::size_t size = 2; size < 70; ++size)
    for (std::size_t at = 1; at + 1 < size; ++at) {
      const auto with = [&](std::string_view odd) {
        return std::string(at, 'a') + std::string(odd) + std::string(size - at, 'b');
      };
      INFO(size << " characters, the odd one at " << at);
      CHECK(clean_text(with("  "), false, 500) == with(" "));
      CHECK(clean_text(with(std::string_view("\0", 1)), false, 500) == with(" "));
      CHECK(clean_text(with("\x7F"), false, 500) == with(" "));
      CHECK(clean_text(with("\xC2\xA0"), false, 500) == with(" "));
      CHECK(clean_text(with("<b>"), false, 500) == with(""));
      CHECK(clean_text(with("&amp;"), true, 500) == with("&"));
      CHECK(clean_text(with("&amp;"), false, 500) == with("&amp;"));
      CHECK(clean_text(with(" "), true, 500) == with(" "));
    }
}

TEST_CASE("Numbers are read in the forms in which APIs write them", "[fetchers][text]") {
  const auto number = [](std::string_view text) {
    double value = -1;
    return clean_number(text, value) ? value : -1;
  };
  CHECK(number("12.5") == 12.5);
  CHECK(number(" 1,234,567.5 ") == 1234567.5);
  CHECK(number("87 %") == Approx(0.87));
  CHECK(number("1e3") == 1000);
  for (const char* none : {"", "1,23", ",123", "1,2345", "many", "nan", "inf", "12 of 20"})
    CHECK(number(none) == -1);
}

TEST_CASE("The fast check for clean text never changes the result of cleaning", "[fetchers][text]") {
  // An invisible character at the end is removed and forces the slow path.
  metafuse::Random random(7);
  constexpr std::string_view kCharacters = "ab  <&;x>/\t\x7F\x1F~ !";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const std::size_t size = random.below(40);
    while (text.size() < size)
      text += random.below(3) == 0 ? kCharacters[random.below(kCharacters.size())] : 'w';
    for (const bool is_html : {false, true}) {
      INFO(text);
      REQUIRE(clean_text(text, is_html, 200) == clean_text(text + "\xE2\x80\x8B", is_html, 200));
    }
  }
}
