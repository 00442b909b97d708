#include "lab/experiments/home_pages/home_pages.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/random.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::lab::experiments::home_pages;

namespace {

/// A package index in Debian's format with invented programs.
constexpr std::string_view kIndex =
    "Package: frobd\r\nSource: frob (1.0)\r\nHomepage: https://www.frob.example/\r\n"
    "Depends: libfrob1 (= 1.0)\r\nDescription: daemon that frobs blue widgets\r\n"
    "Section: net\r\nTag: role::program, network::server,\r\n works-with::widget\r\n\r\n"
    "Package: libfrob1\nSource: libfrob\nHomepage: http://frob.example\nDescription: library to frob "
    "widgets\n"
    "Description-md5: 0\nSection: contrib/libs\nTag: role::shared-lib\n\n"
    "Package: nohome\nRecommends: other | libfrob1:any, quux\nDescription: nothing\nSection: misc\n\n"
    "Package: badhome\nHomepage: ftp://x.example/\nSuggests: frobd\nDescription: nothing\n\n"
    "Package: badhome-data\nSource: badhome\nDepends: frobd\nDescription: nothing\n\n"
    "Package: quux\nPre-Depends: frobd\nHomepage: https://code.example/quux/\nDescription-en: \xFF quuxes of "
    "many colours\n"
    " a long description\nSection: games";

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Many packages with random words as synopses, often including the package's own name.
std::string random_index(std::size_t count) {
  constexpr std::string_view kWords[] = {"editor", "library", "queries", "boxes", "fast", "image",
                                         "music",  "entry",   "tool",    "for",   "the",  "class",
                                         "web",    "mesh",    "codes",   "virus"};
  Random random(3);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "pkg" + std::to_string(i);
    text += "Package: " + name + "\nHomepage: https://" + (i % 2 == 0 ? name : std::string("host")) +
            ".example/" + (i % 3 == 0 ? std::string("editor") : name) + "\nSection: s" +
            std::to_string(i % 7) + "\nDescription:";
    for (std::uint64_t w = 1 + random.below(7); w > 0; --w)
      text += ' ' + (random.below(5) == 0 ? name : std::string(kWords[random.below(std::size(kWords))]));
    text += i % 4 == 0 ? "\nTag: role::program\n\n" : "\n\n";
  }
  return text;
}

}  // namespace

TEST_CASE("A package index becomes one document per home page", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  const auto pages = read_package_index(folder.write("packages.txt", kIndex));
  REQUIRE(pages.has_value());
  REQUIRE(pages->size() == 2);
  const HomePage& quux = pages->at(0);
  CHECK(quux.url == "https://code.example/quux/");
  CHECK(quux.synopses == std::vector<std::string>{"\xEF\xBF\xBD quuxes of many colours"});
  const HomePage& frob = pages->at(1);
  CHECK(frob.url == "https://www.frob.example/");
  CHECK(frob.names == std::vector<std::string>{"frobd", "libfrob1"});
  CHECK(frob.synopses ==
        std::vector<std::string>{"daemon that frobs blue widgets", "library to frob widgets"});
  CHECK(frob.sections == std::vector<std::string>{"net", "libs"});
  CHECK(frob.tags == std::vector<std::string>{"role::program", "network::server", "works-with::widget",
                                              "role::shared-lib"});
  const std::string documents = to_documents(*pages);
  CHECK(std::count(documents.begin(), documents.end(), '\n') == 2);
  const auto json = parse_json(documents.substr(documents.find('\n') + 1), "d");
  REQUIRE(json.has_value());
  CHECK(json->at("title").as_string() == "frob");
  CHECK(json->at("names").as_string() == "frobd libfrob1");
  CHECK(json->at("dependants").as_int64() == 3);
  CHECK(json->at("words").as_string() == "frob example");
}

// frob.example is needed by nohome (recommends), badhome (by two packages, counted once) and quux. Its own
// frobd also needs it but does not count. quux is needed by nohome.
TEST_CASE("Dependants are source packages of other projects and count once", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  const auto pages = read_package_index(folder.write("packages.txt", kIndex));
  REQUIRE(pages.has_value());
  CHECK(pages->at(0).project == "quux");
  CHECK(pages->at(0).dependants == 1);
  CHECK(pages->at(1).project == "frob");
  CHECK(pages->at(1).dependants == 3);
}

TEST_CASE("A project is described by its own package first", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  const auto pages = read_package_index(folder.write(
      "packages.txt",
      "Package: frob-data\nSource: frob\nHomepage: http://f.example/\nDescription: data of frob\n\n"
      "Package: frob\nHomepage: http://f.example/\nDescription: frobs widgets\n\n"
      "Package: frob-doc\nSource: frob\nHomepage: http://f.example/\nDescription: manual of frob\n"));
  REQUIRE(pages.has_value());
  CHECK(pages->at(0).synopses == std::vector<std::string>{"frobs widgets", "data of frob", "manual of frob"});
}

