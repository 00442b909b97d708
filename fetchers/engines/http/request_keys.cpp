#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/http/request_template.h"

// Reads the keys of a definition that determine what is sent: limits, method and body, the steps before the
// search itself, and how the next page is requested.

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
  TRY(const std::string text, body_template(std::string(value.as_string())));
  TRY(const auto pieces, parse_request_template(text));
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

/// In place of a body that was refused: without it, the URL would seem to lack the query too.
constexpr const char* kRefusedBody = "{query}";

void take_body(EngineBlock& block, HttpAccess& access) {
  if (const YamlNode* node = block.map.take("json_body")) {
    if (block.map.take("request_body") != nullptr)
      block.error_at("json_body", "json_body and request_body exclude each other; keep one");
    const auto text = json_template(json_of(*node));
    if (!text) block.error_at("json_body", "json_body: " + text.error().text);
    access.body = text ? *text : kRefusedBody;
    access.content_type = "application/json";
    return;
  }
  block.take("request_body", access.body);
  const auto text = body_template(access.body);
  if (!text) block.check("request_body", false, text.error().text);
  access.body = text ? *text : kRefusedBody;
}

}  // namespace

void take_request_body(EngineBlock& block, HttpAccess& access) {
  take_body(block, access);
  const auto method = block.map.take_string("method");
  access.method = method.value_or(access.body.empty() ? "GET" : "POST");
  for (char& c : access.method) c = ascii_upper(c);
  if (access.method != "GET" && access.method != "POST")
    block.error_at("method", "method must be GET or POST");
  else if (access.method == "GET" && !access.body.empty())
    block.error_at("method", "a GET request has no body; leave out method, or write method: POST");
}

namespace {

/// SearXNG allows true (every error), one status, or a list of them.
void take_retry_statuses(EngineBlock& block) {
  const YamlNode* node = block.map.take("retry_on_http_error");
  const auto is_every = node == nullptr ? std::optional(false) : as_bool(*node);
  if (is_every && !*is_every) return;
  std::vector<int>& statuses = block.engine.retry_statuses;
  if (is_every) {
    statuses = {500, 502, 503, 504};
    return;
  }
  for (const std::string& text : block.texts("retry_on_http_error"))
    if (text.size() == 3 && text.find_first_not_of("0123456789") == std::string::npos)
      statuses.push_back(std::stoi(text));
    else
      block.error_at("retry_on_http_error", "retry_on_http_error must be true, false or HTTP statuses");
}

}  // namespace

void take_request_limits(EngineBlock& block) {
  Engine& engine = block.engine;
  block.take("connect_timeout", engine.connect_seconds, 0.01, 300);
  block.take("first_byte_timeout", engine.first_byte_seconds, 0.01, 300);
  block.take("max_bytes", engine.max_bytes, 1024, 64 << 20);
  block.take("retries", engine.retries, 0, 10);
  block.take("requests_per_second", engine.requests_per_second, 0, 1e6);
  take_max_connections(block);
  take_retry_statuses(block);
}

