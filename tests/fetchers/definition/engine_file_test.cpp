#include "fetchers/definition/engine_file.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/engines/http/engine_request.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

std::string errors_of(const std::string& text) {
  const auto file = parse_engine_file(text, "e.yaml");
  return file ? "" : file.error().text;
}

EngineRequest request_of(const Engine& engine, const std::string& query, FetchOptions options) {
  const auto ready = ready_access(engine, SecretLookup());
  REQUIRE(ready.has_value());
  return build_request(engine, *ready, query, options, plan_pages(ready->access, options).first);
}

FetchOptions options_with(int depth, int page) {
  return {.depth = depth, .deadline = Deadline(machine_clock(), std::chrono::seconds(1)), .page = page};
}

Engine only_engine(const std::string& text) {
  const auto file = parse_engine_file(text, "e.yaml");
  if (!file) FAIL(file.error().text);
  REQUIRE(file->engines.size() == 1);
  return file->engines.front();
}

}  // namespace

TEST_CASE("The blocks of a SearXNG settings.yml are read unchanged", "[fetchers][engine_file]") {
  const auto file = parse_engine_file(R"(general: {debug: false}
engines:
  - name: mdn
    shortcut: mdn
    engine: json_engine
    categories: [it]
    paging: true
    search_url: https://developer.mozilla.org/api/v1/search?q={query}&page={pageno}
    results_query: documents
    url_query: mdn_url
    url_prefix: https://developer.mozilla.org
    title_query: title
    content_query: summary
    about:
      website: https://developer.mozilla.org
      results: JSON
  - name: library of congress pages
    engine: xpath
    search_url: https://example.org/?q={query}&p={pageno}{time_range}{safe_search}
    url_xpath: //h3/a/@href
    title_xpath: //h3/a
    content_xpath: //p
    first_page_num: 0
    page_size: 10
    soft_max_redirects: 2
    no_result_for_http_status: [404]
    timeout: 10.0
    disabled: true
    enable_http: true
)",
                                      "settings.yml");
  if (!file) FAIL(file.error().text);
  REQUIRE(file->engines.size() == 2);
  CHECK(file->engines[0].name == "mdn");
  CHECK(file->engines[1].is_disabled);
  CHECK(file->engines[1].timeout_seconds == 10);
  REQUIRE(file->warnings.size() == 1);
  const auto has_warning = [&](const std::string& place) {
    return std::any_of(file->warnings.begin(), file->warnings.end(), [&](const std::string& warning) {
      return warning.starts_with("settings.yml:" + place);
    });
  };
  CHECK(has_warning("29:5: "));
}

