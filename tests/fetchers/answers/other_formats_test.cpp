#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/answers/answer_parser.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/http/engine_request.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

/// An engine outside the catalogue: the keys of its definition, one of its answers and the expected list.
struct AnswerFormat {
  std::string what;
  std::string keys;
  std::string answer;
  std::vector<std::string> urls;
  std::vector<std::string> titles;
  std::string content_type = "";
};

std::string json(const std::string& keys) {
  return "engine: json_engine, search_url: \"http://e.example/dir/s?q={query}\", " + keys;
}

std::string html(const std::string& keys) {
  return "engine: xpath, search_url: \"http://e.example/dir/s?q={query}\", " + keys;
}

std::string xml(const std::string& keys) {
  return "engine: xml_engine, search_url: \"http://e.example/dir/s?q={query}\", " + keys;
}

const std::vector<AnswerFormat> kFormats = {
    {"nested lists of results",
     json("results_query: response/result/doc, url_query: ref/href, title_query: name/text"),
     R"({"response":{"took":1,"result":{"doc":[{"name":{"text":"A"},"ref":{"href":"http://a/"}},
                                               {"name":{"text":"B"},"ref":{"href":"http://b/"}}]}}})",
     {"http://a/", "http://b/"},
     {"A", "B"}},
    {"arrays of arrays",
     json("results_query: rows, url_query: \"1\", title_query: \"0\", content_query: \"2\""),
     R"({"columns":["t","u"],"rows":[["A","http://a/","x"],["B","http://b/","y"]]})",
     {"http://a/", "http://b/"},
     {"A", "B"}},
    {"an array at the root",
     json("url_query: link, title_query: label"),
     R"([{"label":"A","link":"http://a/"},{"label":"B","link":"/b"}])",
     {"http://a/", "http://e.example/b"},
     {"A", "B"}},
    {"results under their ids in an object",
     json("results_query: pages, url_format: \"https://e.example/p/{@key}\", title_query: title"),
     R"({"pages":{"17":{"title":"A"},"x y":{"title":"B"}}})",
     {"https://e.example/p/17", "https://e.example/p/x%20y"},
     {"A", "B"}},
    {"results that are plain texts",
     json("results_query: urls, url_query: $, title_query: $"),
     R"({"urls":["http://a/","http://b/"]})",
     {"http://a/", "http://b/"},
     {"http://a/", "http://b/"}},
    {"groups of results",
     json("results_query: \"$/groups/*/items\", url_query: u, title_query: t"),
     R"({"groups":[{"items":[{"u":"http://a/","t":"A"}]},{"items":[]},{"items":[{"u":"http://b/","t":"B"}]}]})",
     {"http://a/", "http://b/"},
     {"A", "B"}},
    {"the first of each group",
     json("results_query: \"$/groups/*\", url_query: items/0/u, title_query: items/0/t"),
     R"({"groups":[{"items":[{"u":"http://a/","t":"A"},{"u":"http://no/","t":"no"}]},{"items":[{"u":"http://b/","t":"B"}]}]})",
     {"http://a/", "http://b/"},
     {"A", "B"}},
    {"columns beside each other",
     json("url_query: \"$/d/urls/*\", title_query: \"$/d/names/*\""),
     R"({"d":{"names":["A","B"],"urls":["http://a/","http://b/"]}})",
     {"http://a/", "http://b/"},
     {"A", "B"}},
    {"an identifier instead of a URL",
     json("results_query: docs, url_format: \"https://e.example/{kind}/{id}\", title_query: t"),
     R"({"docs":[{"id":7,"kind":"a b","t":"A"},{"id":8,"t":"no kind, no URL"}]})",
     {"https://e.example/a%20b/7"},
     {"A"}},
    {"a prefix before every URL",
     json("results_query: docs, url_query: path, url_prefix: \"https://e.example\", title_query: t"),
     R"({"docs":[{"path":"/x?y=1&z","t":"A"}]})",
     {"https://e.example/x?y=1&z"},
     {"A"}},
    {"escapes of every kind",
     json("results_query: r, url_query: u, title_query: t"),
     R"({"r":[{"u":"http:\/\/a\/\u00e9","t":"\u0410\ud83d\ude00 \u2028B\tC"},{"u":"http://b/","t":"half \ud83d end"}]})",
     {"http://a/\xC3\xA9", "http://b/"},
     {"А😀 B C", "half \xEF\xBF\xBD end"}},
    {"markup in JSON",
     json("results_query: r, url_query: u, title_query: t, title_html_to_text: true"),
     R"({"r":[{"u":"http://a/","t":"<b>A</b> &amp; <i>B</i>"}]})",
     {"http://a/"},
     {"A & B"}},
    {"JSONP",
     json("results_query: r, url_query: u, title_query: t"),
     R"j(/**/ cb_12.fn({"r":[{"u":"http://a/","t":"A (1)"}]});)j",
     {"http://a/"},
     {"A (1)"}},
    {"a guard before JSON",
     json("results_query: r, url_query: u, title_query: t"),
     ")]}'\n{\"r\":[{\"u\":\"http://a/\",\"t\":\"A\"}]}",
     {"http://a/"},
     {"A"}},
    {"a document a line",
     json("url_query: u, title_query: t"),
     "{\"u\":\"http://a/\",\"t\":\"A\"}\r\n{\"u\":\"http://b/\",\"t\":\"B\"}\r\n",
     {"http://a/", "http://b/"},
     {"A", "B"}},
    {"JSON in windows-1251",
     json("results_query: r, url_query: u, title_query: t"),
     "{\"r\":[{\"u\":\"http://a/\",\"t\":\"\xCC\xE8\xF0\"}]}",
     {"http://a/"},
     {"Мир"},
     "application/json; charset=windows-1251"},
    {"XML with namespaces",
     xml("results_xpath: \"//*[local-name()='record']\", url_xpath: \".//dc:identifier[starts-with(., "
         "'http')]\", "
         "title_xpath: \".//dc:title\""),
     R"(<?xml version="1.0"?><o:list xmlns:o="urn:o" xmlns:dc="urn:dc"><o:record><dc:identifier>doi:1</dc:identifier>
        <dc:identifier>http://a/</dc:identifier><dc:title>A</dc:title></o:record></o:list>)",
     {"http://a/"},
     {"A"}},
    {"XML with attributes and a default namespace",
     xml("results_xpath: \"/set/doc\", url_xpath: \"@href\", title_xpath: \"concat(@name, ' ', "
         "v[@n='sub'])\""),
     R"(<set xmlns="urn:x"><doc name="A" href="/a"><v n="sub"><![CDATA[1 < 2]]></v></doc></set>)",
     {"http://e.example/a"},
     {"A 1 < 2"}},
    {"XML in windows-1251",
     xml("results_xpath: //d, url_xpath: \"@u\", title_xpath: ."),
     "<?xml version=\"1.0\" encoding=\"windows-1251\"?><r><d u=\"http://a/\">\xCC\xE8\xF0</d></r>",
     {"http://a/"},
     {"Мир"}},
    {"XML in UTF-8 that is declared otherwise",
     xml("results_xpath: //d, url_xpath: ./@u, title_xpath: ."),
     "<?xml version='1.0' encoding='ISO-8859-1'?><r><d u='http://a/'>caf\xC3\xA9</d></r>",
     {"http://a/"},
     {"caf\xC3\xA9"}},
    {"XML in UTF-16 that does not say so",
     xml("results_xpath: //d, url_xpath: ./@u, title_xpath: ."),
     [] {
       std::string wide;
       for (const char c : std::string("<r><d u='http://a/'>A</d></r>")) wide += {c, '\0'};
       return wide;
     }(),
     {"http://a/"},
     {"A"}},
    {"XML in latin-1",
     xml("results_xpath: //d, url_xpath: \"@u\", title_xpath: ."),
     "<?xml version='1.0' encoding='ISO-8859-1'?><r><d u='http://a/'>caf\xE9</d></r>",
     {"http://a/"},
     {"café"}},
    {"RSS 1.0",
     xml("name: rss"),
     R"(<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
        <item rdf:about="http://a/"><title>A</title><link>http://a/</link></item></rdf:RDF>)",
     {"http://a/"},
     {"A"}},
    {"HTML with a base",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<head><base href='https://cdn.example/x/y/'></head><ul><li><a href='../b'>A</a><li><a "
     "href='?p=1'>B</a></ul>",
     {"https://cdn.example/x/b", "https://cdn.example/x/y/?p=1"},
     {"A", "B"}},
    {"HTML with relative links",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<ul><li><a href='b'>A</a><li><a href='//c.example/d'>B</a><li><a href='javascript:x()'>no</a></ul>",
     {"http://e.example/dir/b", "http://c.example/d"},
     {"A", "B"}},
    {"HTML in shift_jis",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<ul><li><a href='http://a/'>\x93\xFA\x96\x7B</a></ul>",
     {"http://a/"},
     {"日本"},
     "text/html; charset=Shift_JIS"},
    {"HTML in windows-1251 by its meta",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<meta charset=windows-1251><ul><li><a href='http://a/'>\xCC\xE8\xF0</a></ul>",
     {"http://a/"},
     {"Мир"}},
    {"HTML in windows-1251 by a long head",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<META http-equiv='Content-Type' CONTENT=\"text/html; "
     "charset=windows-1251\"/></head><body><div><div><div><div><ul><li><a "
     "href='http://a/'>\xCC\xE8\xF0</a></ul>",
     {"http://a/"},
     {"Мир"}},
    {"HTML in ISO-2022-JP by its meta",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<meta charset=ISO-2022-JP><ul><li><a href='http://a/'>\x1B$BF|K\\8l\x1B(B</a></ul>",
     {"http://a/"},
     {"日本語"}},
    {"HTML that only says that it was UTF-16 or ISO-2022-JP",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<meta charset=utf-16><ul><li><a href='http://a/'>日本語</a></ul>",
     {"http://a/"},
     {"日本語"},
     "text/html; charset=iso-2022-jp"},
    {"JSON in ISO-2022-JP",
     json("results_query: r, url_query: u, title_query: t"),
     "{\"r\":[{\"u\":\"http://a/\",\"t\":\"\x1B$BF|K\\8l\x1B(B\"}]}",
     {"http://a/"},
     {"日本語"},
     "application/json; charset=ISO-2022-JP"},
    {"XML in ISO-2022-JP",
     xml("results_xpath: //d, url_xpath: \"@u\", title_xpath: ."),
     "<?xml version=\"1.0\" encoding=\"ISO-2022-JP\"?><r><d u=\"http://a/\">\x1B$BF|K\\8l\x1B(B</d></r>",
     {"http://a/"},
     {"日本語"}},
    {"HTML that says nothing of its charset",
     html("results_xpath: //li, url_xpath: ./a/@href, title_xpath: ./a"),
     "<ul><li><a href='http://a/'>caf\xE9 \x93x\x94</a></ul>",
     {"http://a/"},
     {"café “x”"}},
    {"HTML whose lists are zipped",
     html("url_xpath: \"//dt/a/@href\", title_xpath: //dt/a, content_xpath: //dd"),
     "<dl><dt><a href='http://a/'>A</a><dd>x<dt><a href='http://b/'>B</a><dd>y</dl>",
     {"http://a/", "http://b/"},
     {"A", "B"}},
    {"HTML with data in attributes",
     html("results_xpath: \"//div[@data-u]\", url_xpath: \"@data-u\", title_xpath: \"@data-t\""),
     "<div data-u='http://a/' data-t='A'></div><div data-u='http://b/' data-t='B'/>",
     {"http://a/", "http://b/"},
     {"A", "B"}},
};

}  // namespace

