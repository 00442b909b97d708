#include "fetchers/engines/index/condition.h"

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
  const SteadyClock clock;
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
  const SteadyClock clock;
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
  const SteadyClock clock;
  const auto list =
      LocalEngine(access).search("\"small houses\"", 9, 0, Deadline(clock, std::chrono::seconds(5)));
  if (!list) FAIL(list.error().text);
  REQUIRE(list->hits.size() == 1);
  CHECK(list->hits[0].url == "http://1/");
}