TEST_CASE("Every mistake of an engine file is reported at once and with its place",
          "[fetchers][engine_file]") {
  const std::string errors = errors_of(R"(engines:
  - name: a
    engine: json_engine
    search_url: "http://a.example/?q=x"
    url_query: //
    title_query: title
    colour: red
  - name: a
    engine: xpath
    search_url: "http://{query}/"
    results_xpath: "//div["
    url_xpath: ./a/@href
    title_xpath: ./a
  - name: b
    engine: duckduckgo_weather
  - name: c
    engine: nonsense
  - engine: xpath
    search_url: "ftp://x.example/{query}"
    url_xpath: a
    title_xpath: b
    timeout: soon
    query_syntax: klingon
  - name: d
    engine: command
    command: [ls, "{{QUERY}}"]
  - name: e
    engine: json_engine
    search_url: "http://e.example/?q={query}&x={unknown}"
    url_query: url
    headers: {"Bad Name": x}
)");
  for (const std::string expected :
       {"e.yaml:4:17: search_url: the URL must contain {query}", "e.yaml:5:16: \"//\" is not a key path",
        "e.yaml:7:5: unknown key \"colour\"",
        "e.yaml:8:11: the engine \"a\" is defined twice (first in line 2)",
        "e.yaml:10:17: search_url: {query} before the path",
        "e.yaml:11:20: \"//div[\" is not valid XPath 1.0",
        "e.yaml:15:13: the engine \"duckduckgo_weather\" is Python code in SearXNG",
        "e.yaml:17:13: unknown engine type \"nonsense\"", "lacks the key \"name\"",
        "e.yaml:19:17: search_url: not a valid http or https URL", "e.yaml:22:14: timeout must be a number",
        "e.yaml:23:19: unknown query_syntax \"klingon\"",
        "e.yaml:26:14: the program must be an absolute path",
        "e.yaml:29:17: search_url: unknown placeholder {unknown}", "lacks the key \"title_query\"",
        "e.yaml:31:27: headers: \"Bad Name\""}) {
    INFO(expected);
    CHECK(errors.find(expected) != std::string::npos);
  }
  INFO(errors);
  CHECK(errors_of("engines: 5").starts_with("e.yaml:1:10: engines must be a list"));
  CHECK(errors_of("engines: [5]").find("e.yaml:1:11: an engine must be a map") != std::string::npos);
  for (const char* foreign :
       {"{}", "services:\n  web: {image: nginx}\nvolumes: {}\n", "homeassistant: {name: x}\n"}) {
    const std::string error = errors_of(foreign);
    CHECK(error.find("it is neither of them") != std::string::npos);
    CHECK(std::count(error.begin(), error.end(), '\n') == 0);
  }
  CHECK(errors_of("engines: [").starts_with("e.yaml:"));
  for (const char* price : {"-0.01", ".nan", "nan", ".inf", "cheap", "\"0.01\"", "1e7", "[1]"}) {
    INFO(price);
    CHECK(errors_of(std::string("engines: [{name: a, engine: searx_engine, base_url: \"http://a.example\", "
                                "price: ") +
                    price + "}]")
              .find("price must be a number from 0 to 1e+06") != std::string::npos);
  }
  const auto with_method = [](const std::string& method) {
    return errors_of(
        "engines: [{name: a, engine: json_engine, url_query: u, title_query: t, search_url: "
        "'http://a.example/?q={query}', method: " +
        method + "}]");
  };
  for (const char* method : {"GET", "POST", "get", "Post"}) CHECK(with_method(method).empty());
  for (const char* method : {"PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "x", "''"})
    CHECK(with_method(method).find("method must be GET or POST") != std::string::npos);
}

TEST_CASE("No placeholder and no user name can choose the host", "[fetchers][engine_file]") {
  for (const std::string url :
       {"http://{query}.example/", "{query}", "http://a.example:{pageno}/{query}",
        "http://{query}@a.example/{query}", "http://user:word@a.example/{query}", "file:///{query}",
        "gopher://a.example/{query}", "http:///{query}", "//a.example/{query}", "http://a.example{query}/",
        "https://{lang}{query}.example/"}) {
    INFO(url);
    CHECK_FALSE(
        errors_of(
            "engines:\n  - {name: a, engine: json_engine, url_query: u, title_query: t, search_url: \"" +
            url + "\"}\n")
            .empty());
  }
}

TEST_CASE("Requests are the same as those of SearXNG", "[fetchers][engine_file]") {
  const std::string head =
      "engines:\n  - name: a\n    engine: json_engine\n    url_query: u\n    title_query: t\n";
  const Engine paged =
      only_engine(head +
                  "    paging: true\n    page_size: 10\n    first_page_num: 0\n    search_url: "
                  "\"http://a.example/{query}?q={query}&p={pageno}&l={lang}{time_range}{safe_search}\"\n"
                  "    time_range_support: true\n    safe_search_support: true\n");
  FetchOptions options = options_with(10, 3);
  options.time_range = "week";
  options.safe_search = 2;
  CHECK(request_of(paged, "a b/ä", options).url ==
        "http://a.example/a%20b%2F%C3%A4?q=a+b%2F%C3%A4&p=20&l=all&hours=168&filter=strict");
  options.language = "de";
  CHECK(request_of(paged, "x", options).url.find("&l=de&") != std::string::npos);
  const auto accepted = [&] {
    std::string out;
    for (const auto& [name, value] : request_of(paged, "x", options).headers)
      if (name == "Accept-Language") out += value;
    return out;
  };
  CHECK(accepted() == "de");
  for (const char* any : {"", "all", "*"}) {
    options.language = any;
    CHECK(accepted().empty());
  }
  options.language = "de&x=1";
  CHECK(request_of(paged, "x", options).url.find("&l=all&") != std::string::npos);

  const Engine posted = only_engine(head +
                                    "    method: POST\n    search_url: http://a.example/\n"
                                    "    request_body: '{{\"q\": \"{query}\", \"n\": {count}}}'\n");
  const EngineRequest request = request_of(posted, "say \"hi\" {x}", options_with(30, 1));
  CHECK(request.method == "POST");
  CHECK(request.body == R"({"q": "say \"hi\" {x}", "n": 30})");
  const Engine form = only_engine(
      head + "    method: POST\n    search_url: http://a.example/\n    request_body: 'q={query}'\n");
  CHECK(request_of(form, "a&b=c d", options_with(30, 1)).body == "q=a%26b%3Dc+d");
}

TEST_CASE("Engine types for well-known servers build their requests", "[fetchers][engine_file]") {
  const auto request = [](const std::string& body, int page = 1) {
    return request_of(only_engine("engines:\n  - name: a\n" + body), "x \"y", options_with(30, page));
  };
  const EngineRequest elastic =
      request("    engine: elasticsearch\n    base_url: http://localhost:9200\n    index: pages\n", 2);
  CHECK(elastic.url == "http://localhost:9200/pages/_search");
  CHECK(elastic.body ==
        R"({"from":30,"size":30,"query":{"multi_match":{"query":"x \"y","fields":["*"],"lenient":true}}})");
  CHECK(request("    engine: elasticsearch\n    base_url: http://localhost:9200\n").url ==
        "http://localhost:9200/_search");  // without `index` all indices are searched, as in SearXNG
  const EngineRequest custom = request(
      "    engine: elasticsearch\n    index: pages\n    query_type: custom\n"
      "    custom_query_json: {match: {title: \"{{VALUE}}\"}, size: 3}\n");
  CHECK(parse_json(custom.body, "body").has_value());
  CHECK(custom.body.find(R"({"match":{"title":"x \"y"},"size":3})") != std::string::npos);
  CHECK(request("    engine: solr\n    collection: c\n    sort: score desc\n").url ==
        "http://localhost:8983/solr/c/select?q=x+%22y&start=0&rows=30&wt=json&sort=score+desc");
  CHECK(request("    engine: meilisearch\n    index: i\n").body == R"({"q":"x \"y","offset":0,"limit":30})");
  CHECK(request("    engine: meilisearch\n    index: i\n").url == "http://localhost:7700/indexes/i/search");
  CHECK(request("    engine: mediawiki\n    search_type: text\n")
            .url.starts_with("https://en.wikipedia.org/w/"
                             "api.php?action=query&list=search&format=json&srsearch=x+%22y&sroffset=0&"
                             "srlimit=30&srwhat=text"));
  CHECK(
      request("    engine: groonga\n    table: Pages\n")
          .url.starts_with(
              "http://localhost:10041/d/select?table=Pages&query=x+%22y&offset=0&limit=30&output_columns="));
  CHECK(
      request("    engine: omega\n    base_url: http://localhost/cgi-bin/omega\n    database: d\n", 2).url ==
      "http://localhost/cgi-bin/omega?P=x+%22y&TOPDOC=30&HITSPERPAGE=30&DB=d&FMT=xml");
  CHECK(request("    engine: searx_engine\n    instance_urls: [https://searx.example/search]\n").url ==
        "https://searx.example/search?q=x+%22y&format=json&pageno=1&language=all&safesearch=0");
  CHECK(engine_types().size() == 29);
}

