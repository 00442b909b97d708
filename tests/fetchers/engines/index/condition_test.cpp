#include "fetchers/engines/index/condition.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/engines/index/local_engine.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

/// The words that a query asks for, in the order in which they were read.
std::vector<std::string> asked_words(const std::string& query) {
  QueryReader reader(WordKind::words, {"en"}, {"title", "text"});
  const auto asked = reader.read(query);
  if (!asked) FAIL(asked.error().text);
  std::vector<std::string> out;
  for (const AskedForm& form : asked->forms) out.push_back(form.text + (form.is_beginning ? "*" : ""));
  return out;
}

}  // namespace

TEST_CASE("Stop words are left out where a query says something without them", "[fetchers][local][ranking]") {
  using Words = std::vector<std::string>;
  CHECK(asked_words("the tea") == Words{"tea"});
  CHECK(asked_words("the of") == Words{"the", "of"});
  CHECK(asked_words("the* of") == Words{"the*"});  // a beginning is no stop word
  CHECK(asked_words("tea NOT the") == Words{"tea", "the"});
  CHECK(asked_words("(tea NOT the) AND of") == Words{"tea", "the"});
}

TEST_CASE("A query is expanded by as many words of its best results as its engine says",
          "[fetchers][local][ranking]") {
  const test::TemporaryFolder folder;
  IndexOptions options;
  options.keeps_terms = true;
  const std::string database = folder.path("x.db");
  const auto built = build_local_index(
      database,
      {folder.write("d.jsonl", R"({"url":"http://1/","title":"otter","text":"river river river pond pond"})"
                               "\n"
                               R"({"url":"http://2/","title":"second","text":"river"})"
                               "\n"
                               R"({"url":"http://3/","title":"third","text":"pond"})"
                               "\n")},
      options);
  if (!built) FAIL(built.error().text);
  const Clock& clock = machine_clock();
  const auto found = [&](std::size_t terms) {
    LocalAccess access;
    access.database = database;
    access.expansion = Expansion{1, terms, 0.5};
    const auto list = LocalEngine(access).search("otter", 9, 0, Deadline(clock, std::chrono::seconds(5)));
    if (!list) FAIL(list.error().text);
    std::vector<std::string> urls;
    for (const Hit& hit : list->hits) urls.push_back(hit.url);
    return urls;
  };
  CHECK(found(1) == std::vector<std::string>{"http://1/", "http://2/"});
  CHECK(found(2) == std::vector<std::string>{"http://1/", "http://2/", "http://3/"});
}

TEST_CASE("The name of a file without a title expands no query", "[fetchers][local][ranking]") {
  const test::TemporaryFolder folder;
  folder.write("docs/a/1.py", "# otter river\n");
  folder.write("docs/b/1.py", "# pond\n");
  folder.write("docs/c/2.py", "# river\n");
  IndexOptions options;
  options.keeps_terms = true;
  options.updates = GENERATE(false, true);
  const std::string database = folder.path("x.db");
  REQUIRE(build_local_index(database, {folder.path("docs")}, options).has_value());
  if (options.updates) {  // what an update reads again is no different
    folder.write("docs/a/1.py", "# otter stream river\n");
    REQUIRE(build_local_index(database, {folder.path("docs")}, options).has_value());
  }
  LocalAccess access;
  access.database = database;
  access.expansion = Expansion{1, 10, 0.5};
  const Clock& clock = machine_clock();
  const auto list = LocalEngine(access).search("otter", 9, 0, Deadline(clock, std::chrono::seconds(5)));
  REQUIRE(list.has_value());
  REQUIRE(list->hits.size() == 2);
  CHECK(list->hits[0].title == "1.py");
  CHECK(list->hits[1].url.ends_with("/docs/c/2.py"));
}

TEST_CASE("A title that is also the end of the document's URL expands queries",
          "[fetchers][local][ranking]") {
  const test::TemporaryFolder folder;
  IndexOptions options;
  options.keeps_terms = true;
  const std::string database = folder.path("x.db");
  const std::string documents =
      folder.write("d.jsonl", R"({"url":"http://a/wiki/Otter/Lutra","title":"Otter/Lutra","text":"swims"})"
                              "\n"
                              R"({"url":"http://b/","title":"River","text":"lutra"})"
                              "\n");
  REQUIRE(build_local_index(database, {documents}, options).has_value());
  LocalAccess access;
  access.database = database;
  access.expansion = Expansion{1, 10, 0.5};
  const auto list =
      LocalEngine(access).search("otter", 9, 0, Deadline(machine_clock(), std::chrono::seconds(5)));
  REQUIRE(list.has_value());
  CHECK(list->hits.size() == 2);
}

