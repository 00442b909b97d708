#include <catch2/catch.hpp>

#include "templates/search_template.h"

using namespace metafuse::templates;

namespace {

/// The only mistake of a text as "OFFSET message".
std::string mistake_in(std::string_view text) {
  const TemplateText parsed = parse_template_text(text);
  INFO(text);
  REQUIRE(parsed.mistakes.size() == 1);
  return std::to_string(parsed.mistakes[0].offset) + ' ' + parsed.mistakes[0].text;
}

}  // namespace

TEST_CASE("The text of a query has characters and slots with filters and groups", "[templates]") {
  const TemplateText parsed = parse_template_text("+\"{NAME}\" [near { PLACE | last | lower }]");
  REQUIRE(parsed.mistakes.empty());
  REQUIRE(parsed.pieces.size() == 4);
  CHECK(parsed.pieces[0].literal == "+\"");
  CHECK(parsed.pieces[1].slot.slot == "NAME");
  CHECK(parsed.pieces[1].slot.in_quotes);
  CHECK(parsed.pieces[2].literal == "\" ");
  REQUIRE(parsed.pieces[3].kind == Piece::Kind::group);
  const SlotUse& use = parsed.pieces[3].group[1].slot;
  CHECK(use.slot == "PLACE");
  CHECK_FALSE(use.in_quotes);
  REQUIRE(use.filters.size() == 2);
  CHECK(use.filters[0]->name == "last");
  CHECK(use.filters[1]->name == "lower");
}

TEST_CASE("Doubled braces and brackets stand for single ones", "[templates]") {
  const TemplateText parsed = parse_template_text("{{a}} [[b]] {{{X}}}");
  REQUIRE(parsed.mistakes.empty());
  REQUIRE(parsed.pieces.size() == 3);
  CHECK(parsed.pieces[0].literal == "{a} [b] {");
  CHECK(parsed.pieces[1].slot.slot == "X");
  CHECK(parsed.pieces[2].literal == "}");
}

TEST_CASE("Groups can be nested", "[templates]") {
  const TemplateText parsed = parse_template_text("[{A} [{B}] ]");
  REQUIRE(parsed.mistakes.empty());
  REQUIRE(parsed.pieces.size() == 1);
  CHECK(parsed.pieces[0].group.size() == 4);
  CHECK(parsed.pieces[0].group[2].kind == Piece::Kind::group);
}

TEST_CASE("Every mistake in a query text is reported with its place", "[templates]") {
  CHECK(mistake_in("a {X").rfind("2 this { is not closed", 0) == 0);
  CHECK(mistake_in("a {X [{Y}]").rfind("2 this { is not closed", 0) == 0);
  CHECK(mistake_in("a } {X}").rfind("2 } without a {", 0) == 0);
  CHECK(mistake_in("{X} [{Y}").rfind("4 this [ is not closed", 0) == 0);
  CHECK(mistake_in("{X} ]").rfind("4 ] without a [", 0) == 0);
  CHECK(mistake_in("{X} []").rfind("4 no slot inside [...]", 0) == 0);
  CHECK(mistake_in("{X} [a]").rfind("4 no slot inside [...]", 0) == 0);
  CHECK(mistake_in("{}").rfind("1 no slot name", 0) == 0);
  CHECK(mistake_in("{1X}").rfind("1 \"1X\" is not a slot name", 0) == 0);
  CHECK(mistake_in("{X-Y}").rfind("1 \"X-Y\" is not a slot name", 0) == 0);
  CHECK(mistake_in("{X|}").rfind("3 unknown filter \"\"", 0) == 0);
  CHECK(
      mistake_in("{X|last|  upper}").rfind("10 unknown filter \"upper\"; known filters are words, all", 0) ==
      0);
  CHECK(mistake_in("{X} \"open").rfind("4 this quote is not closed", 0) == 0);
  CHECK(mistake_in("\"{X|all}\"").rfind("4 the filter all is inside quotes", 0) == 0);
  CHECK(mistake_in("\"{X|lower|phrase}\"").rfind("10 the filter phrase is inside quotes", 0) == 0);
  CHECK(mistake_in("\"{X} [{Y}\" ]").rfind("5 a quote opens or closes inside", 0) == 0);
}

TEST_CASE("All mistakes of a query text are found at once", "[templates]") {
  CHECK(parse_template_text("} {X|a|b} ] [c] {").mistakes.size() == 6);
  CHECK(parse_template_text("[{X} [c] ]").mistakes.size() == 1);  // only the inner group has no slot
}

TEST_CASE("Groups are nested up to sixteen levels", "[templates]") {
  const auto is_good = [](int depth) {
    std::string text = "{A}";
    for (int i = 0; i < depth; ++i) text = "[ " + text + " ]";
    return parse_template_text(text).mistakes.empty();
  };
  CHECK(is_good(16));
  CHECK_FALSE(is_good(17));
}

TEST_CASE("A doubled character at the end of a query text is one character", "[templates]") {
  for (const char* text : {"{A} {{", "{A} }}", "{A} [[", "{A} ]]"}) {
    INFO(text);
    const TemplateText parsed = parse_template_text(text);
    REQUIRE(parsed.mistakes.empty());
    CHECK(parsed.pieces.back().literal.size() == 2);
  }
}
