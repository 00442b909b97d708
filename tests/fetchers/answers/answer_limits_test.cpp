// How much of an answer is read: results, texts, depth, steps and suggestions of each format, each at exactly
// its limit and one beyond it.

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/answer_text.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using Format = AnswerRules::Format;

namespace {

const AnswerContext kLimitContext{"http://engine.example/dir/search?q=x", "", "en"};

AnswerRules by_paths(Format format, const std::string& results, const std::string& url) {
  AnswerRules rules;
  rules.format = format;
  rules.results = results;
  rules.url = PartRule(url);
  rules.title = PartRule("t");
  return rules;
}

/// `part` repeated `count` times, with each # replaced by the number of the repetition.
std::string repeated_part(const std::string& part, std::size_t count, const std::string& between = "") {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    std::string one = part;
    if (const std::size_t at = one.find('#'); at != std::string::npos) one.replace(at, 1, std::to_string(i));
    out += (i == 0 ? "" : between) + one;
  }
  return out;
}

std::size_t hits_in(const AnswerRules& rules, const std::string& body) {
  const auto list = parse_answer(rules, body, kLimitContext);
  if (!list) FAIL(list.error().text);
  return list->hits.size();
}

std::string mistake_of(const AnswerRules& rules, const std::string& body) {
  const auto list = parse_answer(rules, body, kLimitContext);
  return list ? "" : list.error().text;
}

}  // namespace

TEST_CASE("At most a thousand results of an answer are read in every format",
          "[fetchers][limits][security]") {
  for (const std::size_t count : {999U, 1000U, 1001U, 3000U}) {
    INFO(count);
    const std::size_t read = std::min<std::size_t>(count, 1000);
    const std::string item = R"({"u":"http://a.example/#","t":"x"})";
    CHECK(hits_in(by_paths(Format::json, "r", "u"), R"({"r":[)" + repeated_part(item, count, ",") + "]}") ==
          read);
    CHECK(hits_in(by_paths(Format::json, "r", "u"),
                  R"({"r":{)" + repeated_part("\"k#\":" + item.substr(0, 24) + R"(","t":"x"})", count, ",") +
                      "}}") == read);
    CHECK(hits_in(by_paths(Format::json, "$/r/*", "u"),
                  R"({"r":[)" + repeated_part(item, count, ",") + "]}") == read);
    CHECK(hits_in(by_paths(Format::json, "", "u"), R"({"r":[)" + repeated_part(item, count, ",") + "]}") ==
          read);
    CHECK(hits_in(by_paths(Format::xml, "//i", "u"),
                  "<x>" + repeated_part("<i><u>http://a.example/#</u></i>", count) + "</x>") == read);
    CHECK(hits_in(by_paths(Format::xml, "", ""),
                  "<rss><channel>" + repeated_part("<item><link>http://a.example/#</link></item>", count) +
                      "</channel></rss>") == read);
    CHECK(hits_in(by_paths(Format::html, "//li", "./a/@href"),
                  "<ul>" + repeated_part("<li><a href='http://a.example/#'>x</a></li>", count) + "</ul>") ==
          read);
    CHECK(hits_in(by_paths(Format::html, "", "//a/@href"),
                  "<ul>" + repeated_part("<li><a href='http://a.example/#'>x</a></li>", count) + "</ul>") ==
          read);
  }
}