TEST_CASE("The engine type mongodb is named as gone, with what replaces it", "[fetchers][engine_file]") {
  CHECK(
      errors_of("engines:\n  - {name: m, engine: mongodb, database: d, collection: c}\n") ==
      "e.yaml:2:23: the engine type \"mongodb\" no longer exists; ask MongoDB through an engine of the type "
      "odbc (MongoDB's own ODBC driver) or command");
}

TEST_CASE("Settings that protect an engine or its users are obeyed or refused",
          "[fetchers][definition][security]") {
  const std::string url =
      "search_url: 'http://e.example/?q={query}', results_query: r, url_query: u, title_query: t";
  const auto text_with = [&](const std::string& keys) {
    return "engines:\n  - {name: e, engine: json_engine, " + url + ", " + keys + "}\n";
  };
  const auto proxy_with = [&](const std::string& keys) {
    const auto file = parse_engine_file(text_with(keys), "e.yaml");
    return file ? std::get<HttpAccess>(file->engines.at(0).access).proxy : file.error().text;
  };
  CHECK(parse_engine_file(text_with("tokens: [x, y]"), "e.yaml")->engines.at(0).tokens ==
        std::vector<std::string>{"x", "y"});
  CHECK(proxy_with("proxy: 'tor://127.0.0.1:9050'") == "tor://127.0.0.1:9050");
  CHECK(proxy_with("proxy: direct").empty());
  CHECK(proxy_with("proxies: {'all://': 'http://p:1'}") == "http://p:1");
  CHECK(proxy_with("proxies: {'https://': ['socks5h://p:1', 'socks5h://q:1']}") == "socks5://p:1");
  CHECK(proxy_with("proxies: 'socks5h://p:1', using_tor_proxy: true") == "tor://p:1");
  CHECK(proxy_with("proxies: {}, using_tor_proxy: false").empty());
  CHECK(proxy_with("proxy: 'ftp://p:1'").find("must be http://") != std::string::npos);
  CHECK(proxy_with("proxies: {'all://a.example': 'http://p:1'}").find("single hosts") != std::string::npos);
  for (const std::string keys : {"using_tor_proxy: true", "network: tor"})
    CHECK(proxy_with(keys).find("would leave from the server's own address") != std::string::npos);
  for (const std::string host : {"abc.onion", "ABC.Onion:80", "abc.onion."}) {
    const std::string onion = "engines:\n  - {name: e, engine: json_engine, search_url: 'http://" + host +
                              "/?q={query}', results_query: r, url_query: u, title_query: t";
    CHECK(errors_of(onion + "}\n").find("Tor network") != std::string::npos);
    CHECK(errors_of(onion + ", proxy: 'socks5://p:1'}\n").find("Tor network") != std::string::npos);
    CHECK(errors_of(onion + ", proxy: 'tor://p:1'}\n").empty());
  }
}

