#include <algorithm>

#include "core/json.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/request_template.h"

// Reads the keys of a definition that determine what is sent: method and body, the steps before the search
// itself, and how the next page is requested.

namespace metafuse::fetchers {

Json json_of(const YamlNode& node) {
  if (node.is_map()) {
    JsonObject object;
    for (const auto& [key, value] : node.entries) object[key.text] = json_of(value);
    return object;
  }
  if (node.is_list()) {
    JsonArray array;
    for (const YamlNode& item : node.items) array.push_back(json_of(item));
    return array;
  }
  if (node.is_null()) return nullptr;
  if (node.is_quoted) return Json(node.text);
  if (auto parsed = parse_json(node.text, "value")) return *parsed;
  return Json(node.text);
}

namespace {

/// Doubles braces except those of "${NAME}", which is replaced when the fetcher is made.
std::string with_doubled_braces_but_secrets(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t secret = std::min(text.find("${"), text.size());
    const std::size_t end = std::min(text.find('}', secret), text.size() - 1);
    out += with_doubled_braces(text.substr(0, secret));
    if (secret == text.size()) break;
    out += text.substr(secret, end + 1 - secret);
    text.remove_prefix(end + 1);
  }
  return out;
}

/// Builds a JSON body from YAML values, whose texts may contain placeholders. A text that consists of a
/// number's placeholder becomes that number, and `{ids}` alone becomes the list of identifiers.
Result<std::string> json_template(const Json& value) {
  const auto list = [](const auto& items, const auto& write) -> Result<std::string> {
    std::string out;
    for (const auto& item : items) {
      TRY(const std::string text, write(item));
      out += (out.empty() ? "" : ",") + text;
    }
    return out;
  };
  if (const JsonObject* object = value.if_object()) {
    TRY(const std::string members, list(*object, [](const auto& member) -> Result<std::string> {
          TRY(const std::string text, json_template(member.value()));
          return with_doubled_braces(to_text(Json(member.key()))) + ":" + text;
        }));
    return "{{" + members + "}}";
  }
  if (const JsonArray* array = value.if_array()) {
    TRY(const std::string items, list(*array, json_template));
    return "[" + items + "]";
  }
  if (!value.is_string()) return with_doubled_braces(to_text(value));
  TRY(const auto pieces, parse_request_template(std::string(value.as_string())));
  std::string out;
  for (const TemplatePiece& piece : pieces) {
    const std::string quoted = piece.is_placeholder ? "{" + piece.text + "}" : to_text(Json(piece.text));
    out +=
        piece.is_placeholder ? quoted : with_doubled_braces_but_secrets(quoted.substr(1, quoted.size() - 2));
  }
  if (out == "{ids}") return "[{id_values}]";
  const bool is_number =
      out == "{count}" || out == "{offset}" || out == "{start}" || out == "{pageno}" || out == "{vector}";
  return is_number ? out : '"' + out + '"';
}

}  // namespace

