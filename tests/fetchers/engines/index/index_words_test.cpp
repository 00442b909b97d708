#include "fetchers/engines/index/index_words.h"

#include <algorithm>
#include <string>

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
  auto counter = IndexCounter::open(index_of_editors(folder));
  REQUIRE(counter.has_value());
  CHECK(counter->documents_with({{"editor", "editors"}}, 10) == 3);
  CHECK(counter->documents_with({{"editor", "editors"}}, 2) == 2);
  CHECK(counter->documents_with({{"editor"}, {"texts", "emacs"}}, 10) == 2);
  CHECK(counter->documents_with({{"editor"}, {"essay"}}, 10) == 0);
  CHECK(counter->documents_with({{"say \"hi\""}}, 10) == 1);
  CHECK(counter->documents_with({{"\" OR an"}}, 10) == 0);
  CHECK(counter->documents_with({{"editor"}}, 10) == 2);
}
