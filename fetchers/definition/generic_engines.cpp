#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/request_template.h"

namespace metafuse::fetchers {
namespace {

void take_search_url(EngineBlock& block, HttpAccess& access) {
  const YamlNode* node = block.map.take_required("search_url");
  access.url = block.map.take_string("search_url").value_or("");
  if (node == nullptr || !node->is_scalar()) return;
  const bool is_in_body = access.body.find("{query}") != std::string::npos;
  if (const auto checked = check_url_template(access.url, !is_in_body); !checked)
    block.diagnostics.error(node->place, "search_url: " + checked.error().text);
}

void require_path(EngineBlock& block, const std::string& path, std::string_view key,
                  const AnswerRules& rules) {
  const bool is_url = key.starts_with("url");
  if (!path.empty() || (is_url && !rules.url_format.empty())) return;
  block.diagnostics.error(block.map.place(), "the engine \"" + block.engine.name + "\" lacks the key \"" +
                                                 std::string(key) + "\"");
}

}  // namespace

void read_json_engine(EngineBlock& block) {
  HttpAccess access;
  access.answer.format = AnswerRules::Format::json;
  take_http_keys(block, access);
  take_search_url(block, access);
  require_path(block, access.answer.url, "url_query", access.answer);
  require_path(block, access.answer.title, "title_query", access.answer);
  block.engine.access = std::move(access);
}

void read_xpath_engine(EngineBlock& block) {
  HttpAccess access;
  access.answer.format = AnswerRules::Format::html;
  access.default_language = "en";
  take_http_keys(block, access);
  take_search_url(block, access);
  require_path(block, access.answer.url, "url_xpath", access.answer);
  require_path(block, access.answer.title, "title_xpath", access.answer);
  block.engine.access = std::move(access);
}

void read_xml_engine(EngineBlock& block) {
  HttpAccess access;
  access.answer.format = AnswerRules::Format::xml;
  access.default_language = "en";
  take_http_keys(block, access);
  take_search_url(block, access);
  if (!access.answer.results.empty()) {
    require_path(block, access.answer.url, "url_xpath", access.answer);
    require_path(block, access.answer.title, "title_xpath", access.answer);
  } else if (!access.answer.url.empty() || !access.answer.title.empty()) {
    block.diagnostics.error(
        block.map.place(),
        "url_xpath and title_xpath need results_xpath; without all three RSS and Atom are read");
  }
  block.engine.access = std::move(access);
}

void read_opensearch_description(EngineBlock& block) {
  HttpAccess access;
  access.answer.format = AnswerRules::Format::xml;
  access.default_language = "*";
  access.has_paging = true;
  take_http_keys(block, access);
  const YamlNode* node = block.map.take_required("description_url");
  access.description_url = block.map.take_string("description_url").value_or("");
  if (node != nullptr && node->is_scalar())
    if (const auto checked = check_url_template(access.description_url, false); !checked)
      block.diagnostics.error(node->place, "description_url: " + checked.error().text);
  block.engine.access = std::move(access);
}

}  // namespace metafuse::fetchers
