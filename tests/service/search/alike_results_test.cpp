#include "service/search/alike_results.h"

#include <catch2/catch.hpp>

#include "fetchers/engines/index/fingerprint.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

const std::string kSnippet =
    "The otter is a mammal that lives in rivers and lakes, eats fish, and sleeps in a den by the water.";

Hit hit_of(const std::string& url, const std::string& title, const std::string& snippet) {
  Hit hit;
  hit.url = url;
  hit.key = url;
  hit.title = title;
  hit.snippet = snippet;
  return hit;
}

SearchAnswer answer_of(const std::vector<Hit>& hits) {
  SearchAnswer answer;
  answer.lists.emplace_back();
  answer.lists.back().query.engine = "web";
  for (const Hit& hit : hits) answer.results.emplace_back().hit = hit;
  return answer;
}

std::vector<std::string> urls_of(const SearchAnswer& answer) {
  std::vector<std::string> out;
  for (const FusedResult& result : answer.results) out.push_back(result.hit.url);
  return out;
}

}  // namespace

TEST_CASE("Results with the same snippet and title are alike but for the site's name", "[service][alike]") {
  const Hit otter = hit_of("http://a.example/", "Otters", kSnippet);
  CHECK(are_alike(otter, hit_of("http://b.example/", "Otters | The Animal Pages", kSnippet)));
  CHECK(are_alike(otter, hit_of("http://b.example/", "otters", kSnippet + " More")));
  CHECK_FALSE(are_alike(otter, hit_of("http://b.example/", "Badgers", kSnippet)));
  CHECK_FALSE(are_alike(
      otter, hit_of("http://b.example/", "Otters", "The badger is another mammal and digs its den.")));
  // parts of a work and versions differ in a number
  CHECK_FALSE(
      are_alike(hit_of("a", "Otters, chapter 1", kSnippet), hit_of("b", "Otters, chapter 2", kSnippet)));
  // too few words to tell
  CHECK_FALSE(are_alike(hit_of("a", "Home", "Welcome"), hit_of("b", "Home", "Welcome")));
  CHECK(are_alike(hit_of("a", "A title of more than eight different words is enough", ""),
                  hit_of("b", "A title of more than eight different words is enough", "")));
}

TEST_CASE("Fingerprints of whole texts decide where both are known", "[service][alike]") {
  Hit a = hit_of("a", "Stream", kSnippet),
      b = hit_of("b", "Stream | Node.js v18 Documentation", "Other words");
  a.fingerprint = 0xF0F0F0F0F0F0F0F0;
  b.fingerprint = a.fingerprint ^ 0x3;
  CHECK(are_alike(a, b));
  b.fingerprint = a.fingerprint ^ 0xFF;  // as many bits as may differ
  CHECK(are_alike(a, b));
  b.fingerprint = a.fingerprint ^ 0x1FF;
  CHECK_FALSE(are_alike(a, b));
  b.fingerprint = a.fingerprint ^ 0xFFFF;
  CHECK_FALSE(are_alike(a, b));
  b.fingerprint = 0;
  CHECK_FALSE(are_alike(a, b));
  a.fingerprint = 1;  // few bits differ from 0, which says that there is none
  CHECK_FALSE(are_alike(a, b));
  CHECK_FALSE(are_alike(b, a));
}

TEST_CASE("Results alike are folded below the best of them and the others keep their order",
          "[service][alike]") {
  auto answer = answer_of(
      {hit_of("a", "Otters", kSnippet), hit_of("b", "Badgers", "All about badgers and their dens in woods."),
       hit_of("c", "Otters", kSnippet), hit_of("d", "Foxes", "All about foxes and how they hunt at night."),
       hit_of("e", "Otters - wiki", kSnippet)});
  fold_alike(answer);
  CHECK(urls_of(answer) == std::vector<std::string>{"a", "b", "d"});
  REQUIRE(answer.results[0].alike.size() == 2);
  CHECK(answer.results[0].alike[0].url == "c");
  CHECK(answer.results[0].alike[1].url == "e");
  auto callers = answer_of({hit_of("a", "Otters", kSnippet), hit_of("c", "Otters", kSnippet)});
  callers.lists.back().query.engine.clear();
  fold_alike(callers);
  CHECK(callers.results.size() == 2);
}

TEST_CASE("A site's results from the third on are folded below its second", "[service][alike]") {
  auto answer = answer_of({hit_of("http://a.example/1", "1", ""), hit_of("http://b.example/", "b", ""),
                           hit_of("http://a.example/2", "2", ""), hit_of("http://a.example/3", "3", ""),
                           hit_of("file://localhost/x", "x", ""), hit_of("file://localhost/y", "y", ""),
                           hit_of("file://localhost/z", "z", ""), hit_of("http://a.example/4", "4", "")});
  group_sites(answer);
  CHECK(answer.results.size() == 6);
  REQUIRE(answer.results[2].same_site.size() == 2);
  CHECK(answer.results[2].same_site[1].url == "http://a.example/4");
}

TEST_CASE("What is alike a result stays with it when its site is grouped", "[service][alike]") {
  auto answer =
      answer_of({hit_of("http://a.example/1", "1", ""), hit_of("http://a.example/2", "2", ""),
                 hit_of("http://a.example/3", "Otters", kSnippet),
                 hit_of("http://a.example/copy", "Otters", kSnippet), hit_of("http://a.example/4", "4", "")});
  fold_alike(answer);
  group_sites(answer);
  REQUIRE(answer.results.size() == 2);
  std::vector<std::string> keys;
  for (const Hit& hit : answer.results[1].same_site) keys.push_back(hit.key);
  CHECK(keys ==
        std::vector<std::string>{"http://a.example/3", "http://a.example/copy", "http://a.example/4"});
}
