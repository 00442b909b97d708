#include "fetchers/definition/definition_edit.h"

#include <catch2/catch.hpp>

#include "fetchers/definition/engine_file.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

Engine engine_in(const std::string& text) {
  const auto file = parse_engine_file(text, "engines.yaml");
  if (!file) FAIL(file.error().text);
  return file->engines.front();
}

AnswerRules rules_of(const Engine& engine) {
  return std::get<HttpAccess>(engine.access).answer;
}

const std::string kFile = R"(# ours
engines:
  - name: api
    engine: json_engine   # a comment stays
    search_url: "https://api.example/s?q={query}"
    results_query: $/items
    url_query: $/link
    title_query: [$/name, $/label]
    timeout: 4.0

  - name: other
    engine: json_engine
    search_url: "https://other.example/s?q={query}"
    url_query: u
    title_query: t
)";

}  // namespace

TEST_CASE("A repair changes only the lines of the keys that differ", "[fetchers][definition][health]") {
  const Engine engine = engine_in(kFile);
  AnswerRules rules = rules_of(engine);
  rules.results = "$/data/*/node";
  rules.title.paths = {"$/heading"};
  rules.content.paths = {"$/text"};
  const auto edited = with_repaired_rules(kFile, "engines.yaml", engine, rules);
  if (!edited) FAIL(edited.error().text);
  CHECK(*edited == R"(# ours
engines:
  - name: api
    engine: json_engine   # a comment stays
    search_url: "https://api.example/s?q={query}"
    results_query: "$/data/*/node"
    url_query: $/link
    title_query: "$/heading"
    timeout: 4.0
    content_query: "$/text"

  - name: other
    engine: json_engine
    search_url: "https://other.example/s?q={query}"
    url_query: u
    title_query: t
)");
}

TEST_CASE("A block in braces is left to a person", "[fetchers][definition][health]") {
  const std::string braces =
      "engines: [{name: api, engine: json_engine, search_url: 'https://api.example/s?q={query}', url_query: "
      "u, "
      "title_query: t}]\n";
  AnswerRules rules = rules_of(engine_in(braces));
  rules.url.paths = {"v"};
  const auto edited = with_repaired_rules(braces, "engines.yaml", engine_in(braces), rules);
  REQUIRE_FALSE(edited.has_value());
  CHECK(edited.error().text ==
        "engines.yaml: the block is written in braces; write the lines above into the definition by hand");
}
