#include "service/handlers/openapi_schemas.h"

// The bodies of requests as JSON schemas. Every property has an example, which tests send: what is said here
// is what is read.
namespace metafuse::service {
namespace {

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

}  // namespace

std::span<const BodySchema> request_bodies(const Route& route) {
  for (const Bodies& row : kBodies)
    if (row.method == route.method && row.pattern == route.pattern)
      return {row.bodies, row.bodies[1].media_type.empty() ? std::size_t{1} : std::size_t{2}};
  return {};
}

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

}  // namespace metafuse::service
