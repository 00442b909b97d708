// What a definition can express beyond one path per part, and what its author is told about mistakes.

#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/random.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/calling/trial.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/http/engine_request.h"
#include "fetchers/http/request_template.h"
#include "tests/support/http_wire.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

const std::string kUrl = "search_url: \"http://e.example/s?q={query}\", ";

EngineFile file_of(const std::string& keys) {
  const auto file = parse_engine_file("engines:\n  - {name: e, " + keys + "}\n", "e.yaml");
  if (!file) FAIL(file.error().text);
  return *file;
}

Engine engine_with(const std::string& keys) {
  return file_of(keys).engines.front();
}

std::vector<Hit> hits_of(const Engine& engine, const std::string& answer) {
  const auto list =
      parse_answer(std::get<HttpAccess>(engine.access).answer, answer, {"http://e.example/s", "", ""});
  if (!list) FAIL(list.error().text);
  return list->hits;
}

std::string error_of_keys(const std::string& keys) {
  const auto file = parse_engine_file("engines:\n  - {name: e, " + keys + "}\n", "e.yaml");
  return file ? "" : file.error().text;
}

EngineRequest request_with(const Engine& engine, const std::string& query) {
  const auto ready = ready_access(engine, SecretLookup());
  REQUIRE(ready.has_value());
  const Clock& clock = machine_clock();
  return build_request(engine, *ready, query, {.depth = 7, .deadline = Deadline(clock, Duration(0))}, 1);
}

}  // namespace

TEST_CASE("A feed has no paths, since they would have no effect", "[fetchers][definition]") {
  const std::string feed = "engine: xml_engine, " + kUrl;
  CHECK(error_of_keys(feed + "url_prefix: 'http://a.example/', kind: video").empty());
  for (const std::string key :
       {"content_xpath", "published_xpath", "thumbnail_xpath", "thumbnail_prefix", "url_format",
        "results_match", "suggestion_xpath", "length_xpath", "title_xpath", "id_xpath"}) {
    INFO(key);
    CHECK(error_of_keys(feed + key + ": './a'").find(key + " needs results_xpath") != std::string::npos);
  }
}

TEST_CASE("`verify` is true or false as YAML writes it, or a file that can be read",
          "[fetchers][definition]") {
  const std::string json = "engine: json_engine, results_query: r, url_query: u, title_query: t, " + kUrl;
  for (const std::string yes : {"true", "True", "yes"}) {
    const auto access = std::get<HttpAccess>(engine_with(json + "verify: " + yes).access);
    CHECK(access.verifies_certificates);
    CHECK(access.ca_file.empty());
  }
  CHECK_FALSE(std::get<HttpAccess>(engine_with(json + "verify: False").access).verifies_certificates);
  CHECK(error_of_keys(json + "verify: missing.pem").find("e.yaml:2:") == 0);
  CHECK(error_of_keys(json + "verify: missing.pem").find("missing.pem") != std::string::npos);
}

TEST_CASE("Engines that are not behind HTTP refuse the keys of requests", "[fetchers][definition]") {
  for (const std::string key : {"max_bytes: 5000", "retries: 1", "retry_on_http_error: 500",
                                "requests_per_second: 1", "connect_timeout: 1", "first_byte_timeout: 1"})
    for (const std::string type :
         {"engine: local, database: x.db, ", "engine: local_cosine, database: x.db, ",
          "engine: command, command: [/bin/echo, '{{QUERY}}'], ",
          "engine: sqlite, database: x.db, query_str: 'SELECT :query', "}) {
      INFO(type << key);
      CHECK(error_of_keys(type + key).find("unknown key \"" + key.substr(0, key.find(':'))) !=
            std::string::npos);
    }
  CHECK(error_of_keys("engine: local, database: x.db, max_connections: 2").find("unknown key") !=
        std::string::npos);
  CHECK(error_of_keys("engine: command, command: [/bin/echo, '{{QUERY}}'], max_connections: 2").empty());
}