TEST_CASE("JSON as programs in Python and JavaScript write it is read", "[fetchers][parsers]") {
  AnswerRules rules;
  rules.results = "results";
  rules.url = "url";
  rules.title = "title";
  rules.score = "score";
  const auto list = parse_answer(rules, R"({"took": -Infinity, "results": [
      {"url": "http://a/", "title": "NaN, ] \"Infinity\",", "score": NaN,},
      {"url": "http://b/", "title": "two", "score": 0.5},
  ], "max": Infinity, })",
                                 {"http://e.example/", "", ""});
  REQUIRE(list.has_value());
  REQUIRE(list->hits.size() == 2);
  CHECK(list->hits[0].title == "NaN, ] \"Infinity\",");
  CHECK_FALSE(list->hits[0].score.has_value());
  CHECK(list->hits[1].score == 0.5);
  CHECK(parse_answer(rules, R"({"results": [NaNs]})", {"http://e.example/", "", ""}).has_error());
}

TEST_CASE("Unknown engines are parsed by their definitions alone", "[fetchers][parsers]") {
  for (const AnswerFormat& format : kFormats) {
    INFO(format.what);
    const std::string name = format.keys.find("name: ") == std::string::npos ? "name: e, " : "";
    const auto file = parse_engine_file("engines:\n  - {" + name + format.keys + "}\n", "e.yaml");
    if (!file) FAIL(file.error().text);
    const auto ready = ready_access(file->engines.front(), SecretLookup());
    REQUIRE(ready.has_value());
    const auto list = parse_answer(ready->access.answer, format.answer,
                                   {"http://e.example/dir/s?q=x", format.content_type, "en"});
    if (!list) FAIL(list.error().text);
    std::vector<std::string> urls, titles;
    for (const Hit& hit : list->hits) {
      urls.push_back(hit.url);
      titles.push_back(hit.title);
    }
    CHECK(urls == format.urls);
    CHECK(titles == format.titles);
  }
}

