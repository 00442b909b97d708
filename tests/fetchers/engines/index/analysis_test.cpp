#include "fetchers/engines/index/analysis.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fetchers/engines/index/stop_words.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view text) {
  Words words;
  for (WordCutter cutter(text); cutter.next();) words.emplace_back(cutter.word());
  return words;
}

Words forms_of(WordKind kind, const std::string& language, std::string_view text) {
  WordForms forms(kind, language);
  Words out;
  for (WordCutter cutter(text); cutter.next();)
    for (const std::string& form : forms.of(cutter.word())) out.push_back(form);
  return out;
}

}  // namespace

TEST_CASE("A text is cut into folded words", "[fetchers][analysis]") {
  CHECK(words_of("The quick-brown FOX_2, (jumps) 3.14") ==
        Words{"the", "quick", "brown", "fox", "2", "jumps", "3", "14"});
  CHECK(words_of("dog's we'll isn\xE2\x80\x99t rock 'n' roll O'Brien l'homme") ==
        Words{"dog", "we", "isn", "rock", "n", "roll", "o", "brien", "l", "homme"});
  CHECK(words_of("Caf\xC3\xA9 STRASSE Stra\xC3\x9F"
                 "e \xEF\xBC\xA1\xEF\xBC\xA2") == Words{"caf\xC3\xA9", "strasse", "strasse", "ab"});
  CHECK(words_of("\xD0\x9C\xD0\x98\xD0\xA0 a\xCC\x81") == Words{"\xD0\xBC\xD0\xB8\xD1\x80", "\xC3\xA1"});
  CHECK(words_of("").empty());
  CHECK(words_of(" .,- \xE2\x80\x94 \xF0\x9F\x98\x80").empty());
  CHECK(words_of(std::string(1000, 'a')) == Words{std::string(64, 'a')});
}

TEST_CASE("Scripts without blanks are cut into pairs or by a dictionary", "[fetchers][analysis]") {
  // Tokyo-to becomes Tokyo and kyoto; a single character stays
  CHECK(words_of("\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD") ==
        Words{"\xE6\x9D\xB1\xE4\xBA\xAC", "\xE4\xBA\xAC\xE9\x83\xBD"});
  CHECK(words_of("x\xE6\x9D\xB1y") == Words{"x", "\xE6\x9D\xB1", "y"});
  // "Thai language" in Thai is two words
  CHECK(words_of("\xE0\xB8\xA0\xE0\xB8\xB2\xE0\xB8\xA9\xE0\xB8\xB2\xE0\xB9\x84\xE0\xB8\x97\xE0\xB8\xA2")
            .size() == 2);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "\xE6\x9D\xB1";
  CHECK(words_of(many).size() > 9'900);
}

TEST_CASE("A character that folds to nothing says nothing of the next word", "[fetchers][analysis]") {
  for (const std::string filler : {"\xE3\x85\xA4", "\xEF\xBE\xA0"}) {
    const std::string text = filler + " hello";
    WordCutter cutter(text);
    REQUIRE(cutter.next());
    CHECK(cutter.word() == "hello");
    CHECK(cutter.last_character().empty());
    CHECK_FALSE(cutter.is_lone_character());
  }
}

TEST_CASE("Any bytes are cut, into valid words", "[fetchers][analysis]") {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(60); i > 0; --i) text += static_cast<char>(random.below(256));
    for (const std::string& word : words_of(text)) {
      CHECK(!word.empty());
      CHECK(word.size() <= 4096);
    }
  }
}

TEST_CASE("Stems are those of the language, without accents", "[fetchers][analysis]") {
  CHECK(forms_of(WordKind::stems, "en", "Searches searching universities") ==
        Words{"search", "search", "univers"});
  CHECK(forms_of(WordKind::stems, "de", "H\xC3\xA4user Haus") == Words{"haus", "haus"});
  CHECK(forms_of(WordKind::stems, "", "searches caf\xC3\xA9") == Words{"searches", "cafe"});
  CHECK(forms_of(WordKind::words, "en", "searches caf\xC3\xA9") == Words{"searches", "cafe"});
  CHECK(forms_of(WordKind::parts, "", "edit\xC3\xB3r a") ==
        Words{" edi", "edit", "dito", "itor", "tor ", " a "});
}

TEST_CASE("A word with accents also has the stem of the word without them", "[fetchers][analysis]") {
  CHECK(forms_of(WordKind::stems, "es", "educaci\xC3\xB3n educaciones educacion") ==
        Words{"educ", "educacion", "educ", "educacion"});
  CHECK(forms_of(WordKind::stems, "fr",
                 "journ\xC3\xA9"
                 "e journee") == Words{"journ", "journe", "journe"});
  CHECK(forms_of(WordKind::words, "es", "educaci\xC3\xB3n") == Words{"educacion"});
}

TEST_CASE("The last pair of a run has the character that begins no pair", "[fetchers][analysis]") {
  const auto last_characters = [](std::string_view text) {
    Words out;
    for (WordCutter cutter(text); cutter.next();)
      out.push_back(std::string(cutter.last_character()) + (cutter.is_lone_character() ? "alone" : ""));
    return out;
  };
  CHECK(last_characters("\u65b0\u9c7c\u8089, \u91d1\u9c7c; \u9c7c a") ==
        Words{"", "\u8089", "\u9c7c", "alone", ""});
  CHECK(last_characters("fish \u0e1b\u0e25\u0e32") == Words(2));
}

TEST_CASE("Stop words are those of the language", "[fetchers][analysis]") {
  CHECK(StopWords("en").contains("the"));
  CHECK_FALSE(StopWords("en").contains("editor"));
  CHECK(StopWords("de").contains("und"));
  CHECK_FALSE(StopWords("xx").contains("the"));
  CHECK(stop_word_files().size() >= 10);
  CHECK(language_by_stop_words("Wo ist das Haus, in dem wir mit den anderen waren?") == "de");
  CHECK(language_by_stop_words("Where is the house that we were in with the others?") == "en");
  CHECK(language_by_stop_words("editor vim emacs").empty());
  CHECK(language_by_stop_words("").empty());
}

TEST_CASE("Languages are known by their codes", "[fetchers][analysis]") {
  for (const char* known : {"en", "de", "zh", "ru"}) CHECK(check_language(known).has_value());
  for (const char* unknown : {"", "xx", "english", "EN"}) {
    const auto refused = check_language(unknown);
    CHECK(refused.error().code == Code::bad_config);
    CHECK(refused.error().text.find("use one of") != std::string::npos);
  }
}