TEST_CASE("A saved answer is read as that of the query at this time", "[fetchers][definition][trial]") {
  const Engine engine = engine_with(
      "engine: json_engine, results_query: r, url_query: u, title_query: t, published_query: p, "
      "results_match: [$/t], " +
      kUrl);
  TrialOptions options;
  options.is_json = true;
  options.saved_answer =
      R"({"r":[{"u":"http://a/","t":"apples","p":"3 hours ago"},{"u":"http://b/","t":"pears"}]})";
  options.saved_content_type = "application/json";
  const auto trial = try_engine(engine, "apples", options);
  REQUIRE(trial.has_value());
  CHECK(trial->text.find("pears") == std::string::npos);
  CHECK(trial->text.find("\"published\":\"20") != std::string::npos);
}

TEST_CASE("A part may have fallback paths and url_format comes last", "[fetchers][definition]") {
  const Engine engine = engine_with(
      "engine: json_engine, " + kUrl +
      "results_query: hits, url_query: [$/url, $/story_url], url_format: \"http://e.example/item/{$/id}\", "
      "title_query: [$/title, $/story_title]");
  const auto hits =
      hits_of(engine, R"({"hits":[{"url":"http://a/","story_url":"http://b/","title":"A","id":1},
      {"url":null,"story_url":"http://b/","title":"","story_title":"B","id":2},{"url":"","id":3,"title":"C"},{"title":"D"}]})");
  REQUIRE(hits.size() == 3);
  CHECK(hits[0].url == "http://a/");
  CHECK(hits[1].url == "http://b/");
  CHECK(hits[1].title == "B");
  CHECK(hits[2].url == "http://e.example/item/3");
  const Engine one = engine_with(
      "engine: json_engine, " + kUrl +
      "results_query: hits, url_query: url, url_format: \"http://e.example/item/{id}\", title_query: t");
  CHECK(hits_of(one, R"({"hits":[{"url":"http://a/","id":1}]})")[0].url == "http://e.example/item/1");
  const Engine page =
      engine_with("engine: xpath, " + kUrl +
                  "results_xpath: //li, url_xpath: [./a/@data-url, ./a/@href], title_xpath: ./a");
  const auto links =
      hits_of(page, "<ul><li><a href='/x'>X</a></li><li><a href='/x' data-url='/y'>Y</a></li></ul>");
  REQUIRE(links.size() == 2);
  CHECK(links[0].url == "http://e.example/x");
  CHECK(links[1].url == "http://e.example/y");
  CHECK(error_of_keys("engine: json_engine, " + kUrl + "url_query: [a, \"/\"], title_query: t")
            .find("not a key path") != std::string::npos);
}

TEST_CASE("Several values are joined and arrays element by element", "[fetchers][definition]") {
  const Engine engine =
      engine_with("engine: json_engine, " + kUrl +
                  "results_query: r, url_query: u, title_query: {join: [$/name, $/version], with: \" - \"}, "
                  "content_query: {join: [$/tags, $/people/*/name], with: \", \"}");
  const auto hits = hits_of(engine, R"({"r":[{"u":"http://a/","name":"N","version":"1.2","tags":["x","y"],
      "people":[{"name":"P"},{"name":"Q"}]},{"u":"http://b/","version":3,"tags":[]}]})");
  REQUIRE(hits.size() == 2);
  CHECK(hits[0].title == "N - 1.2");
  CHECK(hits[0].snippet == "x, y, P, Q");
  CHECK(hits[1].title == "3");
  CHECK(hits[1].snippet.empty());
  const Engine xml = engine_with("engine: xml_engine, " + kUrl +
                                 "results_xpath: //r, url_xpath: u, title_xpath: {join: [a, b]}");
  CHECK(hits_of(xml, "<x><r><u>http://a/</u><a>1</a><a>2</a><b>3</b></r></x>")[0].title == "1 2 3");
}