TEST_CASE("The query types of Elasticsearch give the same bodies as SearXNG", "[fetchers][request]") {
  const auto body = [](const std::string& keys, const std::string& query) {
    const auto file = parse_engine_file(
        "engines:\n  - {name: e, engine: elasticsearch, base_url: \"http://e.example\", index: i, " + keys +
            "}\n",
        "e.yaml");
    if (!file) FAIL(file.error().text);
    const Clock& clock = machine_clock();
    const auto ready = ready_access(file->engines.front(), SecretLookup());
    const std::string text =
        build_request(file->engines.front(), *ready, query, {.deadline = Deadline(clock, Duration(0))}, 1)
            .body;
    const std::string begin = R"({"from":0,"size":30,"query":)";
    REQUIRE(text.starts_with(begin));
    return text.substr(begin.size(), text.size() - begin.size() - 1);
  };
  CHECK(body("query_type: match", "title:a \"b\"") ==
        R"({"multi_match":{"query":"a \"b\"","fields":["title"],"lenient":true}})");
  CHECK(body("query_type: match", "plain: words") ==
        R"({"multi_match":{"query":"plain: words","fields":["*"],"lenient":true}})");
  CHECK(body("query_type: term", "year:2001") == R"({"term":{"year":"2001"}})");
  CHECK(body("query_type: terms", "tag:a,b \"c\",") == R"({"terms":{"tag":["a","b \"c\""]}})");
  CHECK(body("query_type: simple_query_string", "a:b +c") == R"({"simple_query_string":{"query":"a:b +c"}})");
  CHECK(body("query_type: custom, custom_query_json: {match_phrase: {\"{{KEY}}\": \"{{VALUE}}\"}}",
             "t:a b") == R"({"match_phrase":{"t":"a b"}})");
  CHECK(body("query_type: custom, custom_query_json: {match: {title: \"{{VALUE}}\"}}", "t:a") ==
        R"({"match":{"title":"t:a"}})");
}

