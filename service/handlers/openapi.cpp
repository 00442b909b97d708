#include "core/ascii.h"
#include "core/contract.h"
#include "core/json.h"
#include "service/base/version.h"
#include "service/handlers/handlers.h"
#include "service/handlers/openapi_schemas.h"

namespace metafuse::service {
namespace {

/// {name} segments of a pattern.
JsonArray path_parameters(std::string_view pattern) {
  JsonArray out;
  for (std::size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at + 1)) {
    const std::string_view name = pattern.substr(at + 1, pattern.find('}', at) - at - 1);
    out.push_back(JsonObject{
        {"name", name}, {"in", "path"}, {"required", true}, {"schema", JsonObject{{"type", "string"}}}});
  }
  return out;
}

JsonObject query_parameter(std::string_view name, std::string_view type, std::string_view text) {
  return JsonObject{
      {"name", name}, {"in", "query"}, {"description", text}, {"schema", JsonObject{{"type", type}}}};
}

void add_search_parameters(JsonArray& out) {
  out.push_back(query_parameter("q", "string", "a plain query"));
  out.push_back(query_parameter("slot.NAME", "string", "value of a slot, instead of q"));
  out.push_back(query_parameter("domain", "string", "the default domain without it"));
  out.push_back(query_parameter("format", "string", "html, json, csv or rss"));
  out.push_back(query_parameter("pageno", "integer", "1 to 1000"));
  out.push_back(query_parameter("limit", "integer", "results, 1 to 200"));
  out.push_back(query_parameter("explain", "integer", "1 for each list's weight"));
  out.push_back(query_parameter("language", "string", "BCP 47"));
  out.push_back(query_parameter("time_range", "string", "day, week, month or year"));
  out.push_back(query_parameter("safesearch", "integer", "0, 1 or 2"));
  out.push_back(query_parameter("engines", "string", "names, comma-separated"));
  out.push_back(query_parameter("categories", "string", "domains, comma-separated"));
  out.push_back(query_parameter("timeout_limit", "number", "seconds for all lists"));
}

Json schema_of(const BodySchema& body) {
  auto schema = parse_json(body.schema, std::string(body.media_type));
  require(schema.has_value(), "a schema is JSON");
  return std::move(*schema);
}

std::string_view error_type(Dialect dialect) {
  if (dialect == Dialect::native) return "application/problem+json";
  if (dialect == Dialect::page) return "text/html";
  return dialect == Dialect::plain ? "text/plain" : "application/json";
}

/// "post_v1_templates_domain_preview": by method and path, so that it stays when routes are added.
std::string operation_id(const Route& route) {
  std::string out = ascii_lower(route.method);
  for (const char c : route.pattern) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_word)
      out += c;
    else if (out.back() != '_')
      out += '_';
  }
  while (out.back() == '_') out.pop_back();
  return out;
}

JsonObject operation_of(const Route& route) {
  JsonObject operation;
  operation["summary"] = route.summary;
  operation["operationId"] = operation_id(route);
  JsonArray parameters = path_parameters(route.pattern);
  const bool is_get_search =
      route.method == "GET" && (route.pattern == "/search" || route.pattern == "/v1/search/stream");
  if (is_get_search) add_search_parameters(parameters);
  if (route.name == "autocompleter") parameters.push_back(query_parameter("q", "string", "how it begins"));
  if (route.name == "evaluation")
    parameters.push_back(query_parameter("domain", "string", "the default domain without it"));
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  JsonObject content;
  for (const BodySchema& body : request_bodies(route))
    content[body.media_type] = JsonObject{{"schema", schema_of(body)}};
  if (!content.empty()) operation["requestBody"] = JsonObject{{"content", std::move(content)}};
  JsonObject failure{{"description", "what is wrong, in the dialect's own shape"}};
  failure["content"] = JsonObject{{error_type(route.rules.dialect), JsonObject{}}};
  JsonObject answers;
  for (const std::string_view type : answer_types(route)) answers[type] = JsonObject{};
  operation["responses"] =
      JsonObject{{"200", JsonObject{{"description", "done"}, {"content", std::move(answers)}}},
                 {"default", std::move(failure)}};
  if (route.rules.access == Access::open) return operation;
  operation["security"] = JsonArray{JsonObject{{"key", JsonArray{}}}};
  if (route.rules.access != Access::admin) operation["security"].as_array().push_back(JsonObject{});
  return operation;
}

}  // namespace

HttpResponse handle_openapi() {
  JsonObject paths;
  for (const Route& route : routes()) {
    Json& path = paths[route.pattern];
    if (!path.is_object()) path = JsonObject();
    path.as_object()[ascii_lower(route.method)] = operation_of(route);
  }
  JsonObject out;
  out["openapi"] = "3.1.0";
  out["info"] = JsonObject{{"title", "metafuse"},
                           {"version", version()},
                           {"license", JsonObject{{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}};
  out["paths"] = std::move(paths);
  out["components"] = JsonObject{
      {"securitySchemes", JsonObject{{"key", JsonObject{{"type", "http"}, {"scheme", "bearer"}}}}}};
  return make_response(200, "application/json", to_text(out));
}

}  // namespace metafuse::service