TEST_CASE("An engine's own embedding goes through the engine's proxy, or else the file's",
          "[fetchers][definition][security]") {
  const auto proxy_of_embedding = [](const std::string& top, const std::string& keys,
                                     const std::string& of_embedding) {
    const auto file = parse_engine_file(
        top + "engines:\n  - {name: e, engine: qdrant, base_url: 'http://q.example', collection: c, " + keys +
            "embedding: {base_url: 'http://v.example', model: m" + of_embedding + "}}\n",
        "e.yaml");
    return file ? file->engines.at(0).embedding.value().access.proxy : file.error().text;
  };
  const std::string all = "proxy: 'http://all:1'\n";
  CHECK(proxy_of_embedding("", "", "").empty());
  CHECK(proxy_of_embedding(all, "", "") == "http://all:1");
  CHECK(proxy_of_embedding("", "proxy: 'http://p:1', ", "") == "http://p:1");
  CHECK(proxy_of_embedding(all, "proxy: 'http://p:1', ", "") == "http://p:1");
  CHECK(proxy_of_embedding(all, "proxy: 'http://p:1', ", ", proxy: 'http://v:1'") == "http://v:1");
  CHECK(proxy_of_embedding(all, "proxy: direct, ", "").empty());
  CHECK(proxy_of_embedding(all, "", ", proxy: direct").empty());
}

