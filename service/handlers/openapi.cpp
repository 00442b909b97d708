#include <span>
#include <string_view>

#include "core/ascii.h"
#include "core/contract.h"
#include "core/json.h"
#include "service/base/process.h"
#include "service/handlers/handlers.h"

// The bodies of requests as JSON schemas. Every property has an example, which tests send: what is said here
// is what is read.

namespace metafuse::service {
namespace {

/// A body that a route takes: its media type and its JSON schema.
struct BodySchema {
  std::string_view media_type;
  std::string_view schema;
};

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kForm = "application/x-www-form-urlencoded";
constexpr std::string_view kAnyForm = R"({"type":"object","additionalProperties":{"type":"string"}})";

constexpr std::string_view kNativeSearch = R"({"type":"object","additionalProperties":false,"properties":{
"query":{"type":"string","examples":["ada"]},
"slots":{"type":"object","additionalProperties":{"type":"string"},"examples":[{"NAME":"ada"}]},
"variants":{"type":"array","maxItems":16,"items":{"type":"object","additionalProperties":false,
 "required":["template","text"],"properties":{"template":{"type":"string"},"text":{"type":"string"},
 "raw":{"type":"boolean"}}},"examples":[[{"template":"plain","text":"ada"}]]},
"domain":{"type":"string","examples":["pages"]},
"engines":{"type":"array","items":{"type":"string"},"examples":[["one"]]},
"limit":{"type":"integer","minimum":1,"maximum":200,"default":30,"examples":[3]},
"page":{"type":"integer","minimum":1,"maximum":1000,"default":1,"examples":[1]},
"depth":{"type":"integer","minimum":1,"maximum":1000,"examples":[5]},
"explain":{"type":"boolean","default":false,"examples":[true]},
"deadline_ms":{"type":"number","minimum":1,"maximum":120000,"examples":[2000]},
"language":{"type":"string","examples":["en"]},
"time_range":{"enum":["day","week","month","year"],"examples":["week"]},
"safe_search":{"type":"integer","minimum":0,"maximum":2,"examples":[1]},
"sites":{"type":"object","additionalProperties":false,"properties":{
 "raise":{"type":"array","items":{"type":"string"}},"lower":{"type":"array","items":{"type":"string"}},
 "block":{"type":"array","items":{"type":"string"}}},"examples":[{"block":["a.example"]}]}}})";

constexpr std::string_view kFuse =
    R"({"type":"object","required":["lists"],"additionalProperties":false,"properties":{
"lists":{"type":"array","minItems":1,"maxItems":64,"items":{"type":"object","required":["name","results"],
 "additionalProperties":false,"properties":{"name":{"type":"string"},"weight":{"type":"number","minimum":0},
 "results":{"type":"array","maxItems":1000,"items":{"anyOf":[{"type":"string"},{"type":"object",
  "additionalProperties":false,"properties":{"id":{"type":"string"},"url":{"type":"string"},"score":{"type":"number"},
  "title":{"type":"string"},"snippet":{"type":"string"},"fields":{}}}]}}}},
 "examples":[[{"name":"bm25","results":["d1",{"id":"d2","score":0.5}]}]]},
"method":{"type":"string","default":"rrf","examples":["borda"]},
"options":{"type":"object","additionalProperties":false,"properties":{"k":{"type":"number"},
 "normalise":{"enum":["none","min-max","max","sum","z-score","rank","borda","l2"]}},"examples":[{"k":10}]},
"domain":{"type":"string","description":"instead of method: whose model fuses"},
"query":{"type":"string","examples":["ada"]},
"slots":{"type":"object","additionalProperties":{"type":"string"},"examples":[{"NAME":"ada"}]},
"limit":{"type":"integer","minimum":1,"maximum":64000,"examples":[3]},
"explain":{"type":"boolean","default":false,"examples":[true]}}})";