TEST_CASE("A path selects the elements whose member has a given value", "[fetchers][definition]") {
  const Engine engine =
      engine_with("engine: json_engine, " + kUrl +
                  "results_query: \"$/lists/*[kind=web]/r\", url_query: \"$/links/*[type=text/html]/href\", "
                  "title_query: \"$/properties/*[type=title]/title/*/text\", "
                  "content_query: \"notes[lang=en]/text\"");
  const auto hits = hits_of(engine, R"({"lists":[{"kind":"ad","r":[{"links":[]}]},{"kind":"web","r":[
      {"links":[{"type":"pdf","href":"http://a/pdf"},{"href":"http://a/none"},{"type":"text/html","href":"http://a/1"}],
       "properties":{"When":{"type":"date","title":[{"text":"no"}]},"Name":{"type":"title","title":[{"text":"T"}]}},
       "x":{"notes":{"lang":"en","text":"N"}}},
      {"links":[{"type":"text/html","href":"http://a/2"}],"x":{"notes":{"lang":"fr","text":"N"}}}]}]})");
  REQUIRE(hits.size() == 2);
  CHECK(hits[0].url == "http://a/1");
  CHECK(hits[0].title == "T");
  CHECK(hits[0].snippet == "N");
  CHECK(hits[1].url == "http://a/2");
  CHECK(hits[1].title.empty());
  CHECK(hits[1].snippet.empty());
}

TEST_CASE("With raw an identifier keeps its slashes and every other character is escaped",
          "[fetchers][definition]") {
  const Engine engine =
      engine_with("engine: json_engine, " + kUrl +
                  "results_query: r, url_format: \"https://kb.example/{id|raw}\", title_query: t");
  const auto url = [&](const std::string& id) {
    return hits_of(engine, R"({"r":[{"t":"x","id":)" + to_text(Json(id)) + "}]}")[0].url;
  };
  CHECK(url("vpn/request") == "https://kb.example/vpn/request");
  CHECK(url("a b?c#d%2e\"<") == "https://kb.example/a%20b%3Fc%23d%252e%22%3C");
}

TEST_CASE("An engine's instances answer at other hosts and are otherwise the engine",
          "[fetchers][definition][hedge]") {
  const std::string answer = "engine: json_engine, results_query: r, url_query: u, title_query: t, ";
  const Engine engine =
      engine_with(answer +
                  "search_url: \"http://e.example/s?q={query}&id={ids}\", "
                  "steps: [{search_url: \"http://e.example/ids?q={query}\", ids_query: $/*}], "
                  "next_page: {cursor_query: $/next, search_url: \"http://e.example?after={cursor}\"}, "
                  "instances: [\"https://two.example:8443/\", \"http://10.0.0.3\"]");
  const Engine second = engine_at(engine, 0);
  const auto& access = std::get<HttpAccess>(second.access);
  CHECK(second.name == "e (2)");
  CHECK(access.url == "https://two.example:8443/s?q={query}&id={ids}");
  CHECK(access.steps.at(0).url == "https://two.example:8443/ids?q={query}");
  CHECK(access.paging.next.url == "https://two.example:8443?after={cursor}");
  CHECK(access.instances.empty());
  CHECK(std::get<HttpAccess>(engine_at(engine, 1).access).url == "http://10.0.0.3/s?q={query}&id={ids}");
  const auto ready = ready_access(second, SecretLookup());
  REQUIRE(ready.has_value());
  CHECK(ready->own_origin == "two.example:8443");
  CHECK(access.hedges);
  CHECK_FALSE(std::get<HttpAccess>(engine_with(answer + kUrl + "hedge: false").access).hedges);

  const auto is_refused = [&](const std::string& keys) {
    return error_of_keys(answer + keys).find("instances") != std::string::npos;
  };
  CHECK_FALSE(is_refused(kUrl + "instances: [\"http://a\", \"http://b\", \"http://c\"]"));
  CHECK(is_refused(kUrl + "instances: [\"http://a\", \"http://b\", \"http://c\", \"http://d\"]"));
  for (const char* const wrong : {"ftp://a", "a.example", "http://a/path", "http://a?x=1", "http://me@a",
                                  "http://a#x", "http://a:0", "http://{lang}.a", "http://${SECRET}"})
    CHECK(is_refused(kUrl + "instances: [\"" + std::string(wrong) + "\"]"));
  CHECK(error_of_keys(answer + kUrl + "instances: [\"http://abc.onion\"]").find(".onion") !=
        std::string::npos);
  const std::string secure = "search_url: \"https://e.example/s?q={query}\", ";
  CHECK(is_refused(secure + "instances: [\"http://a\"]"));
  CHECK_FALSE(is_refused(secure + "instances: [\"https://a\"]"));
  CHECK(is_refused("search_url: \"http://{lang}.e.example/s?q={query}\", instances: [\"http://a\"]"));
}