TEST_CASE("A stream of events is the list of their documents", "[fetchers][parsers]") {
  const AnswerContext context{"http://e.example/", "text/event-stream", ""};
  AnswerRules rules;
  rules.results = "$/*/results";
  rules.url = "url";
  rules.title = "title";
  const auto titles_of = [&](std::string_view stream) {
    const auto list = parse_answer(rules, stream, context);
    std::vector<std::string> titles;
    if (list)
      for (const Hit& hit : list->hits) titles.push_back(hit.title);
    else
      titles.push_back("error: " + list.error().text);
    return titles;
  };
  const std::string first =
      R"({"results":[{"url":"http://a/","title":"A"},{"url":"http://b/","title":"B"}]})";
  const std::string second = R"({"results":[{"url":"http://c/","title":"data: C"}]})";
  using Titles = std::vector<std::string>;
  const Titles all{"A", "B", "data: C"};
  CHECK(titles_of("data: " + first + "\n\ndata: " + second + "\n\n") == all);
  CHECK(titles_of(": hello\r\nevent: part\r\nid: 1\r\ndata:" + first +
                  "\r\n\r\nretry: 10\r\ndata: " + second + "\r\n\r\ndata: [DONE]\r\n\r\n") == all);
  CHECK(titles_of("event: status\ndata: searching\n\ndata: " + first + "\n\ndata: " + second) == all);
  CHECK(titles_of("data: {\"results\":[\ndata: {\"url\":\"http://a/\",\"title\":\"A\"}]}\n\n") ==
        Titles{"A"});
  CHECK(titles_of("data: [DONE]\n\n").front().starts_with("error: the answer is not valid JSON"));
  CHECK(titles_of("data: " + first + "\nand more\n").front().starts_with("error: "));
  rules.results = "$/*";
  CHECK(titles_of("data: {\"url\":\"http://a/\",\"title\":\"A\"}\n\n") == Titles{"A"});
  CHECK(titles_of("{\"url\":\"http://a/\",\"title\":\"A\"}\n{\"url\":\"http://b/\",\"title\":\"B\"}\n") ==
        Titles{"A", "B"});
}

