#include <catch2/catch.hpp>

#include "core/json.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

const std::string kStateless = "MCP-Protocol-Version: 2026-07-28\r\n";
const std::string kMeta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})";

struct McpReply {
  int status = 0;
  JsonObject body;
};

McpReply call(TestServer& server, const std::string& body, const std::string& headers = "") {
  const std::string response = server.post("/mcp", "application/json", body, headers);
  McpReply reply{status_in(response), {}};
  if (const auto value = parse_json(body_in(response), "reply"); value.has_value() && value->is_object())
    reply.body = value->as_object();
  return reply;
}

int error_of(const McpReply& reply) {
  const Json* error = reply.body.if_contains("error");
  return error == nullptr ? 0 : error->at("code").to_number<int>();
}

std::string rpc(const std::string& method, const std::string& params, const std::string& id = "1") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":{)" + params + "}}";
}

}  // namespace

TEST_CASE("The session form of MCP: initialize, list, call, ping", "[service][mcp]") {
  TestServer server;
  for (const std::string version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    const auto hello =
        call(server, rpc("initialize", R"("protocolVersion":")" + version + R"(","capabilities":{})"));
    CHECK(hello.status == 200);
    CHECK(hello.body.at("result").at("protocolVersion") == version.c_str());
    CHECK(hello.body.at("result").at("capabilities").at("tools").is_object());
  }
  const auto newer = call(server, rpc("initialize", R"("protocolVersion":"2099-01-01")"));
  CHECK(newer.body.at("result").at("protocolVersion") == "2025-11-25");
  CHECK(call(server, R"({"jsonrpc":"2.0","method":"notifications/initialized"})").status == 202);
  const std::string version = "MCP-Protocol-Version: 2025-11-25\r\n";
  CHECK(call(server, rpc("ping", ""), version).body.at("result").as_object().empty());
  const auto tools = call(server, rpc("tools/list", ""), version);
  REQUIRE(tools.body.at("result").at("tools").as_array().size() == 2);
  CHECK(tools.body.at("result").at("tools").as_array()[0].at("name") == "web_search");
  const auto found = call(
      server, rpc("tools/call", R"("name":"web_search","arguments":{"query":"ada","limit":2})"), version);
  CHECK_FALSE(found.body.at("result").at("isError").as_bool());
  CHECK(found.body.at("result").at("structuredContent").at("results").as_array().size() == 2);
  const auto domains = call(server, rpc("tools/call", R"("name":"list_domains","arguments":{})"), version);
  CHECK(domains.body.at("result").at("structuredContent").at("domains").as_array()[0].at("name") == "pages");
}

TEST_CASE("The stateless form of MCP: discover, list, call", "[service][mcp]") {
  TestServer server;
  const auto discovered =
      call(server, rpc("server/discover", kMeta), kStateless + "Mcp-Method: server/discover\r\n");
  CHECK(discovered.status == 200);
  const JsonObject& result = discovered.body.at("result").as_object();
  CHECK(result.at("supportedVersions").as_array()[0] == "2026-07-28");
  CHECK(result.at("resultType") == "complete");
  CHECK(result.contains("ttlMs"));
  CHECK(result.contains("cacheScope"));
  CHECK(result.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name") == "metafuse");
  const auto tools = call(server, rpc("tools/list", kMeta), kStateless + "Mcp-Method: tools/list\r\n");
  CHECK(tools.body.at("result").at("cacheScope") == "public");
  const auto found =
      call(server, rpc("tools/call", R"("name":"web_search","arguments":{"query":"ada"},)" + kMeta),
           kStateless + "Mcp-Method: tools/call\r\nMcp-Name: web_search\r\n");
  CHECK(found.status == 200);
  CHECK(found.body.at("result").at("resultType") == "complete");
}

TEST_CASE("MCP's errors have their codes and statuses", "[service][mcp]") {
  TestServer server;
  const auto expect = [&](const std::string& body, const std::string& headers, int status, int code) {
    INFO(body << headers);
    const McpReply reply = call(server, body, headers);
    CHECK(reply.status == status);
    CHECK(error_of(reply) == code);
  };
  const std::string version = "MCP-Protocol-Version: 2025-06-18\r\n";
  expect("{", "", 400, -32700);
  expect(R"({"id":1,"method":"ping"})", "", 400, -32600);
  expect(R"({"jsonrpc":"2.0","id":{},"method":"ping"})", "", 400, -32600);
  expect(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})", "", 400, -32600);
  expect("[" + rpc("ping", "") + "]", version, 400, -32600);
  expect(rpc("no/such", ""), version, 200, -32601);
  expect(rpc("tools/call", R"("name":"none","arguments":{})"), version, 200, -32602);
  expect(rpc("tools/call", R"("arguments":{})"), version, 200, -32602);
  expect(rpc("ping", ""), "MCP-Protocol-Version: 1999-01-01\r\n", 400, -32022);
  expect(rpc("ping", ""), "MCP-Protocol-Version: 2\xff\r\n", 400, -32022);  // said back as UTF-8
  expect(rpc("tools/list", kMeta), kStateless, 400, -32020);
  expect(rpc("tools/list", kMeta), kStateless + "Mcp-Method: tools/call\r\n", 400, -32020);
  expect(rpc("tools/list", kMeta), "Mcp-Method: tools/list\r\n", 400, -32020);
  expect(rpc("tools/list", ""), kStateless + "Mcp-Method: tools/list\r\n", 400, -32020);
  expect(rpc("tools/call", R"("name":"web_search","arguments":{},)" + kMeta),
         kStateless + "Mcp-Method: tools/call\r\nMcp-Name: list_domains\r\n", 400, -32020);
  expect(rpc("tools/list", R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"})"),
         kStateless + "Mcp-Method: tools/list\r\n", 400, -32022);
  expect(rpc("initialize", kMeta), kStateless + "Mcp-Method: initialize\r\n", 404, -32601);
  const McpReply wrong =
      call(server, rpc("tools/call", R"("name":"web_search","arguments":{"wat":1})"), version);
  CHECK(wrong.body.at("result").at("isError").as_bool());
}

TEST_CASE("MCP refuses foreign origins, other methods and other types", "[service][mcp]") {
  TestServer server;
  CHECK(call(server, rpc("ping", ""), "Origin: http://evil.example\r\n").status == 403);
  CHECK(call(server, rpc("ping", ""), "Origin: http://localhost\r\n").status == 200);
  CHECK(status_in(server.get("/mcp")) == 405);
  CHECK(status_in(server.post("/mcp", "text/plain", rpc("ping", ""))) == 415);
}