TEST_CASE("A phrase is found in the stems of each of the languages", "[fetchers][local][ranking]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  const auto built = build_local_index(
      database,
      {folder.write("d.jsonl",
                    R"({"url":"http://en/","language":"en","title":"","text":"several small houses"})"
                    "\n"
                    R"({"url":"http://de/","language":"de","title":"","text":"mehrere kleine Kinder"})"
                    "\n")});
  if (!built) FAIL(built.error().text);
  const Clock& clock = machine_clock();
  const auto found = [&](const std::string& query) {
    const auto list =
        LocalEngine({database, {}}).search(query, 9, 0, Deadline(clock, std::chrono::seconds(5)));
    if (!list) FAIL(list.error().text);
    std::string urls;
    for (const Hit& hit : list->hits) urls += hit.url;
    return urls;
  };
  CHECK(found("\"small house\"") == "http://en/");
  CHECK(found("\"kleines Kind\"") == "http://de/");
  CHECK(found("\"Kind klein\"") == "");
}

TEST_CASE("A phrase stays required when its query is expanded", "[fetchers][local][ranking]") {
  const test::TemporaryFolder folder;
  IndexOptions options;
  options.keeps_terms = true;
  const std::string database = folder.path("x.db");
  const auto built = build_local_index(
      database,
      {folder.write("d.jsonl",
                    R"({"url":"http://1/","language":"en","title":"","text":"the small houses river river"})"
                    "\n"
                    R"({"url":"http://2/","language":"de","title":"","text":"river"})"
                    "\n")},
      options);
  if (!built) FAIL(built.error().text);
  LocalAccess access;
  access.database = database;
  access.expansion = Expansion{1, 5, 0.5};
  const Clock& clock = machine_clock();
  const auto list =
      LocalEngine(access).search("\"small houses\"", 9, 0, Deadline(clock, std::chrono::seconds(5)));
  if (!list) FAIL(list.error().text);
  REQUIRE(list->hits.size() == 1);
  CHECK(list->hits[0].url == "http://1/");
}

namespace {

/// Which of some texts in a language a query finds, by their numbers, best first.
struct FoundTexts {
  FoundTexts(const std::string& language, const std::vector<std::string>& texts) {
    std::string lines;
    for (std::size_t i = 0; i < texts.size(); ++i)
      lines += R"({"url":"http://)" + std::to_string(i) + R"(/","title":"","language":")" + language +
               R"(","text":")" + texts[i] + "\"}\n";
    const auto built = build_local_index(database, {folder.write("d.jsonl", lines)});
    if (!built) FAIL(built.error().text);
  }

  RankedList search(const std::string& query) const {
    const Clock& clock = machine_clock();
    auto list = LocalEngine({database, {}}).search(query, 9, 0, Deadline(clock, std::chrono::seconds(5)));
    if (!list) FAIL(list.error().text);
    return *std::move(list);
  }
  std::string operator()(const std::string& query) const {
    std::string numbers;
    for (const Hit& hit : search(query).hits) numbers += hit.url.substr(7, hit.url.size() - 8);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  test::TemporaryFolder folder;
  std::string database = folder.path("x.db");
};

}  // namespace

TEST_CASE("Accents matter neither in a query nor in a text", "[fetchers][local]") {
  const FoundTexts spanish("es", {"la educación básica", "la educacion basica", "las educaciones", "el pan"});
  CHECK(spanish("educación") == "012");
  CHECK(spanish("educacion") == "01");
  CHECK(spanish("\"educación básica\"") == "01");
  CHECK(spanish("\"educacion basica\"") == "01");
  CHECK(spanish("pan NOT educacion") == "3");
  const FoundTexts english("en", {"résumés protégés", "resumes protected", "other"});
  CHECK(english("resume") == "01");
  CHECK(english("résumé") == "01");
}

TEST_CASE("A word that has two stems in an index counts once", "[fetchers][local][ranking]") {
  const FoundTexts texts("es", {"educación", "educaciones", "pan", "vino"});
  const RankedList list = texts.search("educación");
  REQUIRE(list.hits.size() == 2);
  CHECK(*list.hits[0].score == Approx(*list.hits[1].score));
}

TEST_CASE("A single character is found wherever it stands in a text", "[fetchers][local]") {
  const FoundTexts texts("zh", {"新鲜的鱼很好", "一条金鱼", "鱼肉", "鱼", "牛肉"});
  CHECK(texts("鱼") == "0123");
  CHECK(texts("\"鱼\"") == "0123");
  CHECK(texts("肉 NOT 鱼") == "4");
  CHECK(texts("NEAR(鱼 肉, 3)") == "2");
  CHECK(texts("金鱼") == "1");
  CHECK(texts("\"鱼很\"") == "0");
}
