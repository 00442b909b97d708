#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/encoding.h"
#include "core/json.h"
#include "core/result_kinds.h"
#include "service/router.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return text;
}

JsonObject description(TestServer& server) {
  return parse_json(body_in(server.get("/openapi.json")), "openapi").value().as_object();
}

/// The schema or parameter that `value` refers to by "#/components/KIND/NAME", or itself.
const JsonObject& resolved(const JsonObject& api, const Json& value) {
  const Json* reference = value.as_object().if_contains("$ref");
  if (reference == nullptr) return value.as_object();
  const std::string_view path = reference->as_string();
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t kind = path.rfind('/', name - 2) + 1;
  return api.at("components").at(path.substr(kind, name - 1 - kind)).at(path.substr(name)).as_object();
}

/// The properties of the JSON body that a path's POST takes; the first alternative's where there are several.
JsonObject properties_of(const JsonObject& api, const std::string& path) {
  const Json& post = api.at("paths").at(path).at("post");
  const Json* schema = &post.at("requestBody").at("content").at("application/json").at("schema");
  if (const Json* several = schema->as_object().if_contains("anyOf")) schema = &several->at(0);
  return resolved(api, *schema).at("properties").as_object();
}

/// The first difference of a value from a schema (type, const, enum, pattern, anyOf, required, properties,
/// additionalProperties, items, minimum, maximum), or "".
std::string difference(const JsonObject& api, const Json& value, const Json& schema,
                       const std::string& place) {
  const JsonObject& rules = resolved(api, schema);
  if (const Json* several = rules.if_contains("anyOf")) {
    std::string all;
    for (const Json& one : several->as_array()) {
      const std::string wrong = difference(api, value, one, place);
      if (wrong.empty()) return {};
      all += wrong + "; ";
    }
    return all;
  }
  const auto is_of = [&](std::string_view type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "integer" && (value.is_int64() || value.is_uint64())) ||
           (type == "boolean" && value.is_bool()) || (type == "null" && value.is_null());
  };
  if (const Json* type = rules.if_contains("type")) {
    bool fits = type->is_string() && is_of(type->as_string());
    if (type->is_array())
      for (const Json& one : type->as_array()) fits = fits || is_of(one.as_string());
    if (!fits) return place + " is no " + to_text(*type);
  }
  if (const Json* only = rules.if_contains("const"); only != nullptr && value != *only)
    return place + " is not " + to_text(*only);
  if (const Json* allowed = rules.if_contains("enum"))
    if (std::find(allowed->as_array().begin(), allowed->as_array().end(), value) == allowed->as_array().end())
      return place + " is none of " + to_text(*allowed);
  if (const Json* pattern = rules.if_contains("pattern"); pattern != nullptr && value.is_string())
    if (!std::regex_search(value.as_string().c_str(), std::regex(pattern->as_string().c_str())))
      return place + " does not match " + to_text(*pattern);
  for (const char* bound : {"minimum", "maximum"})
    if (const Json* limit = rules.if_contains(bound); limit != nullptr && value.is_number()) {
      const double off = value.to_number<double>() - limit->to_number<double>();
      if (std::string_view(bound) == "minimum" ? off < 0 : off > 0) return place + " is beyond its " + bound;
    }
  if (const Json* required = rules.if_contains("required"))
    for (const Json& name : required->as_array())
      if (!value.as_object().contains(name.as_string()))
        return place + " lacks " + std::string(name.as_string());
  const Json* properties = rules.if_contains("properties");
  const Json* others = rules.if_contains("additionalProperties");
  const bool takes_any = others != nullptr && *others == true;
  if (value.is_object() && (properties != nullptr || (others != nullptr && others->is_object())))
    for (const auto& [name, member] : value.as_object()) {
      const Json* rule = properties == nullptr ? nullptr : properties->as_object().if_contains(name);
      if (rule == nullptr && others != nullptr && others->is_object()) rule = others;
      if (rule == nullptr && takes_any) continue;
      if (rule == nullptr) return place + " has the member " + std::string(name) + ", which is not described";
      if (auto wrong = difference(api, member, *rule, place + "." + std::string(name)); !wrong.empty())
        return wrong;
    }
  if (const Json* items = rules.if_contains("items"); items != nullptr && value.is_array())
    for (const Json& item : value.as_array())
      if (auto wrong = difference(api, item, *items, place + "[]"); !wrong.empty()) return wrong;
  return {};
}

/// One request, named by the operation that describes it.
struct Asked {
  std::string id;  ///< of the operation
  std::string target;
  std::string type = {};
  std::string body = {};
  std::string headers = {};
};