TEST_CASE("Redirect links in answers are unwrapped unless the definition disables it",
          "[fetchers][definition][unwrap]") {
  const std::string answer = R"({"r":[{"u":"/out?to=http%3A%2F%2Fa.example%2F1","t":"x"},
      {"u":"https://duckduckgo.com/l/?uddg=http%3A%2F%2Fa.example%2F2","t":"x"}]})";
  const std::string keys = "engine: json_engine, " + kUrl + "results_query: r, url_query: u, title_query: t";
  const auto hits = hits_of(engine_with(keys + ", unwrap: [{match: e.example/out, parameter: to}]"), answer);
  CHECK(hits[0].url == "http://a.example/1");
  CHECK(hits[1].url == "http://a.example/2");
  CHECK(hits_of(engine_with(keys), answer)[1].url == "http://a.example/2");
  CHECK(hits_of(engine_with(keys + ", unwrap: false"), answer)[1].url.starts_with("https://duckduckgo.com/"));
  CHECK(error_of_keys(keys + ", unwrap: [{match: nothing}]").find("lacks the key \"parameter\"") !=
        std::string::npos);
}

TEST_CASE("A trial reports which paths of a definition found nothing", "[fetchers][trial]") {
  const auto remark = [](const std::string& keys, const std::string& answer) {
    TrialOptions options;
    options.saved_answer = answer;
    const auto trial = try_engine(engine_with(keys), "x", options);
    REQUIRE(trial.has_value());
    CHECK(trial->text.find(trial->remark) != std::string::npos);
    return trial->remark;
  };
  const std::string json =
      "engine: json_engine, " + kUrl + "results_query: r, title_query: name, url_query: ";
  const std::string answer = R"({"r":[{"href":"http://a/","name":"A"},{"href":"http://b/","name":"B"}]})";
  CHECK(remark(json + "link", answer) == "\n2 items, none has `link`; they have `href`, `name`\n");
  CHECK(remark(json + "[link, uri]", answer) ==
        "\n2 items, none has `link`, `uri`; they have `href`, `name`\n");
  CHECK(remark(json + "href", answer).empty());
  CHECK(remark("engine: json_engine, " + kUrl + "results_query: r, title_query: titel, url_query: href",
               answer) == "\n2 items, none has `titel`; they have `href`, `name`\n");
  CHECK(remark("engine: xpath, " + kUrl + "results_xpath: //li, url_xpath: ./b/@href, title_xpath: .",
               "<ul><li><a href='/x'>X</a></li></ul>") == "\n1 item, which has no `./b/@href`\n");
  CHECK(remark(json + "href", R"({"r":[]})").empty());
  CHECK(remark(json + "href, content_query: text, kind: video, length_query: [time, duration]", answer) ==
        "\n2 items, none has `text`; they have `href`, `name`\n"
        "\n2 items, none has `time`, `duration`; they have `href`, `name`\n");
}

TEST_CASE("A trial says how far the XPath of the results leads", "[fetchers][trial]") {
  const auto remark = [](const std::string& type, const std::string& results, const std::string& answer) {
    TrialOptions options;
    options.saved_answer = answer;
    const auto trial = try_engine(engine_with("engine: " + type + ", " + kUrl + "results_xpath: \"" +
                                              results + "\", url_xpath: ./a/@href, title_xpath: ./a"),
                                  "x", options);
    REQUIRE(trial.has_value());
    return trial->remark;
  };
  const std::string page = "<main><ul class='r'><p>1</p></ul><ul class='r'><p>2</p></ul></main>";
  CHECK(remark("xpath", "//ul[@class='r']/li", page) ==
        "\nno item: results_xpath `//ul[@class='r']/li` finds nothing in the answer; `//ul[@class='r']` "
        "finds 2\n");
  CHECK(remark("xpath", "//main/ul[p/b]/li", page) ==
        "\nno item: results_xpath `//main/ul[p/b]/li` finds nothing in the answer; `//main` finds 1\n");
  CHECK(remark("xpath", "//article", page) ==
        "\nno item: results_xpath `//article` finds nothing in the answer\n");
  CHECK(remark("xml_engine", "//item", "<feed><entry/></feed>") ==
        "\nno item: results_xpath `//item` finds nothing in the answer\n");
}