TEST_CASE("The proxies and time-outs of a settings.yml reach its engines",
          "[fetchers][definition][searxng]") {
  const std::string url =
      "search_url: 'http://e.example/?q={query}', results_query: r, url_query: u, title_query: t";
  const std::string blocks = "engines:\n  - {name: e, engine: json_engine, " + url +
                             ", network: hidden}\n  - {name: f, engine: json_engine, " + url +
                             "}\n  - {name: g, engine: json_engine, " + url +
                             ", network: unknown, timeout: 9}\n";
  const auto file = parse_engine_file(
      "outgoing:\n  request_timeout: 7\n  extra_proxy_timeout: 10\n  proxies: {'all://': ['http://p:1']}\n"
      "  networks: {hidden: {proxies: 'socks5h://t:9050', using_tor_proxy: true}}\n" +
          blocks,
      "settings.yml");
  REQUIRE(file.has_value());
  REQUIRE(file->engines.size() == 2);
  const auto proxy_of = [&](std::size_t i) { return std::get<HttpAccess>(file->engines[i].access).proxy; };
  CHECK(proxy_of(0) == "tor://t:9050");
  CHECK(file->engines[0].timeout_seconds == 17);
  CHECK(proxy_of(1) == "http://p:1");
  CHECK(file->engines[1].timeout_seconds == 7);
  REQUIRE(file->refused.size() == 1);
  CHECK(file->refused[0].text.find("not defined in outgoing.networks") != std::string::npos);
}

TEST_CASE("What a network says beside its proxies is not passed over", "[fetchers][definition][searxng]") {
  const std::string block =
      "engines:\n  - {name: e, engine: json_engine, search_url: 'http://e.example/?q={query}', "
      "results_query: r, "
      "url_query: u, title_query: t, network: {enable_http2: false, verify: false, using_tor_proxy: "
      "false}}\n";
  const auto own = parse_engine_file(block, "e.yaml");
  REQUIRE_FALSE(own.has_value());
  CHECK(own.error().text.find("unknown key \"verify\" in network") != std::string::npos);
  CHECK(own.error().text.find("enable_http2") == std::string::npos);  // passed over, as in a block
  const auto settings = parse_engine_file("search: {safe_search: 0}\n" + block, "settings.yml");
  REQUIRE(settings.has_value());
  CHECK(settings->engines.size() == 1);
  REQUIRE(settings->warnings.size() == 2);
  CHECK(settings->warnings[0].find("the key \"enable_http2\" has no effect here") != std::string::npos);
  CHECK(settings->warnings[1].find("the key \"verify\" has no effect here") != std::string::npos);
}

TEST_CASE("A refused block of a settings.yml costs no other one of its name",
          "[fetchers][definition][searxng]") {
  const std::string keys =
      "engine: json_engine, results_query: r, url_query: u, title_query: t, search_url: ";
  const auto file =
      parse_engine_file("search: {safe_search: 0}\nengines:\n  - {name: web, " + keys +
                            "'nowhere'}\n  - {name: web, " + keys + "'http://e.example/?q={query}'}\n",
                        "settings.yml");
  REQUIRE(file.has_value());
  CHECK(file->engines.size() == 1);
  CHECK(file->refused.size() == 1);
  const std::string right = "  - {name: web, " + keys + "'http://e.example/?q={query}'}\n";
  const auto repeated =
      parse_engine_file("search: {safe_search: 0}\nengines:\n" + right + right + right, "settings.yml");
  REQUIRE(repeated.has_value());
  CHECK(repeated->engines.size() == 1);
  CHECK(repeated->refused.size() == 2);
}

TEST_CASE("A new host with a group that its pattern lacks is left out aloud",
          "[fetchers][definition][searxng]") {
  const auto file = parse_engine_file(
      "hostnames:\n  replace: {'a\\.example$': 'b.example\\7', '(c)\\.example$': '\\1.test'}\nengines:\n"
      "  - {name: e, engine: json_engine, search_url: 'http://e.example/?q={query}', results_query: r, "
      "url_query: u, "
      "title_query: t}\n",
      "settings.yml");
  REQUIRE(file.has_value());
  CHECK(file->defaults.hostnames.replace == StringPairs{{"(c)\\.example$", "\\1.test"}});
  REQUIRE(file->warnings.size() == 1);
  CHECK(file->warnings[0].find("hostnames: left out") != std::string::npos);
}

