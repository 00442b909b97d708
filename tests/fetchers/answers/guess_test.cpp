// Definitions guessed from answers, compared with those of the catalogue.

#include "fetchers/answers/guess.h"

#include <filesystem>
#include <map>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "fetchers/definition/catalogue.h"
#include "fetchers/definition/engine_file.h"
#include "tests/support/data_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

std::map<std::string, Engine> catalogue_engines() {
  std::map<std::string, Engine> engines;
  for (const CatalogueEntry& entry : catalogue())
    if (auto file = parse_engine_file("engines:\n" + std::string(entry.text), "catalogue.yaml"))
      engines.emplace(entry.name, file->engines.front());
  return engines;
}

/// True if the guess finds the same results, and most of them with the same URL, title and text.
bool agrees(const Engine& engine, const std::string& body) {
  const AnswerRules& rules = std::get<HttpAccess>(engine.access).answer;
  const AnswerContext context{"https://engine.example/search", "", "en"};
  const auto wanted = parse_answer(rules, body, context);
  const auto guessed = guess_rules(body, context);
  const auto found = guessed ? parse_answer(*guessed, body, context) : Result<RankedList>(guessed.error());
  if (!wanted || !found || found->hits.size() != wanted->hits.size()) return false;
  std::size_t same = 0;
  for (std::size_t i = 0; i < found->hits.size(); ++i) {
    const Hit& hit = found->hits[i];
    const Hit& other = wanted->hits[i];
    same += hit.url == other.url && hit.title == other.title &&
            (rules.content.empty() || hit.snippet == other.snippet);
  }
  return same * 5 >= found->hits.size() * 4;
}

AnswerRules guess_of_text(const std::string& body) {
  const auto rules = guess_rules(body, {"https://e.example/", "", ""});
  if (!rules) FAIL(rules.error().text);
  return *rules;
}

}  // namespace

TEST_CASE("A definition is guessed from the names and the form of values", "[fetchers][guess]") {
  const AnswerRules json =
      guess_of_text(R"({"took":3,"facets":[{"name":"a b","count":1},{"name":"c d","count":2}],
    "data":{"items":[
      {"id":1,"owner":{"name":"Ann","url":"https://e.example/ann"},"permalink":"https://e.example/1","headline":"First of all","blurb":"A long text about the first of all things."},
      {"id":2,"owner":{"name":"Bob","url":"https://e.example/bob"},"permalink":"https://e.example/2","headline":"Second of all","blurb":"A long text about the second of all things."}]}})");
  CHECK(json.results == "$/data/items");
  CHECK(json.url == PartRule("$/permalink"));
  CHECK(json.title == PartRule("$/headline"));
  CHECK(json.content == PartRule("$/blurb"));
  const AnswerRules xml = guess_of_text(
      "<answer><hits><hit><url>https://e.example/1</url><title>First one</title><abstract>Some words on it "
      "here.</abstract></hit>"
      "<hit><url>https://e.example/2</url><title>Second one</title><abstract>Other words on it "
      "here.</abstract></hit></hits></answer>");
  CHECK(xml.format == AnswerRules::Format::xml);
  CHECK(xml.results == "/answer/hits/hit");
  CHECK(xml.url == PartRule("./url"));
  std::string page = "<html><body><div class='nav'><a href='/about'>About us</a></div>";
  for (int i = 1; i < 5; ++i) {
    const std::string n = std::to_string(i);
    page += "<div class='hit'><h3><a href='/p/" + n + "'>Title number " + n +
            "</a></h3><p class='say'>What the page number " + n + " has to say of it.</p></div>";
  }
  const AnswerRules html = guess_of_text(page + "</body></html>");
  const auto list = parse_answer(html, page, {"https://e.example/", "", ""});
  REQUIRE(list.has_value());
  REQUIRE(list->hits.size() == 4);
  CHECK(list->hits[3].url == "https://e.example/p/4");
  CHECK(list->hits[3].title == "Title number 4");
  CHECK(list->hits[3].snippet == "What the page number 4 has to say of it.");
  CHECK_FALSE(guess_rules("{\"a\":1}", {}).has_value());
  CHECK_FALSE(guess_rules("no answer", {}).has_value());
}