TEST_CASE("A trial passes on the caller's headers that the engine names", "[fetchers][trial]") {
  const std::string keys =
      "engine: json_engine, search_url: 'http://127.0.0.1:1/?q={query}', "
      "results_query: r, title_query: name, url_query: href";
  const std::string forward = ", auth: {type: forward, headers: [X-User-Token]}";
  const auto told = [&](const std::string& more, const StringPairs& headers) {
    TrialOptions options;
    options.headers = headers;
    const auto trial = try_engine(engine_with(keys + more), "x", options);
    return trial ? trial->text + trial->message : trial.error().text;
  };
  CHECK(told(forward, {{"x-user-token", "alice"}}).find("> x-user-token: REDACTED") != std::string::npos);
  CHECK(told(forward, {}).find("needs the caller's token") != std::string::npos);
  CHECK(told(forward, {{"X-User-Tokens", "alice"}})
            .find("does not pass on the header X-User-Tokens; did you mean") != std::string::npos);
  CHECK(told("", {{"X-User-Token", "alice"}}).find("passes on no header of the caller") != std::string::npos);
}

TEST_CASE("A trial asks an engine that is disabled", "[fetchers][trial]") {
  const auto trial = try_engine(
      engine_with("engine: json_engine, disabled: true, search_url: 'http://127.0.0.1:1/?q={query}', "
                  "results_query: r, title_query: name, url_query: href"),
      "x", {});
  INFO((trial ? trial->text : trial.error().text));
  const std::string told = trial ? trial->text : trial.error().text;
  CHECK(told.find("disabled") == std::string::npos);
  CHECK(told.find("refused") != std::string::npos);  // nobody listens there
}

TEST_CASE("A trial shows the values found for each part of the first items", "[fetchers][trial]") {
  TrialOptions options;
  options.saved_answer =
      R"({"r":[{"href":"/a","name":"<b>A</b>","when":"2024-05-01"},{"name":"no address","text":"T"}]})";
  const auto trial = try_engine(engine_with("engine: json_engine, " + kUrl +
                                            "results_query: r, title_query: name, url_query: href, "
                                            "content_query: [text, body], published_query: when"),
                                "x", options);
  REQUIRE(trial.has_value());
  INFO(trial->text);
  CHECK(trial->text.find("\nitem 1 of 2\n"
                         "  url        /a\n"
                         "  title      A\n"
                         "  content    - (nothing at `text`, `body`)\n"
                         "  published  2024-05-01\n"
                         "\nitem 2 of 2\n"
                         "  url        - (nothing at `href`)\n"
                         "  title      no address\n"
                         "  content    T\n"
                         "  published  - (nothing at `when`)\n") != std::string::npos);
}

TEST_CASE("A trial shows no secret that the engine repeats", "[fetchers][trial][security]") {
  const std::string result = R"({"r":[{"href":"http://a.example/","name":"hush-hush","more":"hush-hush"}]})";
  for (const std::string status : {"200 OK", "403 Forbidden"}) {
    const test::WireServer server(test::serving_http([&](const std::string& head) {
      return test::http_response(status, "X-Key: hush-hush\r\n",
                                 head.find("hush-hush") == std::string::npos ? "{}" : result);
    }));
    TrialOptions options;
    options.secret_of = [](std::string_view) { return std::optional<std::string>("hush-hush"); };
    const auto trial = try_engine(
        engine_with("engine: json_engine, search_url: 'http://127.0.0.1:" + std::to_string(server.port()) +
                    "/?q={query}&k=${KEY}', results_query: r, title_query: name, url_query: href, "
                    "content_query: more"),
        "x", options);
    REQUIRE(trial.has_value());
    INFO(trial->text << trial->message);
    CHECK(trial->text.find("< x-key: REDACTED") != std::string::npos);
    CHECK(trial->text.find("\"name\":\"REDACTED\"") != std::string::npos);
    CHECK((trial->text + trial->message + trial->remark).find("hush") == std::string::npos);
  }
}