void take_request_body(EngineBlock& block, HttpAccess& access) {
  if (auto method = block.map.take_string("method")) {
    access.method = *method;
    std::transform(access.method.begin(), access.method.end(), access.method.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    if (access.method != "GET" && access.method != "POST")
      block.diagnostics.error(block.map.take("method")->place, "method must be GET or POST");
  }
  if (const YamlNode* node = block.map.take("json_body")) {
    if (block.map.take("request_body") != nullptr)
      block.diagnostics.error(node->place, "json_body and request_body exclude each other; keep one");
    if (const auto text = json_template(json_of(*node)))
      access.body = *text;
    else
      block.diagnostics.error(node->place, "json_body: " + text.error().text);
    access.content_type = "application/json";
    if (block.map.take("method") == nullptr) access.method = "POST";
    return;
  }
  const YamlNode* node = block.map.take("request_body");
  if (auto body = block.map.take_string("request_body")) access.body = *body;
  if (node != nullptr && node->is_scalar())
    if (const auto pieces = parse_request_template(access.body); !pieces)
      block.diagnostics.error(node->place, "request_body: " + pieces.error().text);
}

namespace {

using Format = AnswerRules::Format;

/// The part "https://host:port" of a URL with placeholders.
std::string_view host_part(std::string_view url) {
  const std::size_t begin = std::min(url.find("://") + 3, url.size());
  return url.substr(0, url.find_first_of("/?", begin));
}

bool has(const std::string& url, const std::string& body, std::string_view placeholder) {
  return url.find(placeholder) != std::string::npos || body.find(placeholder) != std::string::npos;
}

/// Takes the URL of another request of the same engine. It must be on the same host, since credentials are
/// sent there.
std::string take_url(YamlMap& map, Diagnostics& diagnostics, const HttpAccess& access) {
  const YamlNode* node = map.take("search_url");
  std::string url = map.take_string("search_url").value_or("");
  if (node == nullptr || !node->is_scalar()) return url;
  if (const auto checked = check_url_template(url, false); !checked)
    diagnostics.error(node->place, "search_url: " + checked.error().text);
  else if (host_part(url) != host_part(access.url))
    diagnostics.error(node->place, "search_url: all requests of an engine must go to the same host, " +
                                       std::string(host_part(access.url)));
  return url;
}

Format take_format(YamlMap& map, Diagnostics& diagnostics, Format preset) {
  const YamlNode* node = map.take("engine");
  const auto name = map.take_string("engine");
  if (!name) return preset;
  if (*name == "json_engine") return Format::json;
  if (*name == "xml_engine") return Format::xml;
  if (*name == "xpath") return Format::html;
  diagnostics.error(node->place, "the engine of a step must be json_engine, xml_engine or xpath");
  return preset;
}

LookupStep take_step(EngineBlock& block, const YamlNode& node, const HttpAccess& access) {
  YamlMap map(node, "a step", block.diagnostics);
  LookupStep step;
  if (!node.is_map()) return step;
  step.format = take_format(map, block.diagnostics, access.answer.format);
  map.take_required("search_url");
  step.url = take_url(map, block.diagnostics, access);
  HttpAccess sent;
  EngineBlock reading{map, block.diagnostics, block.folder, block.engine};
  take_request_body(reading, sent);
  step.method = sent.method;
  step.body = sent.body;
  step.content_type = sent.content_type;
  const std::string key = step.format == Format::json ? "ids_query" : "ids_xpath";
  const YamlNode* ids = map.take_required(key);
  step.ids = map.take_string(key).value_or("");
  if (ids != nullptr && ids->is_scalar()) check_path(reading, step.format, ids->place, step.ids);
  if (auto separator = map.take_string("with")) step.separator = *separator;
  step.is_quoted = map.take_bool("quoted").value_or(false);
  step.per_request = static_cast<int>(map.take_integer("per_request", 1, 1000).value_or(100));
  map.finish();
  return step;
}

/// Checks that each request uses what the previous one found, and nothing else.
void check_chain(EngineBlock& block, const YamlNode& node, const HttpAccess& access) {
  for (std::size_t i = 0; i <= access.steps.size(); ++i) {
    const bool is_last = i == access.steps.size();
    const std::string& url = is_last ? access.url : access.steps[i].url;
    const std::string& body = is_last ? access.body : access.steps[i].body;
    const bool has_ids = has(url, body, "{ids}") || has(url, body, "{id_values}");
    const bool has_id = has(url, body, "{id}");
    const std::string which = is_last ? "the engine's own request" : "step " + std::to_string(i + 1);
    if (i == 0 && !has(url, body, "{query}"))
      block.diagnostics.error(node.place, "step 1 must contain {query}");
    if (i > 0 && !has_ids && !(is_last && has_id))
      block.diagnostics.error(node.place,
                              which + " must contain {ids}, the identifiers found by the previous step");
    if (!is_last && has_id)
      block.diagnostics.error(node.place, which + ": {id} is allowed only in the engine's own request");
  }
}

void take_next_page(EngineBlock& block, HttpAccess& access) {
  const YamlNode* node = block.map.take("next_page");
  if (node == nullptr) return;
  YamlMap map(*node, "next_page", block.diagnostics);
  if (!node->is_map()) return;
  const Format format = access.answer.format;
  const std::string key = format == Format::json ? "cursor_query" : "cursor_xpath";
  const YamlNode* cursor = map.take_required(key);
  access.next_page.cursor = map.take_string(key).value_or("");
  if (cursor != nullptr && cursor->is_scalar())
    check_path(block, format, cursor->place, access.next_page.cursor);
  access.next_page.url = take_url(map, block.diagnostics, access);
  HttpAccess sent;
  EngineBlock reading{map, block.diagnostics, block.folder, block.engine};
  take_request_body(reading, sent);
  access.next_page.body = sent.body;
  map.finish();
  const NextPage& next = access.next_page;
  if (!has(next.url, next.body, "{cursor}"))
    block.diagnostics.error(node->place, "next_page must contain {cursor} in its search_url or body");
  access.has_paging = true;
}

}  // namespace

void take_chained_requests(EngineBlock& block, HttpAccess& access) {
  const YamlNode* steps = block.map.take("steps");
  if (steps != nullptr && !steps->is_list())
    block.diagnostics.error(steps->place, "steps must be a list of requests");
  if (steps != nullptr && steps->is_list() && steps->items.size() > kMostSteps)
    block.diagnostics.error(steps->place, "more than " + std::to_string(kMostSteps) + " steps");
  if (steps != nullptr && steps->is_list()) {
    for (const YamlNode& item : steps->items) access.steps.push_back(take_step(block, item, access));
    check_chain(block, *steps, access);
  } else if (has(access.url, access.body, "{ids}") || has(access.url, access.body, "{id_values}") ||
             has(access.url, access.body, "{id}")) {
    block.diagnostics.error(block.map.place(), "{ids} and {id} need `steps` that find identifiers");
  }
  if (has(access.url, access.body, "{cursor}"))
    block.diagnostics.error(block.map.place(),
                            "{cursor} is allowed only in next_page: the first page has no cursor");
  take_next_page(block, access);
}

}  // namespace metafuse::fetchers