TEST_CASE("Texts of an answer are cut at their maximum length", "[fetchers][limits][text]") {
  AnswerRules rules = by_paths(Format::json, "r", "u");
  rules.content = PartRule("c");
  rules.suggestion = "s";
  const auto list =
      parse_answer(rules,
                   R"({"r":[{"u":"/x","t":")" + std::string(501, 't') + R"(","c":")" +
                       std::string(2001, 'c') + R"("}],"s":[)" + repeated_part("\"s#\"", 21, ",") + "]}",
                   kLimitContext);
  REQUIRE(list.has_value());
  CHECK(list->hits[0].url == "http://engine.example/x");
  CHECK(list->hits[0].title == std::string(500, 't'));
  CHECK(list->hits[0].snippet == std::string(2000, 'c'));
  CHECK(list->suggestions.size() == 20);
  CHECK(list->suggestions.back() == "s19");
  CHECK(mistake_of(by_paths(Format::json, "r", "u"), R"({"error":")" + std::string(5000, 'e') + "\"}") ==
        "the engine says: " + std::string(4096, 'e'));
  CHECK(mistake_of(by_paths(Format::xml, "//i", "u"), "<error>" + std::string(5000, 'e') + "</error>") ==
        "the answer is <error> without a result: " + std::string(4096, 'e'));
  // joined values, and the values that a step finds
  rules.title = PartRule("many");
  rules.title.is_joined = true;
  rules.title.separator = ",";
  const std::string items = repeated_part(R"({"many":"a"})", 60, ",");
  const auto joined = parse_answer(rules, R"({"r":[{"u":"/x","x":[)" + items + "]}]}", kLimitContext);
  REQUIRE(joined.has_value());
  CHECK(joined->hits[0].title == repeated_part("a", 50, ","));
  for (const auto& [format, path, body] :
       {std::tuple<Format, std::string, std::string>{Format::json, "i",
                                                     R"({"i":[)" + repeated_part("\"a\"", 9, ",") + "]}"},
        {Format::json, "$/*/i", "[" + repeated_part(R"({"i":"a"})", 9, ",") + "]"},
        {Format::xml, "//i", "<x>" + repeated_part("<i>a</i>", 9) + "</x>"},
        {Format::html, "//p", repeated_part("<p>a</p>", 9)}}) {
    INFO(path);
    for (const std::size_t most : {1U, 8U, 9U, 10U})
      CHECK(answer_texts(format, path, body, kLimitContext, most)->size() == std::min<std::size_t>(most, 9));
  }
  // the text of an HTML element has at most 20,000 bytes
  CHECK(answer_texts(Format::html, "//div", "<div>" + repeated_part("<b>0123456789</b>", 2000) + "</div>",
                     kLimitContext, 1)
            ->front()
            .size() == 20000);
  CHECK(answer_texts(Format::html, "//div", "<div>" + repeated_part("<b>0123456789</b>", 2001) + "</div>",
                     kLimitContext, 1)
            ->front()
            .size() == 20000);
  // cleaning reads at most 64 times as many bytes as it keeps
  const std::string tags = repeated_part("<b></b>", 182);  // 1,274 bytes
  CHECK(clean_text(tags + "abcdef", true, 20) == "abcdef");
  CHECK(clean_text(tags + "abcdefg", true, 20) == "abcdef");
}

