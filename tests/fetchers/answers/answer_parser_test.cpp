#include "fetchers/answers/answer_parser.h"

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::fetchers;
using Format = AnswerRules::Format;

namespace {

AnswerRules rules_of(Format format, std::string results, std::string url, std::string title,
                     std::string content) {
  AnswerRules rules;
  rules.format = format;
  rules.results = std::move(results);
  rules.url = std::move(url);
  rules.title = std::move(title);
  rules.content = std::move(content);
  return rules;
}

const AnswerContext kContext{"http://engine.example/dir/search?q=x", "", "en"};

RankedList parsed(const AnswerRules& rules, std::string_view body, const AnswerContext& context = kContext) {
  auto list = parse_answer(rules, body, context);
  if (!list) FAIL(list.error().text);
  return *list;
}

std::string why(const AnswerRules& rules, std::string_view body) {
  const auto list = parse_answer(rules, body, kContext);
  return list ? "" : list.error().text;
}

}  // namespace

TEST_CASE("XML keeps its prefixes if any path of a definition names one", "[fetchers][parser]") {
  AnswerRules rules;
  rules.format = AnswerRules::Format::xml;
  rules.results = "//*[local-name()='record']";
  rules.url = PartRule("./*[local-name()='link']");
  rules.title = PartRule("./*[local-name()='name']");
  rules.kind = ResultKind::paper;
  rules.details.emplace_back("authors", PartRule("./dc:creator"));
  const auto list = parse_answer(rules,
                                 "<r><x:record xmlns:x='urn:x' xmlns:dc='urn:dc'><x:link>http://a/</x:link>"
                                 "<x:name>A</x:name><dc:creator>Ada</dc:creator></x:record></r>",
                                 {"http://e.example/", "", ""});
  REQUIRE(list.has_value());
  REQUIRE(list->hits.size() == 1);
  REQUIRE(list->hits[0].details.size() == 1);
  CHECK(list->hits[0].details[0].second == "Ada");
}

TEST_CASE("Key paths match at any depth as in SearXNG", "[fetchers][json]") {
  AnswerRules rules = rules_of(Format::json, "results", "url", "title", "text");
  const auto list = parsed(rules, R"j({"x":{"y":[{"results":[
      {"meta":{"url":"http://a/1"},"title":"A","text":["first","second"]},
      {"url":"/rel?x=1","title":7,"body":{"text":null}},
      {"title":"no url"},
      {"url":"javascript:alert(1)","title":"bad"},
      {"url":"http://a/2","title":true}]}]}})j");
  REQUIRE(list.hits.size() == 3);
  CHECK(list.hits[0].url == "http://a/1");
  CHECK(list.hits[0].snippet == "first");
  CHECK(list.hits[1].url == "http://engine.example/rel?x=1");
  CHECK(list.hits[1].title == "7");
  CHECK(list.hits[1].snippet.empty());
  CHECK(list.hits[2].title == "true");
  rules.results = "data/0/items";
  CHECK(parsed(rules, R"({"data":[{"items":[{"url":"http://a/","title":"t"}]},{"items":[]}]})").hits.size() ==
        1);
}

TEST_CASE("A function call around JSON is removed whatever the function's name", "[fetchers][json]") {
  const AnswerRules rules = rules_of(Format::json, "results", "url", "title", "");
  const std::string answer = R"({"results":[{"url":"http://a/","title":"t"}]})";
  for (const std::string name : {"azAZ09", "a_$.b", "a['b']", "a[\"b\"]"}) {
    INFO(name);
    CHECK(parsed(rules, name + "(" + answer + ");").hits.size() == 1);
  }
  CHECK(why(rules, "a-b(" + answer + ");") != "");
}

TEST_CASE("Anchored key paths match from the root and * matches every child", "[fetchers][json]") {
  AnswerRules rules = rules_of(Format::json, "", "$/3/*", "$/1/*", "$/2/*");
  const auto list = parsed(rules, R"(["q",["T1","T2"],["C1"],["http://a/1","http://a/2"]])");
  REQUIRE(list.hits.size() == 2);
  CHECK(list.hits[0].snippet == "C1");
  CHECK(list.hits[1].title == "T2");
  rules = rules_of(Format::json, "$/r", "$/url", "$/t", "");
  CHECK(parsed(rules, R"({"o":{"r":1},"r":[{"in":{"url":"http://no/"},"url":"http://yes/","t":"x"}]})")
            .hits[0]
            .url == "http://yes/");
}

TEST_CASE("An answer that is not a list of results gives the reason", "[fetchers][json]") {
  const AnswerRules rules = rules_of(Format::json, "results", "url", "title", "");
  CHECK(why(rules, "").find("empty") != std::string::npos);
  CHECK(why(rules, "<html>").find("not valid JSON") != std::string::npos);
  CHECK(why(rules, R"({"a":1})").find("without \"results\"") != std::string::npos);
  CHECK(why(rules, R"({"error":{"message":"quota"}})").find("the engine says: quota") != std::string::npos);
  CHECK(why(rules, R"({"results":5})") != "");
  CHECK(parsed(rules, R"({"results":[]})").hits.empty());
  CHECK(parsed(rules, R"({"results":null})").hits.empty());
  AnswerRules optional = rules;
  optional.may_lack_results = true;
  CHECK(parsed(optional, R"({"a":1})").hits.empty());
  CHECK(why(optional, R"({"error":"quota"})") != "");
  CHECK(parsed(rules, "{\"results\":[{\"url\":\"http://a/\",\"title\":\"bad \xFF byte\"}]}").hits.size() ==
        1);
}

TEST_CASE("Groonga's table is read by its column names", "[fetchers][json]") {
  const AnswerRules rules = rules_of(Format::groonga, "", "_key", "title", "text");
  const auto list =
      parsed(rules, R"([[0,1.5,0.1],[[[2],[["_key","ShortText"],["title","ShortText"],["_score","Int32"]],
      ["http://a/","A",3],["http://b/","B",1]]]])");
  REQUIRE(list.hits.size() == 2);
  CHECK(list.hits[1].title == "B");
  CHECK(why(rules, R"([[-22,1.5,0.1,"invalid table"],[]])").find("invalid table") != std::string::npos);
  CHECK(why(rules, "{}") != "");
  CHECK(why(rules, "[[0],[]]") != "");
}