TEST_CASE("XML is read by names without prefixes where only the document has them", "[fetchers][parsers]") {
  const AnswerContext context{"http://e.example/", "application/xml", ""};
  AnswerRules rules;
  rules.format = AnswerRules::Format::xml;
  rules.url = "./link[starts-with(., 'http://')]";
  rules.title = "./title";
  const auto first_of = [&](const std::string& results, const std::string& document) {
    rules.results = results;
    const auto list = parse_answer(rules, document, context);
    return list && !list->hits.empty() ? list->hits.front().url + ' ' + list->hits.front().title : "none";
  };
  const std::string own = "<r><d:link>http://a/</d:link><d:title>A</d:title></r>";
  CHECK(first_of("//r", "<x xmlns:d='d'>" + own + "</x>") == "http://a/ A");
  CHECK(first_of(
            "//r",
            "<z:x xmlns:z='z' xmlns:d='d'><z:r><d:link>http://a/</d:link><d:title>A</d:title></z:r></z:x>") ==
        "http://a/ A");
  // a document that has both names keeps them apart, and a definition with prefixes is taken at its word
  CHECK(first_of("//r",
                 "<x xmlns:d='d'><r><d:title>D</d:title><title>A</title><link>http://a/</link></r></x>") ==
        "http://a/ A");
  rules.title = "./d:title";
  rules.url = "./d:link";
  CHECK(first_of("//r", "<x xmlns:d='d'>" + own + "</x>") == "http://a/ A");
  // a colon in a quoted text, or in a format outside of its paths, is no prefix
  const std::string feed =
      "<a:feed xmlns:a='a'><a:entry><a:id>7</a:id><a:title>A</a:title></a:entry></a:feed>";
  rules.title = "./title";
  rules.url = {};
  rules.suggestion = "//meta[@name='dc:suggest']";
  rules.url_format = "https://x.example/wiki/Special:Redirect/{./id}";
  CHECK(first_of("//entry", feed) == "https://x.example/wiki/Special:Redirect/7 A");
  rules.url_format = "https://x.example/{./a:id}";
  CHECK(first_of("//entry", feed) == "none");
}

TEST_CASE("A path may ask for objects with a list that contains a text", "[fetchers][parsers]") {
  AnswerRules rules;
  rules.results = "$";
  rules.url = "$/url";
  rules.title = "$/names/*[types=shown]/value";
  const auto list = parse_answer(
      rules,
      R"([{"url":"http://a/","names":[{"types":["short"],"value":"RU"},{"types":["label","shown"],"value":"River"}]}])",
      {"http://e.example/", "", ""});
  REQUIRE(list.has_value());
  CHECK(list->hits.front().title == "River");
}
