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

}  // namespace

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