TEST_CASE("HTML is read by XPath in its charset and without scripts", "[fetchers][html]") {
  AnswerRules rules = rules_of(Format::html, "//li[@class='r']", ".//a/@href", ".//a", "./p");
  rules.suggestion = "//i";
  const std::string page =
      "<html><body><li class=r><a href='../x?a=1&amp;b=2'>T "
      "<b>bold</b>\n<script>no()</script><style>a{}</style><noscript>off</noscript></a><p>C1</p></li>"
      "<li class=r><a href='//other.example/y'>U</a></li><li class=r>no link</li><i>try this</i>";
  const auto list = parsed(rules, page);
  REQUIRE(list.hits.size() == 2);
  CHECK(list.hits[0].url == "http://engine.example/x?a=1&b=2");
  CHECK(list.hits[0].title == "T bold");
  CHECK(list.hits[0].snippet == "C1");
  CHECK(list.hits[1].url == "http://other.example/y");
  CHECK(list.suggestions == std::vector<std::string>{"try this"});
  const std::string latin = "<li class=r><a href='http://a/'>caf\xE9</a></li>";
  CHECK(parsed(rules, latin, {"", "text/html; charset=ISO-8859-1", ""}).hits[0].title == "café");
  CHECK(parsed(rules, "<meta charset=iso-8859-1>" + latin).hits[0].title == "café");
  CHECK(parsed(rules, "<li class=r><a href='http://a/'>café</a></li>").hits[0].title == "café");
  CHECK(parsed(rules, "<p>nothing here").hits.empty());
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<div>";
  CHECK(parsed(rules, deep + latin).hits.size() <= 1);
}

TEST_CASE("Results of a page that never closes its elements are all found", "[fetchers][html]") {
  std::string page;
  for (int i = 0; i < 400; ++i)
    page += "<font size=2><div class=r><a href='http://a/" + std::to_string(i) + "'>T</a></div>\n";
  CHECK(parsed(rules_of(Format::html, "//div[@class='r']", "./a/@href", "./a", ""), page).hits.size() == 400);
}

TEST_CASE("HTML without a path to results pairs its URLs and titles and texts in order", "[fetchers][html]") {
  const AnswerRules rules = rules_of(Format::html, "", "//a/@href", "//a", "//p");
  const auto list = parsed(rules, "<a href=http://a/>A</a><p>one</p><a href=http://b/>B</a><p>two</p>");
  REQUIRE(list.hits.size() == 2);
  CHECK(list.hits[1].snippet == "two");
}

TEST_CASE("RSS and Atom and RDF and other XML are read by XPath", "[fetchers][xml]") {
  AnswerRules feed;
  feed.format = Format::xml;
  const auto rss = parsed(feed, R"(<?xml version="1.0"?><rss><channel><title>no</title><link>http://no/</link>
    <language>de-at</language><item><language>French</language><title>A &amp;amp; B</title><link>http://a/</link><description>&lt;b&gt;x&lt;/b&gt; y</description>
    <pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate></item>
    <item><title>G</title><guid>http://g/</guid></item></channel></rss>)");
  REQUIRE(rss.hits.size() == 2);
  CHECK(rss.hits[0].title == "A & B");
  CHECK(rss.hits[0].snippet == "x y");
  CHECK(rss.hits[0].published == "2003-06-10T04:00:00Z");
  CHECK(rss.hits[0].language == "fr");
  CHECK(rss.hits[1].url == "http://g/");
  CHECK(rss.hits[1].language == "de-AT");
  const auto atom = parsed(
      feed,
      R"(<a:feed xmlns:a="http://www.w3.org/2005/Atom" xml:lang="es"><a:entry><a:id>tag:1</a:id><a:title>T</a:title>
    <a:link rel="self" href="http://self/"/><a:link href="http://alt/"/></a:entry></a:feed>)");
  REQUIRE(atom.hits.size() == 1);
  CHECK(atom.hits[0].url == "http://alt/");
  CHECK(atom.hits[0].language == "es");
  CHECK(why(feed, "<html/>").find("not RSS or Atom") != std::string::npos);
  CHECK(why(feed, "{}").find("not XML") != std::string::npos);
  AnswerRules rules = rules_of(Format::xml, "//hit", "./@href", "./t", "string(./s)");
  const auto any = parsed(rules, "<r><hit href='http://a/'><t>x<!-- -->y</t><s>S</s></hit><hit/></r>");
  REQUIRE(any.hits.size() == 1);
  CHECK(any.hits[0].title == "xy");
  CHECK(any.hits[0].snippet == "S");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  for (int i = 0; i < 1000; ++i) deep += "</a>";
  CHECK(why(rules, deep).find("deeper") != std::string::npos);
  CHECK(parsed(rules,
               "<!DOCTYPE r [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><r><hit "
               "href='http://a/'><t>&e;</t></hit></r>")
            .hits[0]
            .title.find("root") == std::string::npos);
}