TEST_CASE("Pages that others depend on are queried more often", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  auto pages = read_package_index(folder.write("packages.txt", random_index(600)));
  REQUIRE(pages.has_value());
  for (std::size_t i = 0; i < pages->size(); ++i) (*pages)[i].dependants = i % 2 == 0 ? 99 : 0;
  std::set<std::string> needed;
  for (const HomePage& page : *pages)
    if (page.dependants > 0) needed.insert(page.url);
  std::size_t drawn = 0;
  std::size_t of_needed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const JudgedQuery& query : sample_base_queries(*pages, {10, seed, 0, 0})) {
      ++drawn;
      of_needed += needed.contains(query.answers.front()) ? 1 : 0;
    }
  CHECK(drawn == 200);
  CHECK(of_needed > 160);  // ten times the weight: 182 expected if all pages have a query
}

TEST_CASE("The demonstration's lists are recorded in any folder", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  folder.write("packages.txt", random_index(300));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto pages = IndexedPages::open(folder.path());
  std::filesystem::current_path(before);
  REQUIRE(pages.has_value());
  SampleOptions sampling;
  sampling.count = 20;
  const auto set = (*pages)->record(sampling, 1);
  REQUIRE(set.has_value());
  CHECK(set->queries.size() > 10);
  CHECK(set->matrix.feature_count() > 15);
}

TEST_CASE("The demonstration shows well-known programs first", "[experiments][home_pages][full]") {
  const test::TemporaryFolder folder;
  const std::string packages = folder.path("packages.txt");
  const int state = std::system(("LC_ALL=C apt-cache dumpavail > " + packages + " 2>/dev/null").c_str());
  std::error_code error;
  if (state != 0 || std::filesystem::file_size(packages, error) < 10'000'000) {
    metafuse::test::skip("fetch the index of packages: apt-get update");
    return;
  }
  const auto pages = IndexedPages::open(folder.path(""));
  REQUIRE(pages.has_value());
  const auto model = demonstration_model(**pages, 1, 2);
  REQUIRE(model.has_value());
  const auto programs = known_programs(**pages, *model);
  REQUIRE(programs.has_value());
  REQUIRE(programs->size() == 20);
  CHECK(std::count_if(programs->begin(), programs->end(),
                      [](const KnownProgram& one) { return one.is_known; }) >= 17);
  const auto names = own_names(**pages, *model);
  REQUIRE(names.has_value());
  CHECK(names->asked == 150);
  CHECK(names->first >= 135);
}

TEST_CASE("A file without home pages gives an error that says what to do", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  const auto empty = read_package_index(folder.write("packages.txt", "Package: a\n"));
  REQUIRE(empty.has_error());
  CHECK(empty.error().code == Code::bad_data);
  CHECK(empty.error().text.find("apt-get update") != std::string::npos);
  CHECK(read_package_index(folder.path("absent")).error().code == Code::no_input);
}

TEST_CASE("No base query that describes a page contains its name", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  const auto pages = read_package_index(folder.write("packages.txt", random_index(600)));
  REQUIRE(pages.has_value());
  const auto queries = sample_base_queries(*pages, {300, 5, 0, 0});
  REQUIRE(queries.size() > 100);
  std::set<std::string> answers;
  for (const JudgedQuery& query : queries) {
    CHECK(answers.insert(query.answers.front()).second);
    const auto page = std::find_if(pages->begin(), pages->end(),
                                   [&](const HomePage& one) { return one.url == query.answers.front(); });
    REQUIRE(page != pages->end());
    const auto topic = split(query.base_query.slots.at("TOPIC"));
    CHECK(topic.size() == 2);
    const std::size_t slash = page->key.find('/');
    const auto host = url_words(page->key.substr(0, slash));
    for (const std::string& word : topic) {
      CHECK(std::count(page->names.begin(), page->names.end(), word) == 0);
      CHECK(std::count(host.begin(), host.end(), word) == 0);
      CHECK(page->key.substr(slash + 1) != word);
    }
    const bool is_part_of_one =
        std::any_of(page->synopses.begin(), page->synopses.end(), [&](const std::string& synopsis) {
          const auto words = split(synopsis);
          const auto stands = [&](const std::string& word) {
            return std::count(words.begin(), words.end(), word) > 0 ||
                   std::any_of(words.begin(), words.end(),
                               [&](const std::string& w) { return other_number(w) == word; });
          };
          return words.size() > topic.size() && std::all_of(topic.begin(), topic.end(), stands);
        });
    CHECK(is_part_of_one);
  }
}

TEST_CASE("Base queries depend only on the seed", "[experiments][home_pages]") {
  const test::TemporaryFolder folder;
  const auto pages = read_package_index(folder.write("packages.txt", random_index(300)));
  REQUIRE(pages.has_value());
  const std::string first = to_query_lines(sample_base_queries(*pages, {50, 1}));
  CHECK(first == to_query_lines(sample_base_queries(*pages, {50, 1})));
  CHECK(first != to_query_lines(sample_base_queries(*pages, {50, 2})));
  CHECK(std::count(first.begin(), first.end(), '\n') == 50);
  CHECK(first.rfind("{\"id\":\"q0001\",\"slots\":{", 0) == 0);
}

TEST_CASE("Words are converted between singular and plural", "[experiments][home_pages]") {
  CHECK(other_number("library") == "libraries");
  CHECK(other_number("libraries") == "library");
  CHECK(other_number("editor") == "editors");
  CHECK(other_number("editors") == "editor");
  CHECK(other_number("boxes") == "box");
  CHECK(other_number("box") == "boxes");
  CHECK(other_number("class") == "classes");
  CHECK(other_number("virus") == "viruses");
  CHECK(other_number("c++") == "c++");
}
