#include "core/languages.h"

#include <string>

#include <catch2/catch.hpp>

using namespace metafuse;

TEST_CASE("The names that engines use for a language become one tag", "[core][languages]") {
  for (const char* text :
       {"de", "DE", "ger", "deu", "German", "german", " de ", "[\"de\",\"en\"]", "de,en", "de;q=0.8"})
    CHECK(language_tag(text) == "de");
  CHECK(language_tag("EN_us") == "en-US");
  CHECK(language_tag("zh-hANT-tw") == "zh-Hant-TW");
  CHECK(language_tag("chi") == "zh");
  for (const char* norwegian : {"no", "nb", "nor", "Norwegian"}) CHECK(language_tag(norwegian) == "nb");
  CHECK(language_tag("no-NO") == "nb-NO");
  CHECK(language_tag("nds") == "nds");  // not in the table but still a valid code
  CHECK(language_tag("pt-BR-\xFF") == "pt-BR");
  CHECK(language_tag("de-toolongsubtag") == "de");
  CHECK(language_tag("de-ABCDEFGH") == "de-abcdefgh");  // only four letters are a script
  CHECK(language_tag("de-abcdefghi") == "de");
  const std::string longest = "de-aaaaaaaa-aaaaaaaa-aaaaaaaa-aaaaa";  // 35 bytes
  CHECK(language_tag(longest) == longest);
  CHECK(language_tag(longest + "a").empty());
}

TEST_CASE("A text that does not name exactly one language has no tag", "[core][languages]") {
  for (const char* text : {"", " ", "x", "und", "mul", "zxx", "multiple", "no idea", "in English", "12", "d1",
                           "\xC3\xA9\xC3\xA9", "\"><script>", "aVeryLongTextThatCannotBeATagOfAnyLanguage"})
    CHECK(language_tag(text).empty());
}

TEST_CASE("A language is a tag or a name and nothing else", "[core][languages]") {
  for (const char* text : {"de", "pt-BR", "zh_CN", "German", "en-all", "nds"}) CHECK(names_language(text));
  for (const char* text : {"", "de,en", "de/../x", "en;q=0.8", " de", "[\"de\"]", "und", "x", "\xC3\xA9"})
    CHECK_FALSE(names_language(text));
}

TEST_CASE("A language is shown by its own name", "[core][languages]") {
  CHECK(language_name("de") == "Deutsch");
  CHECK(language_name("pt-BR") == "Português (BR)");
  CHECK(language_name("nds") == "nds");
  for (const Language& language : known_languages()) {
    CHECK(language_tag(language.english) == language.tag);
    CHECK(language_tag(language.codes.substr(language.codes.size() - 3)) == language.tag);
  }
}
