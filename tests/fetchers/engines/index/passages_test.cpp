#include "fetchers/engines/index/passages.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/engines/index/fingerprint.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/passage_source.h"
#include "fetchers/engines/index/text_language.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

Passage passage_in(const std::string& text, const std::vector<std::string>& words,
                   const std::string& language = "en") {
  std::vector<PassageWord> asked;
  for (const std::string& word : words) asked.push_back({word, 1});
  PassageWords passage_words(asked, language);
  return best_passage(text, passage_words);
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("A passage is the sentences around the words that were asked", "[fetchers][passages]") {
  const std::string text = repeated("Nothing of interest is said here. ", 40) +
                           "Memory leaks are found by valgrind. It also finds other errors. " +
                           repeated("Again nothing at all is said. ", 40);
  const Passage found = passage_in(text, {"memory", "leak"});
  CHECK(found.text.starts_with("Memory leaks are found by valgrind. It also finds other errors."));
  CHECK(found.text.ends_with("."));
  CHECK(found.text.size() <= kPassageBytes);
  CHECK(found.words == std::vector<std::string>{"Memory", "leaks"});
}

TEST_CASE("The passage with the most different words is chosen and rare words count more",
          "[fetchers][passages]") {
  const std::string gap = repeated("Some words between. ", 40);
  const std::string text = "Only memory, memory and memory. " + gap + "A memory leak is here. " + gap;
  CHECK(passage_in(text, {"memory", "leak"}).text.starts_with("A memory leak is here."));
  PassageWords words({{"common", 1}, {"rare", 5}}, "en");
  CHECK(best_passage("A common thing. " + gap + "A rare thing. " + gap, words)
            .text.starts_with("A rare thing."));
}

TEST_CASE("A passage inside a long sentence begins and ends at words with an ellipsis",
          "[fetchers][passages]") {
  const std::string text = repeated("lorem ipsum ", 100) + "target " + repeated("dolor sit ", 100);
  const std::string found = passage_in(text, {"target"}).text;
  CHECK(found.starts_with("… "));
  CHECK(found.ends_with("…"));
  CHECK(found.find("target") != std::string::npos);
  CHECK(found.size() <= kPassageBytes + 8);
}

TEST_CASE("Single line ends are blanks in a passage and an empty line ends a sentence",
          "[fetchers][passages]") {
  const std::string text =
      repeated("x y z. ", 60) + "\n\nHeading\n\nThe wrapped\nsentence has\na needle inside.\n\nMore.";
  CHECK(passage_in(text, {"needle"}).text == "The wrapped sentence has a needle inside. More.");
}

TEST_CASE("Other forms of a word match by the stems of the text's language", "[fetchers][passages]") {
  CHECK(passage_in("Alle H\xC3\xA4user stehen.", {"haus"}, "de").words.size() <= 1);
  CHECK(passage_in("Two running engines.", {"run"}).words == std::vector<std::string>{"running"});
  CHECK(passage_in("Two running engines.", {"run"}, "").text.empty());
  CHECK(passage_in("Nothing here.", {"absent"}).text.empty());
}

TEST_CASE("Chinese text has passages that end with its own full stop", "[fetchers][passages]") {
  const std::string filler = repeated(
      "\xE8\xBF\x99\xE9\x87\x8C\xE4\xBB\x80\xE4\xB9\x88\xE9\x83\xBD\xE6\xB2\xA1\xE6\x9C\x89\xE3\x80\x82", 60);
  const std::string sentence =
      "\xE6\x88\x91\xE4\xBB\xAC\xE5\x9C\xA8\xE5\x8C\x97\xE4\xBA\xAC\xE5\xAD\xA6\xE4\xB9\xA0\xE3\x80\x82";
  const Passage found = passage_in(filler + sentence + filler, {"\xE5\x8C\x97\xE4\xBA\xAC"}, "zh");
  CHECK(found.text.starts_with(sentence));
}

TEST_CASE("Texts of any size and shape give bounded passages", "[fetchers][passages]") {
  for (const std::string& piece :
       {std::string("a"), std::string("needle"), std::string("\xE5\x8C\x97"), std::string("needle\n"),
        std::string("\xE2\x80\xA6 "), std::string("needle. ")})
    for (const int times : {1, 30, 3000}) {
      const Passage found = passage_in(repeated(piece, times), {"needle", "\xE5\x8C\x97\xE5\x8C\x97"});
      CHECK(found.text.size() <= 2 * kPassageBytes);
    }
}

TEST_CASE("The beginning of a text is cut at a sentence or at a word", "[fetchers][passages]") {
  CHECK(beginning_of_text("  Short\n text ", 40) == "Short text");
  CHECK(beginning_of_text("One sentence is here. " + repeated("And another one follows. ", 9), 40) ==
        "One sentence is here.");
  CHECK(beginning_of_text(repeated("word ", 40), 22) == "word word word word…");
}

TEST_CASE("Fingerprints of nearly equal texts differ in few bits and those of others in many",
          "[fetchers][fingerprint]") {
  std::string text, other;
  for (int i = 0; i < 400; ++i) {
    text += "word" + std::to_string(i * 7919 % 1000) + ' ';
    other += "term" + std::to_string(i * 104729 % 1000) + ' ';
  }
  const auto print = text_fingerprint(text);
  CHECK(differing_bits(print, text_fingerprint(text + "one more line")) <= 8);
  CHECK(differing_bits(print, text_fingerprint("  " + text)) == 0);
  CHECK(differing_bits(print, text_fingerprint(other)) > 16);
  CHECK(text_fingerprint(" . ") == 0);
  CHECK(common_share(word_pairs("a b c"), word_pairs("A, b, c!")) == 1.0);
  CHECK(common_share(word_pairs("a b c d"), word_pairs("a b x d")) < 0.5);
  CHECK(common_share({}, {}) == 0.0);
}

TEST_CASE("An index gives passages of its documents until they are removed", "[fetchers][passages][update]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  const std::string filler = repeated("Nothing of interest is said here. ", 40);
  folder.write("docs/long.txt", "Long\n\n" + filler + "Otters were swimming in the river. " + filler);
  folder.write("docs/short.txt", "Short\n\nAn otter swims.");
  IndexOptions options;
  options.updates = true;
  REQUIRE(build_local_index(database, {folder.path("docs")}, options).has_value());
  const Clock& clock = machine_clock();
  const Deadline deadline(clock, std::chrono::seconds(20));
  const auto list = LocalEngine({database, {}}).search("otter swim", 10, 0, deadline);
  REQUIRE(list.has_value());
  REQUIRE(list->hits.size() == 2);
  std::vector<const Hit*> hits;
  for (const Hit& hit : list->hits) hits.push_back(&hit);
  const auto found = PassageSource(database).passages("the otter swims", hits, deadline);
  REQUIRE(found.has_value());
  for (std::size_t i = 0; i < 2; ++i) {
    const bool is_long = hits[i]->url.ends_with("long.txt");
    CHECK((hits[i]->fingerprint != 0) == is_long);
    CHECK((*found)[i].text.find(is_long ? "Otters were swimming in the river." : "An otter swims.") !=
          std::string::npos);
    CHECK((*found)[i].words.size() == 2);
  }
  folder.write("docs/long.txt", "Long\n\nNow short.");
  REQUIRE(build_local_index(database, {folder.path("docs")}, options)->is_update);
  auto file = SqliteDatabase::open(database, {});
  REQUIRE(file.has_value());
  CHECK_FALSE(finds_row(*file, "SELECT 1 FROM texts"));
}

TEST_CASE("The language of a text is found unless it is short or unclear", "[fetchers][language]") {
  CHECK(language_of_text(repeated("The cat sat on the mat and looked at the bird in the old tree. ", 3)) ==
        "en");
  CHECK(language_of_text(
            repeated("Die Katze sass auf der Matte und schaute den Vogel im alten Baum an. ", 3)) == "de");
  CHECK(
      language_of_text(repeated(
          "\xE6\x88\x91\xE4\xBB\xAC\xE5\x9C\xA8\xE5\x8C\x97\xE4\xBA\xAC\xE5\xAD\xA6\xE4\xB9\xA0\xE3\x80\x82",
          12)) == "zh");
  CHECK(language_of_text("The cat").empty());
  CHECK(language_of_text(repeated("0123 4567 ", 30)).empty());
  CHECK(language_of_text(repeated("\xFF\xFE", 300)).empty());
}

TEST_CASE("A document's text is found by its address and of a long one the beginning",
          "[fetchers][passages]") {
  const test::TemporaryFolder folder;
  const test::ManualClock clock;
  const Deadline deadline(clock, std::chrono::seconds(5));
  const std::string words = repeated("word ", 100);
  const std::string lines =
      "{\"url\":\"http://short/\",\"title\":\"Short\",\"text\":\"a few words\"}\n"
      "{\"url\":\"http://long/\",\"title\":\"Long\",\"text\":\"" +
      words + "\"}\n{\"url\":\"http://huge/\",\"text\":\"" + std::string(2 * kKeptTextBytes, 'a') + "\"}\n";
  const std::string file = folder.write("a.jsonl", lines);
  for (const bool updates : {false, true}) {
    const std::string database = folder.path(updates ? "updated.db" : "plain.db");
    IndexOptions options;
    options.updates = updates;
    REQUIRE(build_local_index(database, {file}, options).has_value());
    const std::vector<std::string> urls = {"http://none/", "http://long/", "http://short/", "http://huge/"};
    const auto found = kept_texts(database, urls, default_tracking_parameters(), deadline);
    REQUIRE(found.has_value());
    REQUIRE(found->size() == 4);
    CHECK_FALSE((*found)[0].has_value());
    CHECK((*found)[1]->title == "Long");
    CHECK((*found)[1]->text.starts_with(words.substr(0, words.size() - 1)));
    CHECK((*found)[2]->title == "Short");
    CHECK((*found)[2]->text == "a few words");
    CHECK((*found)[3]->text == std::string(kKeptTextBytes, 'a'));
  }
  const std::vector<std::string> one = {"http://long/"};
  CHECK(kept_texts(folder.path("no.db"), one, default_tracking_parameters(), deadline).error().code ==
        Code::no_input);
}

TEST_CASE("Documents are found by the addresses that results show", "[fetchers][local][passages]") {
  const test::TemporaryFolder folder;
  const test::ManualClock clock;
  const Deadline deadline(clock, std::chrono::seconds(5));
  const std::string rest = repeated("word ", 100);
  std::string lines;
  for (const char* url : {"http://a/x?utm_source=n&id=3", "http://a/x?id=4&utm_source=n", "http://a/x",
                          "http://a/xy?id=5", "http://b/?own=1&id=6#/r"})
    lines += "{\"url\":\"" + std::string(url) + "\",\"title\":\"" + url + "\",\"text\":\"an otter. " + rest +
             "\"}\n";
  const std::string file = folder.write("a.jsonl", lines);
  for (const bool updates : {false, true}) {
    const std::string database = folder.path(updates ? "updated.db" : "plain.db");
    IndexOptions options;
    options.updates = updates;
    REQUIRE(build_local_index(database, {file}, options).has_value());
    const std::vector<std::string> urls = {"http://a/x?id=3",   "http://a/x?id=4",
                                           "http://a/x",        "http://a/x?id=5",
                                           "http://b/?id=6#/r", "http://a/x?id=3&utm_id=7"};
    TrackingParameters tracking = default_tracking_parameters();
    tracking.names.insert(std::lower_bound(tracking.names.begin(), tracking.names.end(), "own"), "own");
    const auto found = kept_texts(database, urls, tracking, deadline);
    REQUIRE(found.has_value());
    std::string titles;
    for (const auto& one : *found) titles += (one ? one->title : "-") + " ";
    CHECK(titles ==
          "http://a/x?utm_source=n&id=3 http://a/x?id=4&utm_source=n http://a/x - http://b/?own=1&id=6#/r "
          "http://a/x?utm_source=n&id=3 ");
    Hit hit;
    hit.url = "http://a/x?id=3";
    const Hit* const hits[] = {&hit};
    const auto passages = PassageSource(database).passages("otter", hits, deadline);
    REQUIRE(passages.has_value());
    CHECK((*passages)[0].text.starts_with("an otter."));
  }
}
