#include <algorithm>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "service/base/digest.h"
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

/// The properties of the JSON body that a path's POST takes.
JsonObject properties_of(const JsonObject& api, const std::string& path) {
  const Json& post = api.at("paths").at(path).at("post");
  return post.at("requestBody")
      .at("content")
      .at("application/json")
      .at("schema")
      .at("properties")
      .as_object();
}

/// What of a value differs from a schema (type, required, properties, items, enum), or "".
std::string difference(const Json& value, const Json& schema, const std::string& place) {
  const JsonObject& rules = schema.as_object();
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
  if (const Json* allowed = rules.if_contains("enum"))
    if (std::find(allowed->as_array().begin(), allowed->as_array().end(), value) == allowed->as_array().end())
      return place + " is none of " + to_text(*allowed);
  if (const Json* required = rules.if_contains("required"))
    for (const Json& name : required->as_array())
      if (!value.as_object().contains(name.as_string()))
        return place + " lacks " + std::string(name.as_string());
  if (const Json* properties = rules.if_contains("properties"))
    for (const auto& [name, member] : value.as_object()) {
      const Json* rule = properties->as_object().if_contains(name);
      if (rule == nullptr) return place + " has the member " + std::string(name) + ", which is not described";
      if (auto wrong = difference(member, *rule, place + "." + std::string(name)); !wrong.empty())
        return wrong;
    }
  if (const Json* items = rules.if_contains("items"))
    for (const Json& item : value.as_array())
      if (auto wrong = difference(item, *items, place + "[]"); !wrong.empty()) return wrong;
  return {};
}

}  // namespace

TEST_CASE("Answers are what /openapi.json says of them, and so are its examples", "[service][openapi]") {
  TestServer server(TestServer::default_answer,
                    "store: metafuse.db\nkeys: [{name: all, roles: [search, judge, admin], sha256: " +
                        service::sha256_hex("key") + "}]\n");
  const std::string key = "Authorization: Bearer key\r\n";
  const JsonObject api = description(server);
  const auto checked = [&](const std::string& method, const std::string& path, const std::string& target,
                           const std::string& type, const std::string& body,
                           const std::string& headers = "") {
    INFO(method << ' ' << path);
    const Json& schema = api.at("paths")
                             .at(path)
                             .at(method)
                             .at("responses")
                             .at("200")
                             .at("content")
                             .at("application/json")
                             .at("schema");
    for (const Json& example : schema.at("examples").as_array())
      CHECK(difference(example, schema, "example") == "");
    const std::string answer = method == "get"
                                   ? server.get(target, key + headers)
                                   : server.post(target, type, body, key + headers, upper(method));
    INFO(answer);
    REQUIRE(status_in(answer) == 200);
    const Json value = *parse_json(body_in(answer), "answer");
    CHECK(difference(value, schema, "answer") == "");
    return value;
  };
  const std::string json = "application/json";
  const std::string versions = "/v1/templates/{domain}/versions";
  const Json found = checked("post", "/v1/search", "/v1/search", json, R"({"query":"ada","explain":true})");
  checked("post", "/v1/feedback", "/v1/feedback", json,
          R"({"search_id":")" + std::string(found.at("search_id").as_string()) + R"(","position":1})");
  checked(
      "post", "/v1/fuse", "/v1/fuse", json,
      R"({"lists":[{"name":"a","results":["x",{"url":"http://y.example/","title":"t","fields":1},"x"]}],"explain":true})");
  checked("post", "/v1/templates/{domain}/preview", "/v1/templates/pages/preview", json,
          R"({"query":"ada","live":true})");
  checked("put", "/v1/templates/{domain}", "/v1/templates/pages", "application/yaml", kTwoTemplates,
          "If-Match: *\r\n");
  checked("post", versions + "/{number}/revert", "/v1/templates/pages/versions/1/revert", json, "",
          "If-Match: *\r\n");
  checked("get", versions, "/v1/templates/pages/versions", "", "");
}

TEST_CASE("/openapi.json has every route and no other, each operation under a name of its own",
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
      CHECK_FALSE(operation.at("responses").at("200").at("content").as_object().empty());
      const bool has_body = operation.as_object().contains("requestBody");
      CHECK((method == "get" ? !has_body : has_body || path.ends_with("/revert")));
    }
  CHECK(operations == service::routes().size());
}

TEST_CASE("What /openapi.json says of a body is what is read", "[service][openapi]") {
  TestServer server(TestServer::default_answer, "keys: [{name: all, roles: [search, admin], sha256: " +
                                                    service::sha256_hex("key") + "}]\n");
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