constexpr std::string_view kTavily = R"({"type":"object","required":["query"],"properties":{
"query":{"type":"string","examples":["ada"]},
"max_results":{"type":"integer","minimum":0,"maximum":20,"default":5,"examples":[2]},
"search_depth":{"enum":["basic","advanced","fast","ultra-fast"],"examples":["basic"]},
"topic":{"enum":["general","news","finance"],"examples":["general"]},
"time_range":{"enum":["day","week","month","year","d","w","m","y"],"examples":["week"]},
"days":{"type":"integer","minimum":0,"examples":[7]},
"start_date":{"type":"string","format":"date","examples":["2025-01-01"]},
"end_date":{"type":"string","format":"date","examples":["2025-12-31"]},
"include_domains":{"type":"array","items":{"type":"string"},"examples":[["a.example"]]},
"exclude_domains":{"type":"array","items":{"type":"string"},"examples":[["b.example"]]},
"exact_match":{"type":"boolean","examples":[false]},
"include_favicon":{"type":"boolean","examples":[false]},
"api_key":{"type":"string","examples":["key"]}}})";

constexpr std::string_view kPreview = R"({"type":"object","properties":{
"text":{"type":"string","description":"the edited file; the one in use without it"},
"query":{"type":"string","examples":["ada"]},
"slots":{"type":"object","additionalProperties":{"type":"string"},"examples":[{"NAME":"ada"}]},
"live":{"type":"boolean","default":false,"examples":[true]}}})";

constexpr std::string_view kFeedback = R"({"type":"object","required":["search_id"],"properties":{
"search_id":{"type":"string","minLength":32,"maxLength":32},
"position":{"type":"integer","minimum":1,"description":"either this or url"},
"url":{"type":"string"},
"kind":{"enum":["click","judgment"],"default":"click"},
"grade":{"type":"integer","minimum":0,"description":"with judgments"}}})";

constexpr std::string_view kActivateSchema = R"({"oneOf":[
{"type":"object","additionalProperties":false,"required":["version"],"properties":{"version":{"type":"string"}}},
{"type":"object","additionalProperties":false,"required":["previous"],"properties":{"previous":{"const":true}}}]})";

constexpr std::string_view kRetrain =
    R"({"type":"object","additionalProperties":false,"properties":{"learner":{"type":"string"}}})";
constexpr std::string_view kNothing = R"({"type":"object"})";
constexpr std::string_view kReset =
    R"({"type":"object","additionalProperties":false,"minProperties":1,"properties":{
"clicks":{"type":"boolean"},"judgments":{"type":"boolean"},"online":{"type":"boolean"}}})";
constexpr std::string_view kCall = R"({"type":"object","required":["jsonrpc","method"],"properties":{
"jsonrpc":{"const":"2.0"},"id":{"type":["string","integer"]},"method":{"type":"string"},"params":{"type":"object"}}})";

struct Bodies {
  std::string_view method;
  std::string_view pattern;
  BodySchema bodies[2];
};

constexpr Bodies kBodies[] = {
    {"POST", "/search", {{kJson, kTavily}, {kForm, kAnyForm}}},
    {"POST", "/mcp", {{kJson, kCall}, {}}},
    {"POST", "/v1/search", {{kJson, kNativeSearch}, {}}},
    {"POST", "/v1/fuse", {{kJson, kFuse}, {"application/x-ndjson", R"({"type":"string"})"}}},
    {"PUT", "/v1/templates/{domain}", {{"application/yaml", R"({"type":"string"})"}, {}}},
    {"POST", "/v1/templates/{domain}/preview", {{kJson, kPreview}, {}}},
    {"POST", "/templates/{domain}", {{kForm, kAnyForm}, {}}},
    {"POST", "/v1/feedback", {{kJson, kFeedback}, {}}},
    {"POST", "/v1/models/{name}/activate", {{kJson, kActivateSchema}, {}}},
    {"POST", "/v1/models/{name}/retrain", {{kJson, kRetrain}, {}}},
    {"POST", "/v1/models/{name}/measure", {{kJson, kNothing}, {}}},
    {"POST", "/v1/models/{name}/reset", {{kJson, kReset}, {}}},
    {"POST", "/models/{name}", {{kForm, kAnyForm}, {}}},
    {"POST", "/preferences", {{kForm, kAnyForm}, {}}},
};