TEST_CASE("The type of a body decides how values are quoted, in whatever case it is written",
          "[fetchers][definition][security]") {
  const std::string json = R"({{"q":"{query}"}})";
  const std::string xml = "<q>{query}</q>";
  CHECK(body_quoting("{query}", "Application/JSON; charset=utf-8") == Quoting::json);
  CHECK(body_quoting("{query}", "TEXT/XML") == Quoting::xml);
  CHECK(body_quoting("{query}", "Application/X-WWW-Form-Urlencoded") == Quoting::form);
  CHECK(body_quoting(json, "application/octet-stream") == Quoting::none);
  // plain text may be any of these
  for (const std::string plain : {"text/plain", "Text/Plain;charset=UTF-8"}) {
    CHECK(body_quoting(json, plain) == Quoting::json);
    CHECK(body_quoting(" [\"{query}\"]", plain) == Quoting::json);
    CHECK(body_quoting(xml, plain) == Quoting::xml);
    CHECK(body_quoting("{query}", plain) == Quoting::none);
    CHECK(body_quoting("q: {query}", plain) == Quoting::none);
  }
  const Engine engine = engine_with(
      "engine: json_engine, search_url: \"http://e.example/s\", url_query: u, title_query: t, method: POST, "
      "headers: {content-type: Text/Plain}, request_body: '{\"q\": \"{query}\"}'");
  CHECK(request_with(engine, "a\"b").body == R"({"q": "a\"b"})");
}

TEST_CASE("The json_body of a definition is written as JSON values", "[fetchers][definition]") {
  const Engine engine = engine_with(
      "engine: json_engine, search_url: \"http://e.example/s\", results_query: r, url_query: u, title_query: "
      "t, "
      "json_body: {query: \"{query}\", size: \"{count}\", from: 0, flags: [true, null, \"a {{b}}\"], "
      "filter: {\"k{\": \"x-{lang}\"}}");
  const EngineRequest request = request_with(engine, "say \"hi\" {lang} \\");
  CHECK(request.method == "POST");
  CHECK(
      request.body ==
      R"({"query":"say \"hi\" {lang} \\","size":7,"from":0,"flags":[true,null,"a {b}"],"filter":{"k{":"x-all"}})");
  bool has_type = false;
  for (const auto& [name, value] : request.headers)
    has_type |= name == "Content-Type" && value == "application/json";
  CHECK(has_type);
  const std::string keys =
      "engine: json_engine, search_url: \"http://e.example/s\", url_query: u, title_query: t, ";
  CHECK(error_of_keys(keys + "json_body: {a: \"{query}\", b: \"{qeury}\"}")
            .find("json_body: unknown placeholder {qeury}") != std::string::npos);
  CHECK(error_of_keys(keys + "json_body: {a: b}").find("must contain {query}") != std::string::npos);
  CHECK(error_of_keys(keys + "json_body: {a: \"{query}\"}, request_body: x").find("keep one") !=
        std::string::npos);
}

