#include "fetchers/engines/index/index_words.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/engines/index/local_engine.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

std::string index_of_editors(const test::TemporaryFolder& folder, WordKind kind = WordKind::words) {
  const std::string documents =
      "{\"url\":\"http://a/\",\"title\":\"GNU Emacs\",\"text\":\"an extensible editor, say \\\"hi\\\"\"}\n"
      "{\"url\":\"http://b/\",\"title\":\"Vim\",\"text\":\"an editor of texts\"}\n"
      "{\"url\":\"http://c/\",\"title\":\"\",\"text\":\"editors, an essay\"}\n";
  const std::string database = folder.path("words.db");
  IndexOptions options;
  options.kinds = {kind};
  REQUIRE(build_local_index(database, {folder.write("d.jsonl", documents)}, options).has_value());
  return database;
}

}  // namespace

TEST_CASE("An index gives its titles and the words of several documents", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  const std::string database = index_of_editors(folder);
  const auto words = read_index_words(database);
  REQUIRE(words.has_value());
  CHECK(words->titles == std::vector<std::string>{"GNU Emacs", "Vim"});
  CHECK(words->words == std::vector<std::pair<std::string, std::size_t>>{{"an", 3}, {"editor", 2}});
  CHECK(read_index_words(database, {"", 1, 1, 1})->words.size() == 1);
  CHECK(read_index_words(folder.path("none.db")).error().code == Code::no_input);
  CHECK(read_index_words(folder.write("text.db", "no database")).error().code == Code::bad_data);
}

TEST_CASE("An index of stems gives only titles", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  const auto words = read_index_words(index_of_editors(folder, WordKind::stems));
  REQUIRE(words.has_value());
  CHECK(words->titles.size() == 2);
  CHECK(words->words.empty());
}

TEST_CASE("Documents are counted by groups of words with any characters in them", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  auto counter = IndexCounters(index_of_editors(folder)).take();
  REQUIRE(counter.has_value());
  CHECK(counter->documents_with({{"editor", "editors"}}, 10) == 3);
  CHECK(counter->documents_with({{"editor", "editors"}}, 2) == 2);
  CHECK(counter->documents_with({{"editor"}, {"texts", "emacs"}}, 10) == 2);
  CHECK(counter->documents_with({{"editor"}, {"essay"}}, 10) == 0);
  CHECK(counter->documents_with({{"say \"hi\""}}, 10) == 1);
  CHECK(counter->documents_with({{"\" OR an"}}, 10) == 0);
  CHECK(counter->documents_with({{"editor"}}, 10) == 2);
}

TEST_CASE("Stop words are told and counted like other words", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  const WordKind kind = GENERATE(WordKind::words, WordKind::stems);
  const std::string database = folder.path("x.db");
  IndexOptions options;
  options.kinds = {kind};
  options.language = "en";
  const std::string documents =
      "{\"url\":\"http://a/\",\"text\":\"mint\"}\n{\"url\":\"http://b/\",\"text\":\"what a mind\"}\n";
  REQUIRE(build_local_index(database, {folder.write("d.jsonl", documents)}, options).has_value());
  auto counter = IndexCounters(database).take();
  REQUIRE(counter.has_value());
  CHECK(counter->is_stop_word("what"));
  CHECK(counter->is_stop_word("what's"));
  CHECK_FALSE(counter->is_stop_word("mint"));
  CHECK_FALSE(counter->is_stop_word("what a"));
  CHECK_FALSE(counter->is_stop_word(""));
  CHECK(counter->documents_with({{"what", "whats"}, {"mint", "mints"}}, 10) == 0);
  CHECK(counter->documents_with({{"what", "whats"}, {"mind", "minds"}}, 10) == 1);
  CHECK(counter->documents_with({{"what", "whats"}}, 10) == 1);
}

TEST_CASE("An index tells which of its documents contain a word or a phrase", "[fetchers][local]") {
  const bool updates = GENERATE(false, true);
  const test::TemporaryFolder folder;
  std::string documents;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = i % 1000 == 7   ? "a small text editor"
                             : i % 1000 == 8 ? "the editor of a text"
                                             : "tea";
    documents += R"({"url":"http://)" + std::to_string(i) + R"(/","title":"","text":")" + text + "\"}\n";
  }
  const std::string database = folder.path("words.db");
  IndexOptions options;
  options.updates = updates;
  REQUIRE(build_local_index(database, {folder.write("d.jsonl", documents)}, options).has_value());
  auto index = IndexCounters(database).take();
  REQUIRE(index.has_value());
  const std::vector<std::string> urls = {"http://7/", "http://8/", "http://9/", "http://none/",
                                         "http://2007/"};
  const auto found = index->ids_of(urls);
  REQUIRE(found.has_value());
  CHECK((*found)[3] == 0);
  std::vector<std::int64_t> ids = *found;
  std::erase(ids, 0);
  const Clock& clock = machine_clock();
  const auto contain = [&](std::string_view text) {
    const auto which = index->which_contain(text, ids, Deadline(clock, std::chrono::seconds(60)));
    if (!which) FAIL(which.error().text);
    return *which;
  };
  using Which = std::vector<bool>;
  CHECK(contain("text editor") == Which{true, false, false, true});
  CHECK(contain("texts editor") == Which{true, false, false, true});  // by stems
  CHECK(contain("EDITOR") == Which{true, true, false, true});
  CHECK(contain("the") == Which{false, true, false, false});
  CHECK(contain("unknown") == Which{false, false, false, false});
  CHECK(contain("\" OR tea OR \"") == Which{false, false, false, false});
  CHECK(contain("...") == std::nullopt);
  CHECK(index->which_contain("tea", ids, Deadline(clock, {})).error().code == Code::try_again);
}

TEST_CASE("An index of parts of words does not tell which documents contain a word", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  auto index = IndexCounters(index_of_editors(folder, WordKind::parts)).take();
  REQUIRE(index.has_value());
  const Clock& clock = machine_clock();
  const std::vector<std::int64_t> ids = {1, 2};
  CHECK(index->which_contain("editor", ids, Deadline(clock, std::chrono::seconds(60))).value() ==
        std::nullopt);
}

TEST_CASE("Counters keep their index open until it is replaced", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  const std::string database = index_of_editors(folder);
  const IndexCounters counters(database);
  const auto editors = [&] {
    auto counter = counters.take();
    if (!counter) FAIL(counter.error().text);
    return counter->documents_with({{"editor"}}, 10);
  };
  CHECK(editors() == 2);
  std::filesystem::remove(database);
  CHECK(editors() == 2);
  const std::string line = R"({"url":"http://d/","title":"Nano","text":"an editor"})";
  REQUIRE(build_local_index(database, {folder.write("one.jsonl", line)}).has_value());
  CHECK(editors() == 1);
}

TEST_CASE("Counters of an index that are taken at once do not share a reader", "[fetchers][local]") {
  const test::TemporaryFolder folder;
  std::optional<IndexCounters> counters(index_of_editors(folder));
  auto one = counters->take();
  auto other = counters->take();
  REQUIRE(one.has_value());
  REQUIRE(other.has_value());
  counters.reset();
  CHECK(one->documents_with({{"editor"}}, 10) == 2);
  CHECK(other->documents_with({{"an"}}, 10) == 3);
}