TEST_CASE("Answers without telling names are guessed from the form of their values", "[fetchers][guess]") {
  const AnswerContext context{"https://e.example/find?q=otter", "", "en"};
  const auto found_in = [&](const std::string& body) {
    const AnswerRules rules = guess_of_text(body);
    const auto list = parse_answer(rules, body, context);
    if (!list) FAIL(list.error().text);
    std::string out;
    for (const Hit& hit : list->hits)
      out += hit.url + " | " + hit.title + " | " + hit.snippet + " | " + hit.published + " | " +
             hit.language + "\n";
    return out;
  };
  // GraphQL: edges of nodes, markup in the text, and a slug instead of a URL
  CHECK(found_in(R"({"data":{"search":{"totalCount":2,"edges":[
    {"cursor":"Y3","node":{"slug":"otter-stew","headline":"Stew for otters","teaserHtml":"<p>With <i>fish</i> and reeds.</p>","publishedAt":1714550400000}},
    {"cursor":"Y4","node":{"slug":"river-soup","headline":"River soup","teaserHtml":"<p>No otter in it at all.</p>","publishedAt":1714636800000}}]}}})") ==
        "https://host.example/otter-stew | Stew for otters | With fish and reeds. | 2024-05-01T08:00:00Z | \n"
        "https://host.example/river-soup | River soup | No otter in it at all. | 2024-05-02T08:00:00Z | \n");
  // rows of a table whose column names are listed elsewhere
  CHECK(found_in(R"({"took":3,"columns":[{"name":"page"},{"name":"label"},{"name":"comment"}],"rows":[
    ["https://f.example/otter","Otter","A semiaquatic mammal of rivers.","2020-02-02"],
    ["https://f.example/sea","Sea otter","It floats on its back in the kelp.","2021-03-04"]]})") ==
        "https://f.example/otter | Otter | A semiaquatic mammal of rivers. |  | \n"
        "https://f.example/sea | Sea otter | It floats on its back in the kelp. |  | \n");
  // single letters as keys and numbered results, after a guard prefix
  CHECK(
      found_in(
          ")]}',\n"
          R"({"s":"ok","res":{"0":{"t":"River &amp; otter","u":"//f.example/5","x":"Seen at the weir yesterday evening.","nb":12},
    "1":{"t":"Lost otter","u":"//f.example/6","x":"Grey, answers to the name of Tom.","nb":1}}})") ==
      "https://f.example/5 | River & otter | Seen at the weir yesterday evening. |  | \n"
      "https://f.example/6 | Lost otter | Grey, answers to the name of Tom. |  | \n");
  // SRU: the URL is one of several identifiers
  CHECK(found_in(R"(<?xml version="1.0"?><zs:response xmlns:zs="urn:z" xmlns:dc="urn:d"><zs:records>
    <zs:record><dc:dc><dc:title>Otters of the north</dc:title><dc:date>1987</dc:date><dc:language>eng</dc:language><dc:description>A survey of rivers.</dc:description><dc:identifier>ISBN 1-23</dc:identifier><dc:identifier>https://l.example/1</dc:identifier></dc:dc></zs:record>
    <zs:record><dc:dc><dc:title>Fischotter</dc:title><dc:date>2001</dc:date><dc:language>ger</dc:language><dc:description>Alles von den Ottern.</dc:description><dc:identifier>https://l.example/2</dc:identifier></dc:dc></zs:record></zs:records></zs:response>)") ==
        "https://l.example/1 | Otters of the north | A survey of rivers. | 1987 | en\n"
        "https://l.example/2 | Fischotter | Alles von den Ottern. | 2001 | de\n");
  // rows of a page without classes, beside a navigation with classes
  CHECK(
      found_in(
          R"(<html><body><nav><ul><li class=n><a href="/">Home of all pages</a></li><li class=n><a href="/a">About the archive here</a></li><li class=n><a href="/h">Help with searching it</a></li></ul></nav>
    <table class="hits"><thead><tr><th>Title<th>Year<th>Text</thead><tbody>
    <tr><td><a href="post/1">Otter by the stream</a></td><td>1912</td><td>A photograph of an otter in winter.</td></tr>
    <tr><td><a href="post/2">Prices of furs</a></td><td>1743</td><td>Account book with prices of otter furs.</td></tr>
    <tr><td><a href="post/3">Letter on otters</a></td><td>1888</td><td>A fisher complains of otters in the lake.</td></tr></tbody></table></body></html>)") ==
      "https://e.example/post/1 | Otter by the stream | A photograph of an otter in winter. |  | \n"
      "https://e.example/post/2 | Prices of furs | Account book with prices of otter furs. |  | \n"
      "https://e.example/post/3 | Letter on otters | A fisher complains of otters in the lake. |  | \n");
}

