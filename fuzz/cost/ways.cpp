#include "fuzz/cost/ways.h"

#include <utility>

#include "core/json.h"
#include "core/query.h"
#include "core/url.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/letor_file.h"
#include "evaluation/runs/run_file.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/readable_page.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/documents/text_documents.h"
#include "fetchers/engines/http/opensearch_description.h"
#include "fetchers/engines/http/ready_access.h"
#include "fetchers/http/robots.h"
#include "fetchers/recording/har_archive.h"
#include "fusion/training/registry.h"
#include "templates/expander.h"
#include "templates/template_file.h"
#include "tests/support/colliding_keys.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::cost {
namespace {

constexpr double kYamlMemory = 256;  // a tree of short nodes; the files have at most 256 KiB

using fetchers::AnswerRules;
constexpr std::size_t kKilobyte = 1024;
constexpr std::size_t kMegabyte = 1024 * kKilobyte;

AnswerRules rules_of(AnswerRules::Format format) {
  const bool is_json = format == AnswerRules::Format::json;
  AnswerRules rules;
  rules.format = format;
  rules.results = is_json ? "results" : "//item";
  rules.url = is_json ? "url" : "./link";
  rules.title = is_json ? "title" : "./title";
  rules.content = is_json ? "content" : ".//description";
  rules.suggestion = is_json ? "suggestions" : "//i";
  rules.published = is_json ? "date" : "./date";
  rules.is_content_html = true;
  return rules;
}

void parse(const AnswerRules& rules, const std::string& text) {
  fetchers::AnswerContext context{"http://engine.example/search", "", ""};
  context.now = 1'740'000'000;
  (void)fetchers::parse_answer(rules, text, context);
}

/// A reader of files, given texts.
template <class Read>
std::function<void(const std::string&)> from_file(const std::string& name, Read read) {
  return [name, read](const std::string& text) {
    static const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
    read(folder.write(name, text));
  };
}

/// Members of one object whose keys fall into one bucket of the standard hash table.
Growth colliding_members() {
  Growth out{"colliding keys", "[", "", "]"};
  out.piece = "{";
  for (const std::string& key : test::colliding_keys(1500, 2357)) out.piece += '"' + key + "\":0,";
  out.piece.back() = '}';
  out.piece += ",";
  out.after = "0]";
  return out;
}

std::vector<Growth> json_growths() {
  return {{"numbers", "[", "1.2345678901234567,", "0]"},
          {"digits", "", "9", ""},
          {"arrays", "[", "[[[[[[]]]]]],", "0]"},
          {"open arrays", "", "[", ""},
          {"members", "[", R"({"a":1,"b":"c","d":[true,null]},)", "0]"},
          {"many members", "{", R"("k%":1,)", R"("last":0})"},
          {"escapes", "\"", R"(\u00e9\n)", "\""},
          {"blanks", "", " \n", "1"},
          {"long key", "{\"", "k", "\":1}"},
          colliding_members()};
}

std::vector<Growth> html_growths() {
  return {{"items of a list", "<body><ol>", "<li>a", ""},
          {"items of lists", "<body>", "<ol><li>a<ul><li>b</ul></ol>", ""},
          {"attributes", "<body><p ", "a%=1 ", ">x"},
          {"attributes in quotes", "<body><p ", "a%='>' ", ">x"},
          {"attributes without blanks", "<body><p ", "a%=\"<\"", ">x"},
          {"attributes and slashes", "<body><p ", "/a%", ">x"},
          {"attributes behind a stray quote", "<body><p \" ' ", "a% ", ">x"},
          {"attributes behind a comment", "<body><!-- --!><p ", "a% ", ">x"},
          {"attributes in a script", "<body><script><p ", "a% ", "></script>x"},
          {"attributes behind a script", "<body><script></scripty><p ", "a% ", ">x</script>"},
          {"open elements", "<body>", "<b>", "x"},
          {"open and stray ends", "<body>", "<b>", "", "x", "</i>"},
          {"stray ends", "<body>", "</p>", ""},
          {"stray ends below open ones", "<body>", "<div></span>", ""},
          {"paragraphs", "<body>", "<p>some words", ""},
          {"nested blocks", "<body>", "<div>", "", "x", "</div>"},
          {"tables", "<body>", "<table><tr><td>", ""},
          {"rows", "<body><table>", "<tr><td>a<td>b", ""},
          {"links", "<body>", "<a href=b>c</a>", ""},
          {"links with a long base", "<head><base href=/" + std::string(1900, 'x') + "></head><body>",
           "<a href=b>c</a>", ""},
          {"marks", "<body>", "<b><i><code>a</code></i></b>", ""},
          {"entities", "<body>", "&amp;&#x41;&unknown;&", ""},
          {"comments", "<body>", "<!-- a -->b", ""},
          {"open comments", "<body>", "<!--", ""},
          {"declarations", "<body>", "<!x <?y", ""},
          {"less-than signs", "<body>", "<", ""},
          {"code", "<body><blockquote><blockquote><pre>", "\n", "x</pre>"},
          {"open code", "<body>", "<pre>a", ""},
          {"styles", "<body>", "<p style='a:b;c:d;display:block'>x", ""},
          {"one style", "<body><p style='", "a:b;", "'>x"},
          {"style rules", "<style>", ".c%{color:red}", "</style><body><p class=c1>x"},
          {"open style rules", "<style>", ".c%{", "</style><body><p class=c1>x"},
          {"classes", "<style>.h{display:none}</style><body><p class='", "c% ", "'>x"},
          {"bytes that are no UTF-8", "<body>", "\xff\xfe", ""},
          {"NUL", "<body>", std::string("\0a", 2), ""},
          {"forms", "<body>", "<form><select><option>", ""},
          {"results", "<body>", "<item><link>http://a.example/%</link><title>t</title></item>", ""},
          {"nested results", "<body>", "<item><description>", "x"}};
}

std::vector<Growth> xml_growths() {
  return {
      {"items", "<rss><channel>", "<item><link>http://a/%</link><title>t</title></item>", "</channel></rss>"},
      {"elements before items", "<rss><channel>", "<a/>", "</channel></rss>", "", "<item/>"},
      {"short items", "<rss><channel>", "<item/>", "</channel></rss>"},
      {"nested items", "<rss><channel>", "<item><description>", "</channel></rss>", "x",
       "</description></item>"},
      {"attributes", "<rss ", "a%='1' ", "/>"},
      {"entities", "<rss><channel><item><title>", "&amp;&#65;", "</title></item></channel></rss>"},
      {"text", "<rss><channel><item><title>", "some words ", "</title></item></channel></rss>"},
      {"open elements", "", "<a>", ""},
      {"comments", "<rss>", "<!-- -->", "</rss>"},
      {"declarations", "<!DOCTYPE a [", "<!ENTITY b '&b;'>", "]><rss/>"}};
}

std::vector<Growth> yaml_growths(const std::string& head, const std::string& item) {
  return {{"items", head, item, ""},
          {"lines", "a:\n", " - b\n", ""},
          {"blank lines", "", "\n", "a: b\n"},
          {"comments", "", "# a\n", "a: b\n"},
          {"open lists", "a: ", "[", ""},
          {"open maps", "a: ", "{a: ", ""},
          {"dashes", "", "- ", ""},
          {"anchors", "a: &a b\nl:\n", " - *a\n", ""},
          {"members", "", "k%: v\n", ""},
          {"repeated members", "", "k%: v\na: b\n", ""},
          {"loops", "a: &a [", "*a, ", "*a]\n"},
          {"quotes", "a: \"", "\\n", "\"\n"},
          {"folded", "a: >\n", "  b\n\n", ""}};
}

void add_answers(std::vector<Way>& out) {
  out.push_back({"JSON answer",
                 kMegabyte,
                 300,
                 [](const std::string& text) { parse(rules_of(AnswerRules::Format::json), text); },
                 {{"results", R"({"results":[)", R"({"url":"http://a.example/%","title":"t"},)", "{}]}"},
                  {"results without URL", R"({"results":[)", R"({"title":"<b>t</b>"},)", "{}]}"},
                  {"repaired", R"({"results":[)", R"({"url":NaN,"title":"\ud800"},)", "{}]}"},
                  {"dates", R"({"results":[)", R"({"url":"http://a","date":"vor 3 a 4 b"},)", "{}]}"},
                  {"a long date", R"({"results":[{"url":"http://a","date":")", "3 hours ", "\"}]}"},
                  {"events", "", "data: {\"url\":\"http://a.example/%\"}\n\n", ""},
                  {"lines of an event", "", "data: 1\n", "\n"},
                  {"comments of events", "", ": a\n", "data: {}\n"},
                  {"open events", "", "data: [\n\n", ""},
                  {"suggestions", R"({"results":[],"suggestions":[)", R"("a%",)", "0]}"},
                  {"content", R"({"results":[{"url":"http://a","content":")", "<b>a</b> &amp;", "\"}]}"}}});
  for (const Growth& growth : json_growths()) out.back().growths.push_back(growth);
  out.push_back({"XML answer", kMegabyte, 400,
                 [](const std::string& text) { parse(rules_of(AnswerRules::Format::xml), text); },
                 xml_growths()});
  out.push_back({"feed", kMegabyte, 400,
                 [](const std::string& text) {
                   AnswerRules rules;
                   rules.format = AnswerRules::Format::xml;
                   parse(rules, text);
                 },
                 xml_growths()});
  out.push_back({"HTML answer", kMegabyte, 1500,
                 [](const std::string& text) { parse(rules_of(AnswerRules::Format::html), text); },
                 html_growths()});
}

void add_pages(std::vector<Way>& out) {
  for (const auto form : {fetchers::PageForm::markdown, fetchers::PageForm::text})
    out.push_back({form == fetchers::PageForm::markdown ? "page as Markdown" : "page as text", kMegabyte,
                   1500,
                   [form](const std::string& text) {
                     (void)fetchers::readable_page(text, "text/html", "http://a.example/b/c", form);
                   },
                   html_growths()});
  out.push_back(
      {"robots.txt",
       500 * kKilobyte,
       200,
       [](const std::string& text) {
         (void)fetchers::RobotsRules::parse(text, "metafuse").may_read("/" + std::string(2000, 'a'));
       },
       {{"rules", "User-agent: *\n", "Disallow: /a%\n", ""},
        {"stars", "User-agent: *\n", "Disallow: /" + std::string(500, '*') + "\n", ""},
        {"stars and letters", "User-agent: *\n", "Disallow: /*a*a*a*a*a*a*a*a*b\n", ""},
        {"agents", "", "User-agent: a%\n", ""},
        {"groups", "", "User-agent: metafuse\nAllow: /%$\n", ""},
        {"one line", "User-agent: *\nDisallow: /", "%41", ""},
        {"colons", "", ":", ""}}});
  out.push_back(
      {"description document",
       kMegabyte,
       200,
       [](const std::string& text) {
         fetchers::ReadyAccess ready;
         (void)fetchers::apply_description(ready, text);
       },
       {{"URLs", "<OpenSearchDescription>", R"(<Url type="text/html" template="http://a/?q={searchTerms}"/>)",
         "</OpenSearchDescription>"},
        {"a long template", R"(<OpenSearchDescription><Url type="text/xml" template="http://a/?q=)", "{a?}",
         R"("/></OpenSearchDescription>)"},
        {"open elements", "", "<a>", ""}}});
  out.push_back({"HTML document", kMegabyte, 1500,
                 [](const std::string& text) { (void)fetchers::html_document(text); }, html_growths()});
  out.push_back({"Markdown document",
                 16 * kMegabyte,
                 600,
                 [](const std::string& text) { (void)fetchers::markdown_document(text); },
                 {{"lines", "# Title\n", "some words\n\n", ""},
                  {"brackets", "", "[", ""},
                  {"brackets and links", "", "[", "](b)", "", "]"},
                  {"links", "", "[a](b) ", ""},
                  {"half links", "", "[a](", ""},
                  {"pictures", "", "![", ""},
                  {"marks", "", "*_`", ""},
                  {"front matter", "---\n", "a: b\n", "---\ntext"},
                  {"open front matter", "---\n", "a%: b\n", ""},
                  {"less-than signs", "", "<a ", ""}}});
}

void add_files(std::vector<Way>& out) {
  out.push_back(
      {"recording",
       kMegabyte,
       600,
       from_file("archive.har", [](const std::string& path) { (void)fetchers::HarArchive::read(path); }),
       {{"entries", R"({"log":{"entries":[)",
         R"({"request":{"method":"GET","url":"http://a/%"},"response":{"status":200,"content":{"text":"x"}}},
)",
         "{}]}}"},
        {"headers",
         R"({"log":{"entries":[{"request":{"method":"GET","url":"http://a/"},"response":{"headers":[)",
         R"({"name":"a%","value":"b"},)", "{}]}}]}}"}}});
  out.push_back(
      {"model",
       kMegabyte,
       600,
       [](const std::string& text) { (void)fusion::parse_model(text, "model.json"); },
       {{"weak rankings",
         R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[{"name":"a","kind":"rank","depth":1000}],"unranked":"worst","body":{"weak_rankings":[)",
         R"({"feature":0,"threshold":1,"q_default":0,"alpha":0.5},)",
         R"({"feature":0,"threshold":1,"q_default":0,"alpha":0.5}]},"training":{}})"},
        {"features", R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[)",
         R"({"name":"f%","kind":"rank","depth":10},)",
         R"({"name":"z","kind":"rank","depth":10}],"unranked":"worst","body":{"weak_rankings":[]},"training":{}})"},
        {"ensembles", "", R"({"format":"metafuse-model","version":1,"body":)", "{}", "", "}"}}});
  out.push_back({"run file",
                 16 * kMegabyte,
                 200,
                 from_file("a.run", [](const std::string& path) { (void)evaluation::read_run(path); }),
                 {{"documents", "", "1 Q0 doc% 1 0.5 tag\n", ""},
                  {"topics", "", "% Q0 doc 1 0.5 tag\n", ""},
                  {"scattered topics", "", "1 Q0 d% 1 1 t\n2 Q0 d% 1 1 t\n", ""},
                  {"one id", "1 Q0 ", "d", " 1 1 t\n"},
                  {"blank lines", "1 Q0 d 1 1 t\n", "\n", ""},
                  {"comments", "", "# a\n", "1 Q0 d 1 1 t\n"}}});
  out.push_back({"judgments",
                 16 * kMegabyte,
                 200,
                 from_file("a.qrels", [](const std::string& path) { (void)evaluation::read_qrels(path); }),
                 {{"documents", "", "1 0 doc% 1\n", ""},
                  {"documents backwards", "", "1 0 z%z 1\n1 0 a% 0\n", ""},
                  {"topics", "", "% 0 doc 1\n", ""}}});
  out.push_back({"LETOR file",
                 16 * kMegabyte,
                 200,
                 [](const std::string& text) {
                   (void)evaluation::parse_letor_lines(
                       "input", text, 1, {false},
                       [](const evaluation::LetorRow&) -> Result<void> { return {}; });
                 },
                 {{"rows", "", "1 qid:1 1:0.5 2:0.25 #docid=d%\n", ""},
                  {"queries", "", "1 qid:% 1:0.5\n", ""},
                  {"one comment", "1 qid:1 1:0.5 # ", "a ", "\n"}}});
  out.push_back({"templates", 256 * kKilobyte, 6000,
                 [](const std::string& text) {
                   const auto file = templates::parse_domain_file(text, "input.yaml");
                   if (!file) return;
                   BaseQuery query;
                   for (const auto& slot : file->domain.slots) query.slots[slot.name] = "value";
                   (void)templates::expand(file->domain, query);
                 },
                 yaml_growths("version: 1\ndomain: a\nslots:\n  S: {required: true}\ntemplates:\n",
                              "  - {id: t%, engine: e, query: '[{S|words}] x'}\n"),
                 kYamlMemory});
  out.push_back(
      {"engine definitions", 256 * kKilobyte, 6000,
       [](const std::string& text) { (void)fetchers::parse_engine_file(text, "input.yaml"); },
       yaml_growths(
           "engines:\n",
           "  - {name: e%, engine: json_engine, search_url: 'http://a/?q={query}', results_query: r, "
           "url_query: u, title_query: t}\n"),
       kYamlMemory});
  out.push_back(
      {"settings of another program",
       256 * kKilobyte,
       6000,
       [](const std::string& text) { (void)parse_yaml(text, "input.yaml", {.may_repeat_keys = true}); },
       {{"two keys in turn", "", "k%: v\nk%: w\n", ""}, {"one key among others", "", "k%: v\na: b\n", ""}},
       kYamlMemory});
}

}  // namespace

std::string grown(const Growth& growth, std::size_t bytes) {
  std::string out = growth.before;
  std::size_t count = 0;
  const std::size_t fixed = growth.before.size() + growth.middle.size() + growth.after.size();
  for (; count == 0 || out.size() + count * growth.closing.size() + fixed < bytes; ++count) {
    const std::size_t place = growth.piece.size() < 3 ? std::string::npos : growth.piece.find('%');
    if (place == std::string::npos) {
      out += growth.piece;
      continue;
    }
    for (const char c : growth.piece)
      if (c == '%')
        out += std::to_string(count);
      else
        out += c;
  }
  out += growth.middle;
  for (std::size_t i = 0; i < count; ++i) out += growth.closing;
  return out + growth.after;
}

std::vector<Way> ways() {
  std::vector<Way> out;
  out.push_back({"JSON", kMegabyte, 300,
                 [](const std::string& text) { (void)parse_json(text, "body", Code::usage); },
                 json_growths()});
  out.push_back({"URL",
                 64 * kKilobyte,
                 400,
                 [](const std::string& text) { (void)canonical_url_key(text); },
                 {{"path", "http://a.example/", "a/../%/./", ""},
                  {"parameters", "http://a.example/?", "a%=b&", ""},
                  {"labels", "http://", "a.", "example/"},
                  {"escapes", "http://a.example/", "%41%7e%", ""},
                  {"letters of another script", "http://", "\xc3\xa4", ".example/"}}});
  add_answers(out);
  add_pages(out);
  add_files(out);
  add_lists_and_indexes(out);
  return out;
}

}  // namespace metafuse::cost
