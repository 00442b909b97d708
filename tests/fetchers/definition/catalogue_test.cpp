// Tests the catalogue of engines with answers that we wrote in the form of each API's documentation
// (tests/data/catalogue), and with recorded answers where METAFUSE_DATA has them.

#include "fetchers/definition/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "core/json.h"
#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/http/engine_request.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

const std::string kSource = METAFUSE_SOURCE_DIR;

std::string scalar_of(const YamlNode& map, std::string_view key) {
  const YamlNode* node = map.find(key);
  return node == nullptr ? std::string() : node->text;
}

std::map<std::string, Engine> engines_of_catalogue() {
  std::map<std::string, Engine> engines;
  for (const auto& file : std::filesystem::directory_iterator(kSource + "/config/engines")) {
    const auto read = read_engine_file(file.path().string());
    if (!read) FAIL(read.error().text);
    CHECK(read->warnings.empty());
    for (const Engine& engine : read->engines) {
      INFO(engine.name);
      CHECK(engines.emplace(engine.name, engine).second);
    }
  }
  return engines;
}

/// A secret's value; that of a service account is the key of one.
std::string secret_named(std::string_view name) {
  if (name.find("SERVICE_ACCOUNT") == std::string_view::npos) return "SECRET-" + std::string(name);
  EVP_PKEY* key = EVP_RSA_gen(2048);
  BIO* pem = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(pem, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(pem, &data);
  const std::string text(data, static_cast<std::size_t>(size));
  BIO_free(pem);
  EVP_PKEY_free(key);
  return to_text(JsonObject{{"client_email", "otter@project.example"},
                            {"private_key", text},
                            {"token_uri", "https://login.example/token"}});
}

/// The URL and the body of the request for an engine's second page, or nothing if it has only one page.
std::string second_page(const Engine& engine, std::string answer) {
  test::Script script{[&](const EngineRequest& request) {
                        const bool is_for_token = request.is_confidential;
                        return test::answer_of(is_for_token ? R"({"access_token":"t"})" : answer);
                      },
                      {}};
  FetcherOptions options = test::scripted_options(script);
  options.secret_of = [](std::string_view name) { return std::optional(secret_named(name)); };
  const auto fetcher = make_fetcher({engine}, options);
  if (!fetcher) FAIL(fetcher.error().text);
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", engine.name, "river otter"};
  const auto& access = std::get<HttpAccess>(engine.access);
  const bool is_by_cursor = !access.paging.next.cursor.empty();
  const bool has_token = access.auth.kind == Authorization::Kind::oauth2;
  const bool says_how_many = (access.url + access.body).find("{count}") != std::string::npos;
  const int depth = says_how_many ? 10 : std::max(10, access.paging.results_per_page);
  (*fetcher)->fetch({&query, 1},
                    {.depth = depth, .deadline = Deadline(clock, std::chrono::seconds(5)), .page = 2}, {});
  if (has_token && !script.requests.empty()) script.requests.erase(script.requests.begin());
  if (is_by_cursor && script.requests.size() < 2) return {};
  if (script.requests.empty()) return {};
  const EngineRequest& request = is_by_cursor ? script.requests[1] : script.requests.front();
  return request.url + (request.body.empty() ? "" : " " + request.body);
}

void check_case(const Engine& engine, const YamlNode& example) {
  const auto& access = std::get<HttpAccess>(engine.access);
  const std::string answer = scalar_of(example, "answer");
  const std::string base = access.url.substr(0, access.url.find('/', 8)) + "/";
  const auto list = parse_answer(access.answer, answer, {base, "", "en"});
  CHECK((list ? std::string() : list.error().text).empty());
  CHECK((list && !list->hits.empty()));
  if (!list || list->hits.empty()) return;
  const Hit& hit = list->hits.front();
  CHECK(hit.url == scalar_of(example, "url"));
  CHECK(hit.title == scalar_of(example, "title"));
  CHECK(hit.published == scalar_of(example, "date"));
  CHECK(hit.language == scalar_of(example, "language"));
  if (!access.answer.content.empty()) CHECK_FALSE(hit.snippet.empty());
  if (!access.answer.thumbnail.empty()) CHECK_FALSE(hit.thumbnail.empty());
  if (!access.answer.published.empty()) CHECK_FALSE(hit.published.empty());
  CHECK(second_page(engine, answer) == scalar_of(example, "page2"));
}

}  // namespace