TEST_CASE("A guess is written as a definition that can be parsed", "[fetchers][guess]") {
  const AnswerRules rules = guess_of_text(
      R"({"r":[{"url":"https://a.example/1","title":"One of two"},{"url":"https://a.example/2","title":"Two of two"}]})");
  const std::string url = search_url_of("https://a.example/s?lang=en&q=river+otter&page=1");
  CHECK(url == "https://a.example/s?lang=en&q={query}&page=1");
  const auto file = parse_engine_file(definition_text(rules, "mine", url), "guess.yaml");
  if (!file) FAIL(file.error().text);
  const auto& access = std::get<HttpAccess>(file->engines.front().access);
  CHECK(access.url == url);
  CHECK(access.answer.results == "$/r");
  CHECK(access.answer.url == PartRule("$/url"));
}

TEST_CASE("Definitions guessed from 20 recorded answers read at least 15 of them", "[fetchers][guess]") {
  const auto folder = test::data_folder("search-responses", test::kAnswersSource);
  if (!folder) return;
  const std::vector<std::pair<std::string, std::string>> answers = {
      {"brave-web/brave.json", "brave"},
      {"google-cse/google_pse.json", "google-cse"},
      {"serper/serper.json", "serper"},
      {"serply/serply.json", "serply"},
      {"serpstack/serpstack.json", "serpstack"},
      {"searchapi/searchapi.json", "searchapi"},
      {"serpapi-google/search_coffee.json", "serpapi"},
      {"bing-web-v7/bing.json", "bing-api"},
      {"searxng/searxng.json", "searxng"},
      {"searsia/exampleSearchResult.json", "searsia"},
      {"newsapi/top_headlines.json", "newsapi"},
      {"guardian/search_uk_news_fields.json", "guardian"},
      {"zenodo/search.json", "zenodo"},
      {"nyt/article_search.json", "nyt"},
      {"peertube/search_fsf_p1.json", "peertube"},
      {"media-ccc/events_search_linux.json", "media-ccc"},
      {"html-serp/startpage/javascript_tutorial.html", "startpage"},
      {"arxiv-atom/q_testing_s0_m10_bc5a6c384fe9.atom.xml", "arxiv"},
      {"html-serp/mojeek/javascript_tutorial.html", "mojeek"},
      {"html-serp/pypi/search.html", "pypi"},
  };
  const auto engines = catalogue_engines();
  std::string missed;
  int read = 0;
  for (const auto& [file, engine] : answers) {
    const auto body = read_text(*folder + "/" + file, 1 << 24);
    REQUIRE(body.has_value());
    if (agrees(engines.at(engine), *body))
      ++read;
    else
      missed += file + " ";
  }
  INFO(missed);
  CHECK(answers.size() == 20);
  CHECK(read >= 15);
}

TEST_CASE("Answers that were once guessed wrongly are read", "[fetchers][guess]") {
  const auto folder = test::data_folder("answers-2", test::kAnswersSource);
  if (!folder) return;
  struct Example {
    const char* file;
    const char* results;
    const char* url;    ///< the path of the address, or the `url_format`
    const char* title;  ///< its paths
  };
  const std::vector<Example> examples = {
      {"jira", "$/issues", "https://host.example/{$/id}", "$/fields/summary"},
      {"ghcode", "$/items", "$/html_url", "$/path"},
      {"zendesk", "$/results", "https://host.example/{$/id}", "$/name $/subject"},
      {"discourse", "$/topics", "https://host.example/{$/slug}", "$/title"},
      {"notion", "$/results", "$/url", "$/title/*/plain_text $/properties/Name/title/*/plain_text"},
      {"npm", "$/objects", "$/package/links/npm", "$/package/name"},
      {"spotify", "$/tracks/items", "$/external_urls/spotify", "$/name"},
      {"osv", "$/vulns", "https://host.example/{$/id}", "$/summary"},
      {"youtube", "$/items", "https://host.example/{$/id/videoId}", "$/snippet/title"},
      {"stackex", "$/items", "$/link", "$/title"},
      {"discogs", "$/results", "$/uri", "$/title"},
      {"zotero", "$", "$/links/alternate/href", "$/data/title"},
      {"datacite", "$/data", "$/attributes/url", "$/attributes/titles/*/title"},
      {"ror", "$/items", "$/links/*/value", "$/names/*/value"},
      {"orcid", "$/expanded-result", "https://host.example/{$/orcid-id}", "$/given-names $/family-names"},
      {"huggingface", "$", "https://host.example/{$/_id}", "$/modelId"},
      {"sharepoint", "$/value/*/hitsContainers/*/hits", "$/resource/webUrl",
       "$/resource/fields/title $/summary"},
      {"openlibrary", "$/docs", "https://host.example/{$/key|raw}", "$/title"},
      {"dockerhub_v2", "$/results", "https://host.example/{$/repo_name|raw}", "$/repo_name"},
  };
  std::string missed;
  int right = 0;
  for (const Example& example : examples) {
    const auto body = read_text(*folder + "/guess-wrong/" + example.file + ".json", 1 << 24);
    REQUIRE(body.has_value());
    const auto rules = guess_rules(*body, {"https://e.example/", "", ""});
    REQUIRE(rules.has_value());
    const std::string title = fmt::format("{}", fmt::join(rules->title.paths, " "));
    const std::string url = rules->url.empty() ? rules->url_format : rules->url.first();
    const bool is_right = rules->results == example.results && url == example.url && title == example.title;
    right += is_right ? 1 : 0;
    if (!is_right)
      missed += std::string(example.file) + ": " + rules->results + " " + url + " " + title + "\n";
  }
  INFO(missed);
  CHECK(examples.size() == 19);
  CHECK(right >= 15);
}

TEST_CASE("A guess tells apart what belongs to a result and what lies beside it", "[fetchers][guess]") {
  // a name in two parts; items of two kinds; members by their identifiers, beside their order
  const AnswerRules people = guess_of_text(
      R"({"r":[{"id":"a1","given-names":"Ada","family-names":"Otter"},{"id":"b2","given-names":"Bo","family-names":"Weir"}]})");
  CHECK(people.title.paths == std::vector<std::string>{"$/given-names", "$/family-names"});
  CHECK(people.title.is_joined);
  const AnswerRules mixed = guess_of_text(
      R"({"r":[{"id":1,"title":"One of two","link":"https://e.example/1"},{"id":2,"name":"Somebody Else","link":"https://e.example/2"}]})");
  CHECK(mixed.title.paths == std::vector<std::string>{"$/title", "$/name"});
  CHECK(mixed.title.has_fallbacks);
  const AnswerRules by_key = guess_of_text(
      R"({"result":{"uids":["7","8"],"7":{"uid":"7","title":"Diet of otters"},"8":{"uid":"8","title":"Of rivers"}}})");
  CHECK(by_key.results == "$/result/*");
  const auto file = parse_engine_file(definition_text(people, "p", "https://e.example/?q={query}"), "g.yaml");
  REQUIRE(file.has_value());
  CHECK(std::get<HttpAccess>(file->engines.front().access).answer.title == people.title);
  // a thumbnail and references are not the page
  const AnswerRules film = guess_of_text(
      R"({"items":[{"key":"a7","title":"An otter swims","thumbs":{"small":{"url":"https://i.example/a7"}},"references":[{"url":"https://o.example/1"}]},
                   {"key":"b8","title":"An otter dives","thumbs":{"small":{"url":"https://i.example/b8"}},"references":[{"url":"https://o.example/2"}]}]})");
  CHECK(film.url.empty());
  CHECK(film.url_format == "https://host.example/{$/key}");
}