TEST_CASE("A settings.yml is read however old or odd its blocks are", "[fetchers][definition][searxng]") {
  const auto file = parse_engine_file(
      "search: {safe_search: 1, default_lang: it-IT}\nhostnames:\n  replace: {a: b, a: c}\n"
      "  remove: ['(.*\\.)?facebook\\.com$']\nengines:\n"
      "  - {name: askubuntu, engine: stackexchange}\n"
      "  - {name: wikibooks, number_of_results: 5, tests: {a: 1}}\n"
      "  - {name: qwant news, disabled: false}\n"
      "  - {name: other gitea, engine: gitea, base_url: 'https://git.example'}\n"
      "  - {name: my bing, engine: bing, base_url: 'https://else.example'}\n"
      "  - {name: nothing}\nuse_default_settings: {engines: {keep_only: [askubuntu]}}\n",
      "settings.yml");
  REQUIRE(file.has_value());
  std::string urls;
  for (const Engine& engine : file->engines) urls += std::get<HttpAccess>(engine.access).url + "\n";
  CHECK(urls.find("site=askubuntu") != std::string::npos);
  CHECK(urls.find("wikibooks.org") != std::string::npos);
  CHECK(urls.find("qwant.com/v3/search/news") != std::string::npos);
  CHECK(urls.find("git.example") != std::string::npos);
  CHECK(file->engines.size() == 4);
  REQUIRE(file->refused.size() == 2);
  CHECK(file->refused[0].text.find("ask for something else") != std::string::npos);
  CHECK(file->refused[1].name == "nothing");
  CHECK(file->defaults.safe_search == 1);
  CHECK(file->defaults.language == "it-IT");
  CHECK(file->defaults.hostnames.replace == StringPairs{{"a", "c"}});
  CHECK(file->defaults.hostnames.remove.size() == 1);
}

TEST_CASE("Nobody is warned of keys that SearXNG itself ships", "[fetchers][definition][searxng]") {
  const auto shipped = parse_engine_file("use_default_settings: true\n", "settings.yml");
  REQUIRE(shipped.has_value());
  CHECK(shipped->warnings.empty());
  const auto own = parse_engine_file(
      "use_default_settings: true\nengines:\n  - {name: wikipedia, display_type: [list], sort_criteria: x}\n",
      "settings.yml");
  REQUIRE(own.has_value());
  REQUIRE(own->warnings.size() == 2);
  CHECK(own->warnings[0].find("display_type has no effect") != std::string::npos);
  CHECK(own->warnings[1].find("sort_criteria has no effect") != std::string::npos);
}

TEST_CASE("Misspelt keys and values of a settings.yml are warned of", "[fetchers][definition][searxng]") {
  const auto file = parse_engine_file(
      "use_default_settings: {engines: {keep_onl: [google]}, engine: x}\n"
      "outgoing: {request_timeout: abc, extra_proxy_timeout: 0, using_tor_proxy: ture, timout: 3}\n"
      "search: {safe_search: 9, default_lang: 'xx yy'}\nhostnames: {foo: [x]}\n"
      "engines: [{engine: google}]\n",
      "settings.yml");
  REQUIRE(file.has_value());
  std::string warnings;
  for (const std::string& warning : file->warnings) warnings += warning + '\n';
  INFO(warnings);
  for (const char* part :
       {"1:34: use_default_settings.engines: the key \"keep_onl\" has no effect; did you mean keep_only?",
        "use_default_settings: the key \"engine\" has no effect",
        "outgoing.request_timeout: \"abc\" has no effect; give seconds",
        "outgoing.using_tor_proxy: \"ture\" has no effect; give true or false",
        "outgoing: the key \"timout\" has no effect",
        "search.safe_search: \"9\" has no effect; give 0, 1 or 2",
        "search.default_lang: \"xx yy\" has no effect; give auto, all or a language",
        "hostnames: the key \"foo\" has no effect"})
    CHECK(warnings.find(part) != std::string::npos);
  CHECK(file->warnings.size() == 8);
  CHECK(file->defaults.language.empty());
  const auto nameless = std::ranges::find(file->refused, "", &RefusedBlock::name);
  REQUIRE(nameless != file->refused.end());
  CHECK_FALSE(nameless->is_disabled);
  CHECK(nameless->text.find("lacks the key \"name\"") != std::string::npos);
}