/// An operation and its method in capitals.
struct FoundOperation {
  std::string method;
  const Json* operation = nullptr;
};
FoundOperation operation_named(const JsonObject& api, const std::string& id) {
  for (const auto& [path, methods] : api.at("paths").as_object())
    for (const auto& [method, operation] : methods.as_object())
      if (operation.at("operationId") == Json(id)) return {upper(std::string(method)), &operation};
  return {};
}

std::string header_of(const std::string& response, const std::string& name) {
  const std::size_t at = response.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return response.substr(begin, response.find_first_of(";\r", begin) - begin);
}

/// Sends a request and compares it and the answer with their descriptions.
Json checked(TestServer& server, const JsonObject& api, const Asked& asked) {
  INFO(asked.id << ' ' << asked.target << ' ' << asked.body);
  const auto [method, operation] = operation_named(api, asked.id);
  REQUIRE(operation != nullptr);
  if (asked.type == "application/json" && !asked.body.empty()) {
    const Json& body = operation->at("requestBody").at("content").at(asked.type);
    CHECK(difference(api, *parse_json(asked.body, "body"), body.at("schema"), "request") == "");
  }
  const std::string answer = method == "GET"
                                 ? server.get(asked.target, asked.headers)
                                 : server.post(asked.target, asked.type, asked.body, asked.headers, method);
  INFO(answer.substr(0, 3000));
  const JsonObject& responses = operation->at("responses").as_object();
  const int status = status_in(answer);
  const Json* response = responses.if_contains(std::to_string(status));
  if (response == nullptr) response = responses.if_contains(std::to_string(status / 100) + "XX");
  REQUIRE(response != nullptr);
  REQUIRE(status < 400);
  const Json* content = response->as_object().if_contains("content");
  if (content == nullptr) return {};
  const std::string type = header_of(answer, "Content-Type");
  INFO(type);
  REQUIRE(content->as_object().contains(type));
  if (type != "application/json" && type != "application/x-suggestions+json") return {};
  Json value = *parse_json(body_in(answer), "answer");
  CHECK(difference(api, value, content->at(type).at("schema"), "answer") == "");
  return value;
}

}  // namespace

TEST_CASE("Every operation describes its answers with valid examples and its authorisation",
          "[service][openapi]") {
  TestServer server;
  const JsonObject api = description(server);
  CHECK(api.at("servers").at(0).at("url") == "http://localhost");
  for (const auto& [path, methods] : api.at("paths").as_object())
    for (const auto& [method, operation] : methods.as_object()) {
      INFO(std::string(method) << ' ' << std::string(path));
      CHECK(operation.as_object().contains("security"));
      CHECK(operation.at("tags").as_array().size() == 1);
      std::size_t answers = 0;
      for (const auto& [status, response] : operation.at("responses").as_object()) {
        const Json* content = response.as_object().if_contains("content");
        answers += status[0] == '2' || status[0] == '3' ? 1 : 0;
        if (content == nullptr) continue;
        for (const auto& [type, media] : content->as_object()) {
          INFO(std::string(type));
          REQUIRE(media.as_object().contains("schema"));
          // POST /search answers in two dialects: each of them has its example
          if (media.at("schema").as_object().contains("anyOf") && !media.as_object().contains("example"))
            continue;
          REQUIRE(media.as_object().contains("example"));
          CHECK(difference(api, media.at("example"), media.at("schema"), "example") == "");
        }
      }
      CHECK(answers > 0);
      if (const Json* body = operation.as_object().if_contains("requestBody"))
        for (const auto& [type, media] : body->at("content").as_object())
          if (const Json* example = media.as_object().if_contains("example"))
            CHECK(difference(api, *example, media.at("schema"), "request") == "");
    }
}