// What programs get with status 200. Each has an example, which tests compare with a real answer.

constexpr std::string_view kSearchAnswer = R"({"type":"object",
"required":["query","slots","results","total","has_more","suggestions","failed","fusion","timing"],"properties":{
"query":{"type":"string"},"slots":{"type":"object"},"total":{"type":"integer"},"has_more":{"type":"boolean"},
"search_id":{"type":"string"},"suggestions":{"type":"array","items":{"type":"string"}},"timing":{"type":"object"},
"queries":{"type":"array"},
"results":{"type":"array","items":{"type":"object","required":["rank","url","title","snippet","published","score",
 "relative_score","engines","placements"],"properties":{"rank":{"type":"integer"},"url":{"type":"string"},
 "title":{"type":"string"},"snippet":{"type":"string"},"published":{"type":["string","null"]},
 "score":{"type":"number"},"relative_score":{"type":"number"},"moved_from":{"type":"integer"},
 "online_score":{"type":"number"},"engines":{"type":"array","items":{"type":"string"}},
 "placements":{"type":"array","items":{"type":"object","required":["feature","rank"],"properties":{
  "feature":{"type":"string"},"rank":{"type":"integer"}}}},"explanation":{"type":"array"}}}},
"failed":{"type":"array","items":{"type":"object","required":["feature","engine","failure"]}},
"fusion":{"type":"object","required":["domain","method","model","version","notice","features"],"properties":{
 "auto":{"type":"object","required":["chosen","queries"]}}}},
"examples":[{"query":"ada","slots":{},"results":[{"rank":1,"url":"http://a.example/","title":"A","snippet":"a",
 "published":null,"score":0.016,"relative_score":1,"engines":["one"],"placements":[{"feature":"plain@one","rank":1}]}],
 "total":1,"has_more":false,"suggestions":[],"failed":[],"fusion":{"domain":"pages","method":"rrf","model":null,
 "version":null,"notice":null,"features":["plain@one"]},"timing":{"fetch_ms":12.5,"fuse_ms":0.1}}]})";

constexpr std::string_view kFuseAnswer = R"({"type":"object","properties":{
"results":{"type":"array","items":{"type":"object","required":["rank","id","score","relative_score","lists"],
 "properties":{"rank":{"type":"integer"},"id":{"type":"string"},"url":{"type":"string"},"score":{"type":"number"},
 "relative_score":{"type":"number"},"title":{"type":"string"},"snippet":{"type":"string"},"fields":{},
 "moved_from":{"type":"integer"},"online_score":{"type":"number"},
 "lists":{"type":"array","items":{"type":"object","required":["name","rank"],"properties":{"name":{"type":"string"},
  "rank":{"type":"integer"}}}},"explanation":{"type":"array"}}}},
"total":{"type":"integer"},"fusion":{"type":"object","required":["method"]},
"notices":{"type":"array","items":{"type":"string"}},"search_id":{"type":"string"},
"answers":{"type":"array","description":"of a batch, instead of all others"}},
"examples":[{"results":[{"rank":1,"id":"d1","score":0.016,"relative_score":1,"lists":[{"name":"bm25","rank":1}]}],
 "total":1,"fusion":{"method":"rrf","options":{"k":60}}}]})";

constexpr std::string_view kFeedbackAnswer = R"({"type":"object","required":["outcome"],
"properties":{"outcome":{"enum":["recorded","duplicate"]}},"examples":[{"outcome":"recorded"}]})";

constexpr std::string_view kPreviewAnswer = R"({"type":"object","required":["expansions"],"properties":{
"expansions":{"type":"array","items":{"type":"object","required":["template","engine","query"],"properties":{
 "template":{"type":"string"},"engine":{"type":"string"},"query":{"type":"string"}}}},
"lists":{"type":"array"},"fusion":{"type":"string"},"results":{"type":"array"}},
"examples":[{"expansions":[{"template":"plain","engine":"one","query":"ada"}]}]})";

constexpr std::string_view kSavedAnswer = R"({"type":"object","required":["etag"],
"properties":{"etag":{"type":"string"}},"examples":[{"etag":"0123456789abcdef0123456789abcdef"}]})";