TEST_CASE("A table of very many columns and rows is read in one pass", "[fetchers][limits][security]") {
  AnswerRules rules = by_paths(Format::groonga, "", "_key");
  rules.title = PartRule("title");
  const auto table = [](std::size_t columns, const std::string& row, std::size_t rows) {
    return R"([[0,1.5,0.1],[[[2],[["_key","ShortText"],["title","ShortText"])" +
           repeated_part(R"(,["c#"])", columns) + "]," + repeated_part(row, rows, ",") + "]]]";
  };
  CHECK(hits_in(rules, table(60'000, R"(["http://a.example/#","A"])", 1100)) == 1000);
  CHECK(hits_in(rules, table(60'000, "[]", 200'000)) == 0);
}

TEST_CASE("XML is limited to 8 MB and 256 levels and XPath to two million steps",
          "[fetchers][limits][security]") {
  const AnswerRules rules = by_paths(Format::xml, "//i", "u");
  const auto sized = [](std::size_t bytes) {
    const std::string begin = "<x><i><u>/a</u></i><!--";
    const std::string end = "--></x>";
    return begin + std::string(bytes - begin.size() - end.size(), ' ') + end;
  };
  CHECK(mistake_of(rules, sized(std::size_t{8} << 20)).empty());
  CHECK(mistake_of(rules, sized((std::size_t{8} << 20) + 1)) == "more than 8 MB of XML");
  const auto nested = [&](std::size_t levels) {
    return mistake_of(rules, repeated_part("<x>", levels) + repeated_part("</x>", levels));
  };
  CHECK(nested(257).empty());  // the outermost element is level 0
  CHECK(nested(258) == "XML nested deeper than 256 levels");
  const std::string page = "<div>" + repeated_part("<p><a href='/#'>x</a></p>", 1500) + "</div>";
  CHECK(mistake_of(by_paths(Format::html, "//p", "./a/@href"), page).empty());
  CHECK(mistake_of(by_paths(Format::html, "//*[count(//*) > 0]", "./a/@href"), page).find("too many steps") !=
        std::string::npos);
}

TEST_CASE("Reading the texts of nested results takes a limited number of steps",
          "[fetchers][limits][security]") {
  AnswerRules rules = by_paths(Format::html, "//div", "./@id");
  rules.title = PartRule(".");
  const auto page = [](std::size_t leaves) {
    return repeated_part("<div id='/#'>", 100) +
           repeated_part("<b" + std::string(20, ' ') + "></b>", leaves) + repeated_part("</div>", 100);
  };
  CHECK(mistake_of(rules, page(10'000)).empty());
  CHECK(mistake_of(rules, page(60'000)) == "reading the answer takes too long");
}

TEST_CASE("A page whose paths take too many steps is none with fewer results",
          "[fetchers][limits][security]") {
  const std::string part = "<div class='r'><a href='/#'>x</a>" +
                           repeated_part("<b" + std::string(14, ' ') + "></b>", 1500) + "</div>";
  const auto mistake_at = [&](const std::string& url, std::size_t count) {
    std::string page;
    for (std::size_t i = 0; i < count; ++i) page += part;
    return mistake_of(by_paths(Format::html, "//div[@class='r']", url), page);
  };
  const std::string counting = "count(//*) + count(//*) + count(//*) + count(//*)";
  for (const std::string& url : {std::string(".//a/@href"), ".//a[" + counting + " > 0]/@href"}) {
    INFO(url);
    CHECK(mistake_at(url, 5).empty());
    CHECK(mistake_at(url, 400) == "reading the answer takes too long");
  }
}

TEST_CASE("Before each result the clock is asked whether reading has to end",
          "[fetchers][limits][security]") {
  for (const auto& [rules, body] : std::vector<std::pair<AnswerRules, std::string>>{
           {by_paths(Format::html, "//p", "./a/@href"), repeated_part("<p><a href='/#'>x</a></p>", 5)},
           {by_paths(Format::xml, "//p", "./a"), "<x>" + repeated_part("<p><a>/#</a></p>", 5) + "</x>"},
           {by_paths(Format::xml, "", ""),
            "<rss><channel>" + repeated_part("<item><link>/#</link></item>", 5) + "</channel></rss>"}}) {
    INFO(body);
    int asked = 0;
    AnswerContext context = kLimitContext;
    context.end = WorkEnd([&] { return ++asked > 3; });
    const auto list = parse_answer(rules, body, context);
    REQUIRE_FALSE(list.has_value());
    CHECK(list.error().text == "reading the answer takes too long");
  }
}

TEST_CASE("JSON behind a text is looked for behind the first few brackets that do not close",
          "[fetchers][limits][security]") {
  AnswerRules rules = by_paths(Format::json, "r", "u");
  rules.inside.json_after = "data";
  const std::string json = R"( = {"r":[{"u":"/a","t":"x"}]})";
  CHECK(mistake_of(rules, repeated_part("data{ ", 15) + "data" + json).empty());
  CHECK(mistake_of(rules, repeated_part("data{ ", 16) + "data" + json).find("no JSON after") !=
        std::string::npos);
  CHECK(mistake_of(rules, repeated_part("data, ", 300'000) + "data" + json).empty());
  rules.inside.json_after = "=";
  CHECK(mistake_of(rules, std::string(1'000'000, '=') + "x =" + json).empty());
  rules.inside.json_after = "= a";
  CHECK(mistake_of(rules, "= a = a" + json).empty());
}

TEST_CASE("URLs of an answer are resolved and only http and https are accepted", "[fetchers][security]") {
  AnswerRules rules = by_paths(Format::json, "r", "u");
  rules.thumbnail = PartRule("i");
  const auto hit = [&](const std::string& url, const std::string& picture) {
    const auto list = parse_answer(rules, R"({"r":[{"u":")" + url + R"(","t":"x","i":")" + picture + "\"}]}",
                                   kLimitContext);
    REQUIRE(list.has_value());
    return list->hits.empty() ? std::string("none") : list->hits[0].url + " " + list->hits[0].thumbnail;
  };
  CHECK(hit("a", "b.png") == "http://engine.example/dir/a http://engine.example/dir/b.png");
  CHECK(hit("//a.example/", "//b.example/c") == "http://a.example/ http://b.example/c");
  CHECK(hit("https://a.example/", "javascript:alert(1)") == "https://a.example/ ");
  CHECK(hit("https://a.example/", "data:image/png;base64,AAAA") == "https://a.example/ ");
  for (const std::string bad :
       {"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x"}) {
    INFO(bad);
    CHECK(hit(bad, "b.png") == "none");
  }
  const auto based =
      parse_answer(by_paths(Format::html, "//p", "./a/@href"),
                   "<base href='http://other.example/x/'><p><a href='y'>t</a></p>", kLimitContext);
  CHECK(based->hits[0].url == "http://other.example/x/y");
  const auto unbased = parse_answer(by_paths(Format::html, "//p", "./a/@href"),
                                    "<base href='javascript:x'><p><a href='y'>t</a></p>", kLimitContext);
  CHECK(unbased->hits[0].url == "http://engine.example/dir/y");
}

TEST_CASE("Forbidden characters are removed or replaced and their neighbours are kept",
          "[fetchers][text][security]") {
  const auto cleaned = [](const std::string& middle) { return clean_text("a" + middle + "b", true, 100); };
  for (const std::string mark :
       {"\xE2\x80\x8B", "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC",
        "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9",
        "\xEF\xBB\xBF", "\xC2\xAD", "\xD8\x9C"}) {
    CHECK(cleaned(mark) == "ab");
    CHECK(clean_text("a" + mark + "b", false, 100) == "ab");
  }
  CHECK(cleaned("\xD8\x9B") == "a\xD8\x9B" + std::string("b"));
  for (const std::string blank : {"\x01", "\x1F", " ", "\t", "\x7F", "\xC2\x80", "\xC2\xA0", "\xE2\x80\xA8",
                                  "\xE2\x80\xA9", "\xE3\x80\x80"})
    CHECK(cleaned(blank) == "a b");
  for (const std::string kept :
       {"\xE2\x80\xAF", "\xE2\x81\xA5", "\xE2\x81\xAA", "\xC2\xA1", "\xC2\xAE", "~", "!"})
    CHECK(cleaned(kept) == "a" + kept + "b");
  const std::string replacement = "\xEF\xBF\xBD";
  for (const std::string none : {"&#0;", "&#xD800;", "&#xDFFF;", "&#x110000;", "&#99999999;"})
    CHECK(cleaned(none) == "a" + replacement + "b");
  CHECK(cleaned("&#xD7FF;") ==
        "a\xED\x9F\xBF"
        "b");
  CHECK(cleaned("&#xE000;") ==
        "a\xEE\x80\x80"
        "b");
  CHECK(cleaned("&#x10FFFF;") ==
        "a\xF4\x8F\xBF\xBF"
        "b");
  for (const std::string literal :
       {"&#123456789;", "&#x123456789;", "&#;", "&#x;", "&#xG;", "&#1a;", "&nosuch;"})
    CHECK(cleaned(literal) == "a" + literal + "b");
  CHECK(cleaned("<script>x</script>") == "ab");
  CHECK(cleaned("</script>x") == "axb");  // an end tag whose beginning was cut off
}

TEST_CASE("Keys of a path may hold slashes and brackets inside a filter", "[fetchers][answers]") {
  const auto first_url = [](const std::string& results, const std::string& body) {
    const auto list = parse_answer(by_paths(Format::json, results, "u"), body, kLimitContext);
    return list && !list->hits.empty() ? list->hits.front().url : std::string();
  };
  const std::string body = R"({"a":[{"k":"x/y","r":[{"u":"http://one/","t":"1"}]},)"
                           R"({"k":"x]z","r":[{"u":"http://two/","t":"2"}]},)"
                           R"({"k":"w","r":[{"u":"http://three/","t":"3"}]}]})";
  CHECK(first_url("$/a/*[k=x/y]/r", body) == "http://one/");
  CHECK(first_url("$/a/*[k=x]z]/r", body) == "http://two/");
  CHECK(first_url("$/a/*[k=w]/r", body) == "http://three/");
  CHECK(first_url("$/a/*[k=none]/r", body).empty());
}