TEST_CASE("Answers match their schemas in /openapi.json", "[service][openapi]") {
  const std::string key = "Authorization: Bearer key\r\n";
  TestServer server(TestServer::default_answer,
                    "store: metafuse.db\nkeys: [{name: all, roles: [search, judge, admin], sha256: " +
                        sha256_hex("key") + "}]\n");
  const JsonObject api = description(server);
  const std::string json = "application/json";
  const std::string form = "application/x-www-form-urlencoded";
  const std::string templates = "/v1/templates/pages";
  const auto check = [&](Asked asked) {
    asked.headers += key;
    return checked(server, api, asked);
  };
  const Json found = check({"post_v1_search", "/v1/search", json, R"({"query":"ada","explain":true})"});
  const std::string id(found.at("search_id").as_string());
  const Asked asked[] = {
      {"get", "/"},
      {"get_search", "/search?q=ada"},
      {"get_search", "/search?q=ada&format=json&explain=1"},
      {"get_search", "/search?q=ada&format=csv"},
      {"get_search", "/search?q=ada&format=rss"},
      {"get_search", "/search"},
      {"post_search", "/search", json, R"({"query":"ada","include_favicon":true})"},
      {"post_search", "/search", form, "q=ada&format=json"},
      {"post_search", "/search", form, "q=ada"},
      {"post_extract", "/extract", json, R"({"urls":["http://10.0.0.1/"]})"},
      {"post_openwebui_search", "/openwebui/search", json, R"({"query":"ada","count":2})"},
      {"post_openwebui_search", "/openwebui/search", json, R"({"queries":["ada","lovelace"]})"},
      {"post_openwebui_extract", "/openwebui/extract", json, R"({"urls":["http://10.0.0.1/"]})"},
      {"post_retrieval", "/retrieval", json, R"({"knowledge_id":"pages","query":"ada"})"},
      {"post_retrieval", "/retrieval", json,
       R"({"query":"ada","retrieval_setting":{"top_k":2,"score_threshold":null}})"},
      {"post_perplexity_search", "/perplexity/search", json, R"({"query":["ada","lovelace"]})"},
      {"post_v1_rerank", "/v1/rerank", json,
       R"({"query":"a","documents":["a","b"],"return_documents":true})"},
      {"post_v2_rerank", "/v2/rerank", json, R"({"query":"a","documents":["a",{"text":"b"}]})"},
      {"post_rerank", "/rerank", json, R"({"query":"a","texts":["a","b"],"return_text":true})"},
      {"post_v1_rerank", "/v1/rerank", json, R"({"query":"a","texts":["a","b"]})"},
      {"post_mcp", "/mcp", json, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"},
      {"post_mcp", "/mcp", json, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"},
      {"post_mcp", "/mcp", json, R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])"},
      {"post_v1_fuse", "/v1/fuse", json,
       R"({"lists":[{"name":"a","results":["x",{"url":"http://y.example/","title":"t","fields":1},"x"]}],"explain":true})"},
      {"post_v1_fuse", "/v1/fuse", json,
       R"({"requests":[{"lists":[{"name":"a","results":["x"]}]},{"lists":[]}]})"},
      {"post_v1_fuse", "/v1/fuse", "application/x-ndjson", R"({"lists":[{"name":"a","results":["x"]}]})"},
      {"get_v1_search_stream", "/v1/search/stream?q=ada"},
      {"post_v1_feedback", "/v1/feedback", json, R"({"search_id":")" + id + R"(","position":1})"},
      {"post_v1_feedback", "/v1/feedback", json, R"({"search_id":")" + id + R"(","position":1})"},
      {"get_v1_judgments_domain_queue", "/v1/judgments/pages/queue"},
      {"post_v1_judgments_domain_results", "/v1/judgments/pages/results", json,
       R"({"query":"ada","depth":3})"},
      {"get_v1_judgments_domain", "/v1/judgments/pages"},
      {"get_v1_analytics_domain", "/v1/analytics/pages"},
      {"get_v1_analytics_domain", "/v1/analytics/pages?format=csv&table=days"},
      {"get_judge", "/judge"},
      {"get_analytics", "/analytics"},
      {"get_v1_templates_domain", templates},
      {"post_v1_templates_domain_preview", templates + "/preview", json, R"({"query":"ada","live":true})"},
      {"put_v1_templates_domain", templates, "application/yaml", kTwoTemplates, "If-Match: *\r\n"},
      {"get_v1_templates_domain_versions", templates + "/versions"},
      {"get_v1_templates_domain_versions_number", templates + "/versions/1"},
      {"post_v1_templates_domain_versions_number_revert", templates + "/versions/1/revert", json, "",
       "If-Match: *\r\n"},
      {"get_templates", "/templates"},
      {"get_templates_domain", "/templates/pages"},
      {"post_templates_domain", "/templates/pages", form,
       "action=preview&query=ada&text=" + percent_encoded(kTwoTemplates)},
      {"get_v1_evaluation", "/v1/evaluation"},
      {"get_evaluation", "/evaluation"},
      {"get_v1_models", "/v1/models"},
      {"post_v1_models_name_reset", "/v1/models/pages/reset", json, R"({"clicks":true})"},
      {"get_models", "/models"},
      {"post_preferences", "/preferences", form, "block=a.example"},
      {"get_config", "/config"},
      {"get_autocompleter", "/autocompleter?q=ad"},
      {"get_suggest", "/suggest?q=ad", "", "", "X-Requested-With: XMLHttpRequest\r\n"},
      {"get_opensearch_xml", "/opensearch.xml"},
      {"get_openapi_json", "/openapi.json"},
      {"get_docs", "/docs"},
      {"get_healthz", "/healthz"},
      {"get_readyz", "/readyz"},
      {"get_metrics", "/metrics"},
      {"get_static_file", "/static/metafuse.css"},
  };
  for (const Asked& one : asked) check(one);
}

TEST_CASE("A refused search matches the failure that is described", "[service][openapi]") {
  TestServer server;
  const JsonObject api = description(server);
  const Json& content =
      operation_named(api, "post_search").operation->at("responses").at("4XX").at("content");
  const Json& schema = content.at("application/json").at("schema");
  const auto compare = [&](const std::string& type, const std::string& body) {
    const std::string answer = server.post("/search", type, body);
    CHECK(status_in(answer) == 400);
    CHECK(difference(api, *parse_json(body_in(answer), "answer"), schema, "answer") == "");
  };
  compare("application/json", "{}");
  compare("application/x-www-form-urlencoded", "format=json");
}

TEST_CASE("The examples of /v1/fuse are what the server answers to its examples", "[service][openapi]") {
  TestServer server;
  const JsonObject api = description(server);
  const Json* fuse = operation_named(api, "post_v1_fuse").operation;
  REQUIRE(fuse != nullptr);
  const auto example = [&](const Json& content, const std::string& type) {
    const Json& given = content.at("content").at(type).at("example");
    return given.is_string() ? std::string(given.as_string()) : to_text(given);
  };
  for (const std::string type : {"application/json", "application/x-ndjson"}) {
    const std::string asked = example(fuse->at("requestBody"), type);
    CHECK(body_in(server.post("/v1/fuse", type, asked)) == example(fuse->at("responses").at("200"), type));
  }
  const std::string page = body_in(server.get("/docs"));
  const std::size_t begin = page.find("id=\"post_v1_fuse\"");
  const std::string part = page.substr(begin, page.find("</details>", begin) - begin);
  for (const char* member : {"<code>lists</code>", "<code>requests</code>", "<code>total</code>"})
    CHECK(part.find(member) != std::string::npos);
}

TEST_CASE("The API page names every operation and loads nothing from other servers", "[service][openapi]") {
  TestServer server;
  const JsonObject api = description(server);
  const std::string page = body_in(server.get("/docs"));
  for (const auto& [path, methods] : api.at("paths").as_object())
    for (const auto& [method, operation] : methods.as_object()) {
      INFO(std::string(path));
      CHECK(page.find("id=\"" + std::string(operation.at("operationId").as_string()) + "\"") !=
            std::string::npos);
    }
  CHECK(page.find("1 to 200, default 30") != std::string::npos);
  for (const std::string_view loaded : {"src=\"http", "href=\"http", "url(http", "@import"})
    CHECK(page.find(loaded) == std::string::npos);
  CHECK(page.size() < 300'000);
}

TEST_CASE("The description /openapi.json has exactly the server's routes with unique operation ids",
          "[service][openapi]") {
  TestServer server;
  const JsonObject api = description(server);
  CHECK(api.at("openapi") == Json("3.1.0"));
  std::set<std::string> ids;
  std::size_t operations = 0;
  for (const auto& [path, methods] : api.at("paths").as_object())
    for (const auto& [method, operation] : methods.as_object()) {
      ++operations;
      const auto match = service::match_route(upper(std::string(method)), std::string(path));
      REQUIRE(match.route != nullptr);
      CHECK(match.route->pattern == std::string_view(path));
      CHECK(operation.at("summary") == Json(match.route->summary));
      CHECK(ids.insert(std::string(operation.at("operationId").as_string())).second);
      const bool has_body = operation.as_object().contains("requestBody");
      CHECK((method == "get" ? !has_body : has_body || path.ends_with("/revert")));
    }
  CHECK(operations == service::routes().size());
}

TEST_CASE("Request bodies are read as /openapi.json describes them", "[service][openapi]") {
  TestServer server(TestServer::default_answer,
                    "keys: [{name: all, roles: [search, admin], sha256: " + sha256_hex("key") + "}]\n");
  const std::string key = "Authorization: Bearer key\r\n";
  const JsonObject api = description(server);
  for (const std::string path : {"/v1/search", "/search", "/v1/fuse", "/v1/templates/{domain}/preview"}) {
    std::string target = path;
    if (const std::size_t at = target.find("{domain}"); at != std::string::npos)
      target.replace(at, 8, "pages");
    const JsonObject properties = properties_of(api, path);
    for (const auto& [name, schema] : properties) {
      const Json* examples = schema.as_object().if_contains("examples");
      if (examples == nullptr) continue;
      INFO(path << " " << std::string(name));
      JsonObject body{{"query", "ada"}};
      if (name == "slots") body.clear();
      if (path == "/v1/fuse") body["lists"] = properties.at("lists").at("examples").at(0);
      body[name] = examples->at(0);
      const std::string answer = server.post(target, "application/json", to_text(body), key);
      INFO(answer);
      CHECK(status_in(answer) == 200);
      if (name == "query" || name == "live" || path == "/search") continue;
      body[name] = JsonArray(1, JsonArray());  // no member is of that type
      CHECK(status_in(server.post(target, "application/json", to_text(body), key)) == 400);
    }
  }
  CHECK(status_in(server.post("/v1/search", "application/json", R"({"query":"ada","wat":1})")) == 400);
}

TEST_CASE("Every parameter of a search and both forms of documents are described", "[service][openapi]") {
  TestServer server;
  const JsonObject api = description(server);
  const std::string names[] = {"q",        "domain",        "pageno",     "limit",
                               "explain",  "verbatim",      "all_lists",  "lists",
                               "language", "min_relevance", "time_range", "safesearch",
                               "engines",  "fusion",        "categories", "timeout_limit"};
  for (const char* id : {"get_search", "get_v1_search_stream"}) {
    std::set<std::string> described;
    for (const Json& parameter : operation_named(api, id).operation->at("parameters").as_array())
      described.emplace(resolved(api, parameter).at("name").as_string());
    for (const std::string& name : names) {
      INFO(id << ' ' << name);
      CHECK(described.contains(name));
    }
  }
  const JsonObject& form = api.at("components").at("schemas").at("SearxngForm").at("properties").as_object();
  for (const std::string& name : names) CHECK(form.contains(name));
  const Json one = *parse_json(R"({"url":"https://a.example/","title":"A"})", "document");
  for (const char* id : {"put_v1_documents_domain", "post_v1_documents_domain"}) {
    const Json& schema = operation_named(api, id)
                             .operation->at("requestBody")
                             .at("content")
                             .at("application/json")
                             .at("schema");
    CHECK(difference(api, one, schema, "body") == "");
    CHECK(difference(api, JsonArray{one, one}, schema, "body") == "");
    CHECK(difference(api, JsonArray{1}, schema, "body") != "");
  }
}

TEST_CASE("An operation is described as open only if a configuration can open it", "[service][openapi]") {
  TestServer server(TestServer::default_answer, "metrics: open\n");
  const JsonObject api = description(server);
  const std::string page = body_in(server.get("/docs"));
  for (const auto& [path, methods] : api.at("paths").as_object())
    for (const auto& [method, operation] : methods.as_object()) {
      INFO(std::string(method) << ' ' << std::string(path));
      const JsonArray& security = operation.at("security").as_array();
      const bool is_open = security.empty() || security.back().as_object().empty();
      std::string target(path);
      for (std::size_t at = target.find('{'); at != std::string::npos; at = target.find('{'))
        target.replace(at, target.find('}') + 1 - at, "pages");
      const std::string answer = server.post(target, "text/plain", "", "", upper(std::string(method)));
      CHECK((status_in(answer) == 401) == !is_open);
      CHECK(operation.as_object().contains("x-role") == !is_open);
    }
  CHECK(page.find("Needs a key with the role <code>write</code>") != std::string::npos);
}

TEST_CASE("The description has every kind of result and every detail", "[service][openapi][kinds]") {
  TestServer server;
  const JsonObject api = description(server);
  const JsonObject& schemas = api.at("components").at("schemas").as_object();
  const JsonObject& details = schemas.at("ResultDetails").at("properties").as_object();
  const JsonObject& of_searxng = schemas.at("SearxngResult").at("properties").as_object();
  CHECK(details.size() == result_details().size());
  for (const DetailRow& row : result_details()) {
    INFO(row.name);
    CHECK(details.contains(row.name));
    CHECK((row.searxng_name.empty() || of_searxng.contains(row.searxng_name)));
  }
  const auto texts = [](const Json& values) {
    std::set<std::string> out;
    for (const Json& value : values.as_array()) out.emplace(value.as_string());
    return out;
  };
  std::set<std::string> kinds, templates;
  for (const ResultKindRow& row : result_kinds()) {
    if (row.kind != ResultKind::page) kinds.emplace(row.name);
    templates.emplace(row.searxng_template);
  }
  CHECK(texts(schemas.at("SearchResult").at("properties").at("kind").at("enum")) == kinds);
  CHECK(texts(of_searxng.at("template").at("enum")) == templates);
}