constexpr std::string_view kVersionsAnswer =
    R"({"type":"object","required":["domain","versions"],"properties":{
"domain":{"type":"string"},"versions":{"type":"array","items":{"type":"object","required":["number","author","at"],
 "properties":{"number":{"type":"integer"},"author":{"type":"string"},"at":{"type":"integer"}}}}},
"examples":[{"domain":"pages","versions":[{"number":1,"author":"","at":1700000000}]}]})";

struct AnswerSchema {
  std::string_view method;
  std::string_view pattern;
  std::string_view schema;
};

constexpr AnswerSchema kAnswerSchemas[] = {
    {"POST", "/v1/search", kSearchAnswer},
    {"POST", "/v1/fuse", kFuseAnswer},
    {"POST", "/v1/feedback", kFeedbackAnswer},
    {"POST", "/v1/templates/{domain}/preview", kPreviewAnswer},
    {"PUT", "/v1/templates/{domain}", kSavedAnswer},
    {"POST", "/v1/templates/{domain}/versions/{number}/revert", kSavedAnswer},
    {"GET", "/v1/templates/{domain}/versions", kVersionsAnswer},
};

constexpr std::string_view kHtmlAnswer[] = {"text/html"};
constexpr std::string_view kJsonAnswer[] = {"application/json"};
constexpr std::string_view kSearchAnswers[] = {"text/html", "application/json", "text/csv",
                                               "application/rss+xml"};
constexpr std::string_view kStreamAnswer[] = {"text/event-stream"};
constexpr std::string_view kYamlAnswer[] = {"application/yaml"};
constexpr std::string_view kCompletions[] = {"application/x-suggestions+json"};
constexpr std::string_view kOpenSearch[] = {"application/opensearchdescription+xml"};
constexpr std::string_view kTextAnswer[] = {"text/plain"};
constexpr std::string_view kStaticAnswers[] = {"text/css", "text/javascript", "image/svg+xml"};

/// What a route's body may be; empty where it takes none.
std::span<const BodySchema> request_bodies(const Route& route) {
  for (const Bodies& row : kBodies)
    if (row.method == route.method && row.pattern == route.pattern)
      return {row.bodies, row.bodies[1].media_type.empty() ? std::size_t{1} : std::size_t{2}};
  return {};
}

/// The media types of a route's answers with status 200.
std::span<const std::string_view> answer_types(const Route& route) {
  if (route.name == "search") return kSearchAnswers;
  if (route.name == "static") return kStaticAnswers;
  if (route.name == "autocompleter") return kCompletions;
  if (route.name == "opensearch") return kOpenSearch;
  if (route.name == "openapi") return kJsonAnswer;
  if (route.pattern == "/v1/templates/{domain}" && route.method == "GET") return kYamlAnswer;
  if (route.name == "v1_stream") return kStreamAnswer;
  if (route.rules.dialect == Dialect::page) return kHtmlAnswer;
  return route.rules.dialect == Dialect::plain ? std::span<const std::string_view>(kTextAnswer)
                                               : std::span<const std::string_view>(kJsonAnswer);
}

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

Json schema_of(std::string_view text) {
  auto schema = parse_json(text, "schema");
  require(schema.has_value(), "a schema is JSON");
  return std::move(*schema);
}

/// What an answer of one media type is.
JsonObject answer_content(const Route& route, std::string_view type) {
  for (const AnswerSchema& row : kAnswerSchemas)
    if (row.method == route.method && row.pattern == route.pattern && type == kJson)
      return JsonObject{{"schema", schema_of(row.schema)}};
  return {};
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
    content[body.media_type] = JsonObject{{"schema", schema_of(body.schema)}};
  if (!content.empty()) operation["requestBody"] = JsonObject{{"content", std::move(content)}};
  JsonObject failure{{"description", "what is wrong, in the dialect's own shape"}};
  failure["content"] = JsonObject{{error_type(route.rules.dialect), JsonObject{}}};
  JsonObject answers;
  for (const std::string_view type : answer_types(route)) answers[type] = answer_content(route, type);
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