TEST_CASE("Every definition of the catalogue has its documentation", "[fetchers][catalogue]") {
  std::set<std::string> kinds;
  for (const CatalogueEntry& entry : catalogue()) {
    INFO(entry.name);
    kinds.insert(entry.kind);
    CHECK_FALSE(entry.value("description").empty());
    CHECK(entry.about("website").starts_with("https://"));
    CHECK(entry.about("terms").starts_with("https://"));
    CHECK(entry.value("requests_per_second").empty() == (entry.value("engine") == "odbc"));
    CHECK_FALSE(entry.value("query_syntax").empty());
    const bool has_secret = entry.text.find("${") != std::string_view::npos;
    CHECK((entry.about("require_api_key") == "true") == has_secret);
    const auto alone = parse_engine_file("engines:\n" + std::string(entry.text), "added.yaml");
    if (!alone) FAIL(alone.error().text);
    CHECK(alone->engines.size() == 1);
    CHECK(alone->warnings.empty());
  }
  CHECK(catalogue().size() >= 320);
  CHECK(kinds == std::set<std::string>{"answers",  "archives",  "books",   "code",        "files",
                                       "indexes",  "maps",      "media",   "news",        "packages",
                                       "pictures", "questions", "science", "self-hosted", "smaller-web",
                                       "teams",    "videos",    "web",     "wikis",       "work"});
}

TEST_CASE(
    "Every definition of the catalogue reads an answer in the form of its API, or says that none was seen",
    "[fetchers][catalogue]") {
  const auto engines = engines_of_catalogue();
  std::set<std::string> untested;
  for (const CatalogueEntry& entry : catalogue())
    if (entry.value("checked").find("no answer seen") == std::string::npos) untested.insert(entry.name);
  for (const auto& file : std::filesystem::directory_iterator(kSource + "/tests/data/catalogue")) {
    const auto examples = read_yaml(file.path().string());
    if (!examples) FAIL(examples.error().text);
    for (const YamlNode& example : examples->items) {
      const std::string name = scalar_of(example, "engine");
      INFO(name);
      const auto found = engines.find(name);
      REQUIRE(found != engines.end());
      untested.erase(name);
      check_case(found->second, example);
    }
  }
  CHECK(untested == std::set<std::string>());
}

TEST_CASE("General search engines are asked in the searcher's language", "[fetchers][catalogue]") {
  const auto engines = engines_of_catalogue();
  struct Example {
    const char* engine;
    const char* german;
    const char* brazilian;
  };
  const std::vector<Example> examples = {
      {"bing", "mkt=de-DE", "mkt=pt-BR"},
      {"bing-api", "mkt=de-DE", "mkt=pt-BR"},
      {"brave", "search_lang=de", "search_lang=pt-br"},
      {"brave-page", "country=de; ui_lang=de", "country=br; ui_lang=pt-BR"},
      {"duckduckgo", "kl=de-de", "kl=br-pt"},
      {"duckduckgo-lite", "kl=de-de", "kl=br-pt"},
      {"google", "hl=de", "hl=pt"},
      {"google-cse", "lr=lang_de", "lr=lang_pt"},
      {"mojeek", "lb=de", "lb=pt"},
      {"qwant", "locale=de_de", "locale=pt_pt"},
      {"serper", "\"hl\":\"de\"", "\"hl\":\"pt-br\""},
      {"serpapi", "hl=de", "hl=pt-br"},
      {"searchapi", "hl=de", "hl=pt-br"},
      {"startpage", "language=deutsch", "language=portugues_br"},
      {"yahoo", "vl=lang_de", "vl=lang_pt"},
  };
  for (const Example& example : examples) {
    INFO(example.engine);
    const Engine& engine = engines.at(example.engine);
    const auto ready =
        ready_access(engine, [](std::string_view name) { return std::optional(secret_named(name)); });
    REQUIRE(ready.has_value());
    const auto asked = [&](const std::string& language) {
      const Clock& clock = machine_clock();
      FetchOptions options{.deadline = Deadline(clock, std::chrono::seconds(1))};
      options.language = language;
      const EngineRequest request = build_request(engine, *ready, "otter", options, 1);
      std::string out = request.url + ' ' + request.body;
      for (const auto& [name, value] : request.headers)
        if (name == "Cookie") out += ' ' + value;
      return out;
    };
    CHECK(asked("de").find(example.german) != std::string::npos);
    CHECK(asked("de-LI").find(example.german) != std::string::npos);
    CHECK(asked("pt-BR").find(example.brazilian) != std::string::npos);
    CHECK(asked("").find("{l") == std::string::npos);
  }
}