TEST_CASE("Braces of a body that are no placeholders stand for themselves", "[fetchers][definition]") {
  const auto body_of = [](const std::string& key, const std::string& text) {
    const Engine engine = engine_with(
        "engine: json_engine, method: POST, search_url: \"http://e.example/s\", url_query: u, title_query: "
        "t, " +
        key + ": " + text);
    return request_with(engine, "a\"b{c}").body;
  };
  const std::string graphql = "query Q($q: String!) {search(q: $q) {edges {node{url title}}}}";
  const std::string sent = R"({"query":")" + graphql + R"(","q":"a\"b{c}"})";
  CHECK(body_of("json_body", "{query: '" + graphql + "', q: '{query}'}") == sent);
  CHECK(body_of("request_body", "'" + sent.substr(0, sent.size() - 9) + "{query}\"}'") == sent);
  CHECK(body_of("json_body", "{query: 'query {{ a {{ b }} }}', q: '{query}'}") ==
        R"({"query":"query { a { b } }","q":"a\"b{c}"})");
  CHECK(body_of("request_body", "'{{\"q\": \"{query}\", \"n\": {count}}}'") == R"({"q": "a\"b{c}", "n": 7})");
  CHECK(body_of("request_body", "'{\"q\": \"{query}\", \"n\": {count}, \"f\": {}}'") ==
        R"({"q": "a\"b{c}", "n": 7, "f": {}})");
  CHECK(body_of("json_body", "{q: '{query}', s: '{ id }'}") == R"({"q":"a\"b{c}","s":"{ id }"})");
  const std::string keys =
      "engine: json_engine, method: POST, search_url: \"http://e.example/s\", url_query: u, title_query: t, ";
  for (const std::string body :
       {"request_body: '{\"q\": \"{qeury}\"}'", "request_body: '{{\"q\": \"{other}\"}}'"}) {
    const std::string error = error_of_keys(keys + body);
    INFO(error);
    CHECK(error.find("unknown placeholder") != std::string::npos);
    CHECK(error.find("must contain") == std::string::npos);
  }
}

TEST_CASE("A quoted text within a JSON text is escaped one level deeper", "[fetchers][definition]") {
  const auto body_of = [](const std::string& text) {
    const Engine engine = engine_with(
        "engine: json_engine, search_url: \"http://e.example/s\", url_query: u, title_query: t, json_body: "
        "{g: '" +
        text + "'}");
    return request_with(engine, "a\"b").body;
  };
  CHECK(body_of(R"(q: "{query}")") == R"({"g":"q: \"a\\\"b\""})");
  CHECK(body_of(R"(p: "C:\\", q: "{query}")") == R"({"g":"p: \"C:\\\\\", q: \"a\\\"b\""})");
  CHECK(body_of(R"(p: "\"", q: "{query}")") == R"({"g":"p: \"\\\"\", q: \"a\\\"b\""})");
  CHECK(body_of(R"(p: "C:\\" {query})") == R"({"g":"p: \"C:\\\\\" a\"b"})");
}

TEST_CASE("No value breaks out of a request body", "[fetchers][definition][security]") {
  Random random(20);
  const std::string letters = "ab\"\\{}[]',:/\n\t<>&;%$#()*+ \x01";
  const auto hostile = [&] {
    std::string out;
    for (std::uint64_t i = random.below(12); i > 0; --i) out += letters[random.below(letters.size())];
    return out;
  };
  const Engine json = engine_with(
      "engine: json_engine, search_url: \"http://e.example/s\", url_query: u, title_query: t, "
      "json_body: {q: \"<{query}>\", gql: \"search(text: \\\"{query}\\\", n: 3)\"}");
  const Engine form = engine_with(
      "engine: json_engine, search_url: \"http://e.example/s\", url_query: u, title_query: t, method: POST, "
      "request_body: \"a=1&q={query}&b=2\"");
  const Engine xml = engine_with(
      "engine: json_engine, search_url: \"http://e.example/s\", url_query: u, title_query: t, method: POST, "
      "headers: {Content-Type: application/xml}, request_body: \"<q a='{query}'>{query}</q>\"");
  for (int i = 0; i < 3000; ++i) {
    const std::string value = hostile();
    INFO(value);
    const auto body = parse_json(request_with(json, value).body, "body");
    REQUIRE(body.has_value());
    REQUIRE(body->as_object().size() == 2);
    CHECK(std::string(body->at("q").as_string()) == "<" + value + ">");
    // As the GraphQL server reads it: its text ends at the first unescaped quotation mark.
    const std::string query(body->at("gql").as_string());
    REQUIRE(query.starts_with("search(text: \""));
    REQUIRE(query.ends_with("\", n: 3)"));
    const std::string inner = query.substr(13, query.size() - 13 - 7);
    const auto text = parse_json(inner, "text");
    REQUIRE(text.has_value());
    CHECK(std::string(text->as_string()) == value);
    const std::string fields = request_with(form, value).body;
    CHECK(std::count(fields.begin(), fields.end(), '&') == 2);
    CHECK(fields.starts_with("a=1&q="));
    CHECK(fields.ends_with("&b=2"));
    const std::string element = request_with(xml, value).body;
    CHECK(std::count(element.begin(), element.end(), '<') == 2);
    CHECK(std::count(element.begin(), element.end(), '\'') == 2);
  }
}