namespace {

using Format = AnswerRules::Format;

constexpr std::size_t kMostSteps = 3;
constexpr std::size_t kMostInstances = 3;

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
std::string take_url(EngineBlock& block, const HttpAccess& access) {
  std::string url = block.text("search_url");
  const auto checked = check_url_template(url, false);
  block.check("search_url", checked);
  block.check("search_url", !checked || host_part(url) == host_part(access.url),
              "all requests of an engine must go to the same host, " + std::string(host_part(access.url)));
  return url;
}

Format take_format(EngineBlock& block, Format preset) {
  const auto name = block.map.take_string("engine");
  if (!name) return preset;
  const auto format = path_format(*name);
  if (!format) block.error_at("engine", "the engine of a step must be json_engine, xml_engine or xpath");
  return format.value_or(preset);
}

/// Takes a path in the answer, which must be there: `NAME_query`, or `NAME_xpath` for XML and HTML.
std::string take_required_path(EngineBlock& block, Format format, const std::string& name) {
  const std::string key = name + (format == Format::json ? "_query" : "_xpath");
  const YamlNode* node = block.map.take_required(key);
  std::string path = block.text(key);
  if (node != nullptr && node->is_scalar()) check_path(block, format, node->place, path);
  return path;
}

LookupStep take_step(EngineBlock& block, const YamlNode& node, const HttpAccess& access) {
  EngineBlock reading = block.inner(node, "a step");
  LookupStep step;
  if (!node.is_map()) return step;
  step.format = take_format(reading, access.answer.format);
  reading.map.take_required("search_url");
  step.url = take_url(reading, access);
  HttpAccess sent;
  take_request_body(reading, sent);
  step.method = sent.method;
  step.body = sent.body;
  step.content_type = sent.content_type;
  step.ids = take_required_path(reading, step.format, "ids");
  reading.take("with", step.separator);
  reading.take("quoted", step.is_quoted);
  reading.take("per_request", step.per_request, 1, 1000);
  reading.map.finish();
  return step;
}

/// Checks that each request uses what the previous one found, and nothing else.
void check_chain(EngineBlock& block, const HttpAccess& access) {
  for (std::size_t i = 0; i <= access.steps.size(); ++i) {
    const bool is_last = i == access.steps.size();
    const std::string& url = is_last ? access.url : access.steps[i].url;
    const std::string& body = is_last ? access.body : access.steps[i].body;
    const bool is_in_header =
        is_last && std::any_of(access.headers.begin(), access.headers.end(),
                               [](const auto& one) { return one.second.find("{ids}") != std::string::npos; });
    const bool has_ids = is_in_header || has(url, body, "{ids}") || has(url, body, "{id_values}");
    const bool has_id = has(url, body, "{id}");
    const std::string which = is_last ? "the engine's own request" : "step " + std::to_string(i + 1);
    const bool asks = has(access.url, access.body, "{query");
    if (i == 0 && !asks && !has(url, body, "{query")) block.error_at("steps", "step 1 must contain {query}");
    if (i > 0 && !has_ids && !(is_last && has_id))
      block.error_at("steps", which + " must contain {ids}, the identifiers found by the previous step");
    if (!is_last && has_id)
      block.error_at("steps", which + ": {id} is allowed only in the engine's own request");
  }
}

void take_next_page(EngineBlock& block, HttpAccess& access) {
  const YamlNode* node = block.map.take("next_page");
  if (node == nullptr) return;
  EngineBlock reading = block.inner(*node, "next_page");
  if (!node->is_map()) return;
  NextPage& next = access.paging.next;
  access.paging.is_on = true;
  reading.take("link_header", next.is_link_header);
  const std::string url_key = access.answer.format == Format::json ? "url_query" : "url_xpath";
  if (reading.map.take(url_key) != nullptr) {
    next.is_address = true;
    next.cursor = take_required_path(reading, access.answer.format, "url");
  }
  if (next.is_link_header || next.is_address) return reading.map.finish();
  next.cursor = take_required_path(reading, access.answer.format, "cursor");
  next.url = take_url(reading, access);
  HttpAccess sent;
  take_request_body(reading, sent);
  next.body = sent.body;
  if (!next.body.empty() || reading.map.take("method") != nullptr) next.method = sent.method;
  reading.map.finish();
  if (!has(next.url, next.body, "{cursor}"))
    reading.error("next_page must contain {cursor} in its search_url or body");
}

}  // namespace

void take_chained_requests(EngineBlock& block, HttpAccess& access) {
  const YamlNode* steps = block.map.take("steps");
  if (steps != nullptr && !steps->is_list()) block.error_at("steps", "steps must be a list of requests");
  if (steps != nullptr && steps->is_list() && steps->items.size() > kMostSteps)
    block.error_at("steps", "more than " + std::to_string(kMostSteps) + " steps");
  if (steps != nullptr && steps->is_list()) {
    for (const YamlNode& item : steps->items) access.steps.push_back(take_step(block, item, access));
    check_chain(block, access);
  } else if (has(access.url, access.body, "{ids}") || has(access.url, access.body, "{id_values}") ||
             has(access.url, access.body, "{id}")) {
    block.error("{ids} and {id} need `steps` that find identifiers");
  }
  if (has(access.url, access.body, "{cursor}"))
    block.error("{cursor} is allowed only in next_page: the first page has no cursor");
  take_next_page(block, access);
}

void take_instances(EngineBlock& block, HttpAccess& access) {
  block.take("hedge", access.hedges);
  if (block.map.take("instances") == nullptr) return;
  access.instances = block.texts("instances");
  if (access.instances.size() > kMostInstances)
    block.error_at("instances", "instances: more than " + std::to_string(kMostInstances));
  const std::string& own = access.description_url.empty() ? access.url : access.description_url;
  if (host_part(own).find('{') != std::string_view::npos)
    block.error_at("instances", "instances need an engine whose own host has no placeholder");
  for (std::string& instance : access.instances) {
    const auto parts = parts_of_url(instance);
    const bool is_host = parts && parts->port > 0 && instance.find('#') == std::string::npos &&
                         (parts->path_and_query == "/" || parts->path_and_query.empty());
    if (is_host && own.starts_with("https://") && parts->scheme != "https")
      block.error_at("instances", "instances: \"" + instance +
                                      "\" must be https, as the engine is: it gets the same credentials");
    if (!is_host)
      block.error_at("instances", "instances: \"" + instance +
                                      "\" must be https://HOST or https://HOST:PORT; the rest of the address "
                                      "is that of the engine");
    while (instance.ends_with('/')) instance.pop_back();
  }
}

}  // namespace metafuse::fetchers