TEST_CASE("A block may name a definition of the catalogue and set its parameters", "[fetchers][catalogue]") {
  const auto file = parse_engine_file(R"(engines:
  - {name: ubuntu questions, engine: stackexchange, api_site: askubuntu, timeout: 7}
  - {name: forge, engine: gitea, base_url: "https://git.example/"}
  - {name: papers, engine: arxiv, disabled: true}
)",
                                      "e.yaml");
  if (!file) FAIL(file.error().text);
  REQUIRE(file->engines.size() == 3);
  const auto url = [&](std::size_t i) { return std::get<HttpAccess>(file->engines[i].access).url; };
  CHECK(url(0).find("&site=askubuntu&") != std::string::npos);
  CHECK(file->engines[0].timeout_seconds == 7);
  CHECK(file->engines[0].name == "ubuntu questions");
  CHECK(url(1).starts_with("https://git.example/api/v1/"));
  CHECK(file->engines[2].is_disabled);
  CHECK(file->engines[2].type == "xml_engine");
  const auto bad = parse_engine_file("engines:\n  - {name: q, engine: qwant, qwant_categ: maps}\n", "e.yaml");
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().text.find("not with qwant_categ: maps") != std::string::npos);
}

TEST_CASE("Blocks of SearXNG's Python engines use the catalogue where it has the engine",
          "[fetchers][catalogue][searxng]") {
  const auto file = parse_engine_file(R"(general: {debug: false}
engines:
  - {name: qwant news, engine: qwant, qwant_categ: news, shortcut: qwn, paging: true}
  - {name: qwant, engine: qwant, qwant_categ: web}
  - {name: codeberg, engine: gitea, base_url: "https://codeberg.org", shortcut: cb}
  - {name: lemmy users, engine: lemmy, lemmy_type: Users}
  - {name: core.ac.uk, engine: core, api_key: "", inactive: true}
  - {name: hex, engine: hex, sort_criteria: recent_downloads, page_size: 10}
  - {name: yacy, engine: yacy, search_type: text, base_url: ["https://one.example", "https://two.example"]}
  - {name: mojeek images, engine: mojeek, search_type: images}
  - {name: translate, engine: libretranslate, base_url: "https://t.example"}
)",
                                      "settings.yml");
  if (!file) FAIL(file.error().text);
  REQUIRE(file->engines.size() == 9);
  const auto url = [&](std::size_t i) { return std::get<HttpAccess>(file->engines[i].access).url; };
  CHECK(url(0).find("/v3/search/news") != std::string::npos);
  CHECK(file->engines[0].shortcut == "qwn");
  CHECK(url(1).find("/v3/search/web") != std::string::npos);
  CHECK(url(2).starts_with("https://codeberg.org/api/v1/"));
  CHECK(url(3).find("type_=Users") != std::string::npos);
  CHECK(file->engines[4].is_disabled);
  CHECK(url(5).starts_with("https://hex.pm/"));
  CHECK(url(6).starts_with("https://one.example/"));
  CHECK(file->engines[8].name == "translate");
  CHECK(url(8) == "https://t.example");
  CHECK(file->refused.empty());
}