TEST_CASE("Unusual settings.yml files are read as SearXNG reads them", "[fetchers][definition][searxng]") {
  const auto names = [](const std::string& text) {
    const auto file = parse_engine_file(text, "settings.yml");
    std::string out = file ? "" : file.error().text;
    if (file)
      for (const Engine& engine : file->engines) out += engine.name + (engine.is_disabled ? " off " : " ");
    return out;
  };
  // own sections with anchors, merge keys and folded texts
  CHECK(names(R"(general: {debug: off}
x-mine: &mine {engine: xpath, timeout: 4.0, paging: yes}
engines:
  - <<: *mine
    name: folded
    search_url: >-
      https://folded.example/find?q={query}
    results_xpath: //div
    url_xpath: ./a/@href
    title_xpath: ./a
    disabled: True
)") == "folded off ");
  // blocks that only change an engine that comes with SearXNG
  CHECK(names("general: {}\nengines:\n  - {name: crossref, disabled: true}\n  - {name: openalex}\n") ==
        "crossref off openalex off ");
  CHECK(names("use_default_settings: {engines: {keep_only: [arxiv, no such, pubmed]}}\n") == "arxiv pubmed ");
  CHECK(names("general: {debug: false}\n").find("has no engines") != std::string::npos);
  CHECK(names("use_default_settings: true\nengines: {google: {engine: google}}\n").find("must be a list") !=
        std::string::npos);
}

TEST_CASE("The supported engines of a whole settings.yml are served", "[fetchers][definition][searxng]") {
  const std::string settings =
      "server: {port: 8888}\nengines:\n"
      "  - {name: good, engine: json_engine, search_url: \"http://e.example/?q={query}\", results_query: r, "
      "url_query: u, title_query: t, send_page_num_on_first_page: false, safesearch: true, thumbnail: x, "
      "index: 1}\n"
      "  - {name: python, engine: duckduckgo_weather, shortcut: dw}\n"
      "  - {name: unknown, engine: nobody_knows}\n"
      "  - {name: bad, engine: xpath, search_url: \"http://e.example/?q={query}\", url_xpath: \"//a[\", "
      "title_xpath: //a}\n"
      "  - {name: last, engine: mediawiki, base_url: \"https://w.example\"}\n";
  const auto file = parse_engine_file(settings, "settings.yml");
  REQUIRE(file.has_value());
  REQUIRE(file->engines.size() == 2);
  CHECK(file->engines[0].name == "good");
  const auto& good = std::get<HttpAccess>(file->engines[0].access);
  CHECK(good.paging.omits_first_number);
  CHECK(good.safe_search.is_on);
  CHECK(good.answer.thumbnail == PartRule("x"));
  CHECK(file->engines[1].name == "last");
  REQUIRE(file->refused.size() == 3);
  CHECK(file->refused[0].name == "python");
  INFO(file->refused[0].text);
  CHECK(file->refused[0].text.starts_with("settings.yml:4:"));
  CHECK(file->refused[0].text.find("\"duckduckgo_weather\" is Python code") != std::string::npos);
  CHECK(file->refused[1].text.find("unknown engine type \"nobody_knows\"") != std::string::npos);
  CHECK(file->refused[2].text.find("not valid XPath") != std::string::npos);
  // A file in our own format is refused for any mistake.
  CHECK_FALSE(parse_engine_file("engines:\n  - {name: python, engine: duckduckgo_weather}\n", "engines.yaml")
                  .has_value());
}
