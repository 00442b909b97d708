#include "fetchers/answers/guess.h"

#include <algorithm>
#include <array>

#include <pugixml.hpp>

#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/json_tree.h"
#include "fetchers/http/request_template.h"

namespace metafuse::fetchers {
namespace {

constexpr int kDeepest = 64;

Json json_of_element(element value, int depth) {
  if (depth > kDeepest) return nullptr;
  switch (value.type()) {
    case element_type::OBJECT: {
      JsonObject object;
      for (const auto field : simdjson::dom::object(value))
        object[field.key] = json_of_element(field.value, depth + 1);
      return object;
    }
    case element_type::ARRAY: {
      JsonArray array;
      for (const element item : simdjson::dom::array(value))
        array.push_back(json_of_element(item, depth + 1));
      return array;
    }
    default: {
      TextPool texts;
      const PartText text = text_of(value, texts);
      return text.is_missing() ? Json() : Json(text.view());
    }
  }
}

/// Adds a member to an object; several elements of one name become a list.
void add_member(JsonObject& object, std::string_view name, Json value) {
  Json* found = object.if_contains(name);
  if (found == nullptr) {
    object[name] = std::move(value);
  } else if (found->is_array()) {
    found->as_array().push_back(std::move(value));
  } else {
    Json first = std::move(*found);
    *found = JsonArray{std::move(first), std::move(value)};
  }
}

Json json_of_xml(const pugi::xml_node& node, int depth) {
  JsonObject object;
  std::string text;
  for (const pugi::xml_attribute& attribute : node.attributes())
    if (std::string_view(attribute.name()).substr(0, 5) != "xmlns")
      object["@" + std::string(attribute.name())] = attribute.value();
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) text += child.value();
    if (child.type() == pugi::node_element && depth < kDeepest)
      add_member(object, child.name(), json_of_xml(child, depth + 1));
  }
  if (object.empty()) return Json(clean_text(text, false, 2000));
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) object["#text"] = clean_text(text, false, 2000);
  return object;
}

Result<AnswerRules> guess_in_xml(std::string_view body, const AnswerContext& context) {
  pugi::xml_document document;
  TRY_VOID(load_xml(document, body, context));
  const std::string_view kind = without_prefix(document.document_element().name());
  if (kind == "rss" || kind == "feed" || kind == "RDF") {
    AnswerRules feed;
    feed.format = AnswerRules::Format::xml;
    return feed;
  }
  JsonObject root;
  root[document.document_element().name()] = json_of_xml(document.document_element(), 0);
  return guess_in_tree(root, AnswerRules::Format::xml);
}

/// Quotes a text for YAML, because paths contain characters that YAML would interpret.
std::string in_quotes(std::string_view text) {
  return to_text(Json(text));
}

}  // namespace

Result<AnswerRules> guess_rules(std::string_view body, const AnswerContext& context) {
  const std::size_t first = std::min(body.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), body.size());
  const std::string head = ascii_lower(body.substr(first, 200));
  const std::string type = ascii_lower(context.content_type);
  if (first < body.size() && body[first] == '<') {
    const bool is_page = type.find("html") != std::string::npos || head.starts_with("<!doctype html") ||
                         head.starts_with("<html") || head.find("<body") != std::string::npos;
    if (!is_page)
      if (auto rules = guess_in_xml(body, context)) return rules;
    return guess_in_page(body, context);
  }
  const JsonTree tree(body, context);
  if (!tree.root()) return tree.root().error();
  return guess_in_tree(json_of_element(*tree.root(), 0), AnswerRules::Format::json);
}

Result<Json> answer_tree(AnswerRules::Format format, std::string_view body, const AnswerContext& context) {
  if (format == AnswerRules::Format::xml) {
    pugi::xml_document document;
    TRY_VOID(load_xml(document, body, context));
    JsonObject root;
    root[document.document_element().name()] = json_of_xml(document.document_element(), 0);
    return root;
  }
  const JsonTree tree(body, context);
  if (!tree.root()) return tree.root().error();
  return json_of_element(*tree.root(), 0);
}

std::string search_url_of(const std::string& url) {
  constexpr std::array<std::string_view, 14> kNames = {
      "q",        "query", "search", "term",         "text",       "s",    "keyword",
      "keywords", "wd",    "p",      "search_query", "searchterm", "what", "input"};
  for (const std::string_view name : kNames)
    for (std::size_t at = url.find('?'); at != std::string::npos; at = url.find('&', at + 1)) {
      if (url.compare(at + 1, name.size(), name) != 0 || url.compare(at + 1 + name.size(), 1, "=") != 0)
        continue;
      const std::size_t begin = at + 2 + name.size();
      const std::size_t end = std::min(url.find_first_of("&#", begin), url.size());
      return with_doubled_braces(url.substr(0, begin)) + "{query}" + with_doubled_braces(url.substr(end));
    }
  return with_doubled_braces(url);
}

std::string definition_text(const AnswerRules& rules, const std::string& name,
                            const std::string& search_url) {
  const bool is_json = rules.format == AnswerRules::Format::json;
  const std::string_view type = is_json                                    ? "json_engine"
                                : rules.format == AnswerRules::Format::xml ? "xml_engine"
                                                                           : "xpath";
  const std::string suffix = is_json ? "_query" : "_xpath";
  std::string out = "engines:\n  - name: " + in_quotes(name) + "\n    engine: " + std::string(type) +
                    "\n    search_url: " + in_quotes(search_url) + "\n";
  const auto write = [&](std::string_view part, const std::string& path) {
    if (!path.empty()) out += "    " + std::string(part) + suffix + ": " + in_quotes(path) + "\n";
  };
  const auto write_part = [&](std::string_view part, const PartRule& rule) {
    if (rule.paths.size() < 2) return write(part, rule.empty() ? "" : rule.first());
    std::string paths;
    for (const std::string& path : rule.paths) paths += (paths.empty() ? "" : ", ") + in_quotes(path);
    out += "    " + std::string(part) + suffix + ": " +
           (rule.is_joined ? "{join: [" + paths + "], with: " + in_quotes(rule.separator) + "}"
                           : "[" + paths + "]") +
           "\n";
  };
  write("results", rules.results);
  write_part("url", rules.url);
  if (rules.url.empty() && !rules.results.empty())
    out += "    url_format: " +
           in_quotes(rules.url_format.empty() ? std::string("https://host.example/{id}") : rules.url_format) +
           "  # no URL was found: write here how to build it\n";
  for (const ResultPart& part : kResultParts)
    if (part.name != "url") write_part(part.name, rules.*part.rule);
  if (rules.is_title_html) out += "    title_html_to_text: true\n";
  if (rules.is_content_html) out += "    content_html_to_text: true\n";
  return out;
}

}  // namespace metafuse::fetchers
