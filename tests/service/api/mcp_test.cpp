#include <catch2/catch.hpp>

#include "core/digest.h"
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

TEST_CASE("The session form of MCP can initialize and list and call and ping", "[service][mcp]") {
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
  REQUIRE(tools.body.at("result").at("tools").as_array().size() == 5);
  CHECK(tools.body.at("result").at("tools").as_array()[0].at("name") == "search_pages");
  const auto found =
      call(server,
           rpc("tools/call", R"("name":"search_pages","arguments":{"query":"ada","limit":2,"explain":true})"),
           version);
  CHECK_FALSE(found.body.at("result").at("isError").as_bool());
  CHECK(found.body.at("result").at("structuredContent").at("results").as_array().size() == 2);
  const auto domains = call(server, rpc("tools/call", R"("name":"list_domains","arguments":{})"), version);
  CHECK(domains.body.at("result").at("structuredContent").at("domains").as_array()[0].at("name") == "pages");
}

TEST_CASE("The stateless form of MCP can discover and list and call", "[service][mcp]") {
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
  expect(rpc("ping", ""), "MCP-Protocol-Version: 2\xff\r\n", 400, -32022);  // shown as UTF-8
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

TEST_CASE("MCP refuses foreign origins and other methods and other types", "[service][mcp]") {
  TestServer server;
  CHECK(call(server, rpc("ping", ""), "Origin: http://evil.example\r\n").status == 403);
  CHECK(call(server, rpc("ping", ""), "Origin: http://localhost\r\n").status == 200);
  CHECK(status_in(server.get("/mcp")) == 405);
  CHECK(status_in(server.post("/mcp", "text/plain", rpc("ping", ""))) == 415);
}

namespace {

/// A second domain that searches the web, beside the test server's `pages`.
const std::string kWebDomain =
    "version: 1\ndomain: wide-web\ndescription: Everything.\nsearches_web: true\nslots: {Q: {required: "
    "true}}\n"
    "templates:\n  - {id: a, engine: one, query: '{Q}'}\n";

JsonArray listed(TestServer& server, const std::string& headers = "") {
  return call(server, rpc("tools/list", ""), headers).body.at("result").at("tools").as_array();
}

std::string text_of(const McpReply& reply) {
  return std::string(reply.body.at("result").at("content").at(0).at("text").as_string());
}

McpReply search_pages(TestServer& server, const std::string& arguments) {
  return call(server, rpc("tools/call", R"("name":"search_pages","arguments":{)" + arguments + "}"));
}

}  // namespace

TEST_CASE("Each domain is a tool that describes what it searches and its slots and engines",
          "[service][mcp]") {
  TestServer server(TestServer::default_answer,
                    "keys: [{name: narrow, domains: [pages], sha256: " + sha256_hex("narrow") + "}]\n");
  const JsonArray alone = listed(server);
  REQUIRE(alone.size() == 5);
  CHECK(alone[0].at("description").as_string().find("Home pages") != std::string::npos);
  CHECK(alone[0].at("description").as_string().find("Sources: one, two") != std::string::npos);
  const JsonObject& properties = alone[0].at("inputSchema").at("properties").as_object();
  for (const char* name : {"query", "limit", "page", "time_range", "sites", "explain"})
    CHECK(properties.contains(name));
  CHECK(properties.at("slots").at("properties").at("NAME").at("description") ==
        "a name (required among the slots)");
  CHECK_FALSE(properties.at("slots").at("properties").at("NAME").as_object().contains("enum"));

  server.folder().write("templates/wide.yaml", kWebDomain);
  REQUIRE(server.app().reloader().reload().has_value());
  const JsonArray both = listed(server);
  REQUIRE(both.size() == 6);
  CHECK(both[0].at("name") == "search_pages");  // the default domain's tool comes first
  CHECK(both[1].at("name") == "web_search");
  CHECK(both[1].at("inputSchema").at("required").at(0) == "query");
  CHECK_FALSE(both[1].at("inputSchema").at("properties").as_object().contains("slots"));
  // a key for one domain sees only that domain's tool
  CHECK(listed(server, "Authorization: Bearer narrow\r\n").size() == 5);
  const auto domains = call(server, rpc("tools/call", R"("name":"list_domains","arguments":{})"),
                            "Authorization: Bearer narrow\r\n");
  CHECK(domains.body.at("result").at("structuredContent").at("domains").as_array().size() == 1);
  const auto unknown = call(server, rpc("tools/call", R"("name":"search_none","arguments":{})"));
  CHECK(unknown.body.at("error").at("message") ==
        "unknown tool: search_none; tools are search_pages, web_search, list_domains, fetch_page, search, "
        "fetch");
}

TEST_CASE("The list of domains names each one's tool, and none that only fuses callers' lists",
          "[service][mcp]") {
  TestServer server;
  server.folder().write("templates/wide.yaml", kWebDomain);
  server.folder().write("templates/rag.yaml", "version: 1\ndomain: rag\nlists: [bm25, dense]\n");
  REQUIRE(server.app().reloader().reload().has_value());
  const Json result =
      call(server, rpc("tools/call", R"("name":"list_domains","arguments":{})")).body.at("result");
  const JsonArray& domains = result.at("structuredContent").at("domains").as_array();
  REQUIRE(domains.size() == 2);
  CHECK(domains[0].at("tool") == "search_pages");
  CHECK(domains[1].at("name") == "wide-web");
  CHECK(domains[1].at("tool") == "web_search");
  const std::string text(result.at("content").at(0).at("text").as_string());
  CHECK(text.find("wide-web (tool web_search): Everything.; slots Q*\n") != std::string::npos);
  const Json config = parse_json(body_in(server.get("/config")), "config").value();
  CHECK(to_text(config.at("categories")) == R"(["pages","wide-web"])");
}

TEST_CASE("A slot with values offers them to the model, with its label", "[service][mcp]") {
  TestServer server(TestServer::default_answer, "",
                    "version: 1\ndomain: pages\nslots:\n  NAME: {required: true}\n"
                    "  PLACE: {label: University, values: [Princeton, Stanford]}\ntemplates:\n"
                    "  - {id: plain, engine: one, query: '{NAME} [{PLACE}]'}\n");
  const Json place =
      listed(server)[0].at("inputSchema").at("properties").at("slots").at("properties").at("PLACE");
  CHECK(place.at("enum") == JsonArray{"Princeton", "Stanford"});
  CHECK(place.at("title") == "University");
}

TEST_CASE("The tool web_search answers for any domain where none searches the web", "[service][mcp]") {
  TestServer server;
  const auto found =
      call(server, rpc("tools/call", R"("name":"web_search","arguments":{"query":"ada","domain":"pages"})"));
  CHECK(text_of(found).starts_with("1. "));
}

TEST_CASE("Ten results for an agent fit in 3 kB whatever the engines send", "[service][mcp]") {
  const auto long_answer = [](std::size_t url_bytes) {
    return [url_bytes](const ExpandedQuery&) {
      fetchers::FetchedList list;
      for (int i = 0; i < 30; ++i) {
        Hit hit;
        hit.url = "https://site" + std::to_string(i) + ".example/" + std::string(url_bytes, 'u');
        hit.title = std::string(300, '"') + "title";
        for (int word = 0; word < 300; ++word) hit.snippet += "\xC3\xA4 word\\ ";
        list.list.hits.push_back(hit);
      }
      return list;
    };
  };
  for (const std::size_t url_bytes : {5, 40, 120, 1000}) {
    TestServer server(long_answer(url_bytes));
    const std::string reply =
        body_in(server.post("/mcp", "application/json",
                            rpc("tools/call", R"("name":"search_pages","arguments":{"query":"ada"})")));
    INFO(url_bytes << reply);
    CHECK(reply.size() <= 3000);
    const McpReply read = search_pages(server, R"("query":"ada")");
    const std::string text = text_of(read);
    CHECK(text.find("\n10. ") != std::string::npos);
    CHECK(text.find("More: page 2") != std::string::npos);
    CHECK_FALSE(read.body.at("result").as_object().contains("structuredContent"));
    if (url_bytes < 100) {
      CHECK(reply.size() > 2500);  // the space is used
      CHECK(text.find("site9.example") != std::string::npos);
      CHECK(text.find("long URL left out") == std::string::npos);
    }
    CHECK(search_pages(server, R"("query":"ada","limit":1)").body.at("result").as_object().size() == 2);
  }
}

TEST_CASE("What a result is besides a page is told to agents", "[service][mcp][kinds]") {
  TestServer server([](const ExpandedQuery&) {
    fetchers::FetchedList list;
    const auto add = [&](const std::string& name, ResultKind kind, Details details) {
      Hit hit;
      hit.url = "https://" + name + ".example/";
      hit.title = name;
      hit.kind = kind;
      hit.details = std::move(details);
      list.list.hits.push_back(std::move(hit));
    };
    add("page", ResultKind::page, {});
    add("image", ResultKind::image, {{"image", "https://image.example/1.png"}, {"resolution", "800 x 600"}});
    add("film", ResultKind::video, {{"length", "3723"}, {"author", "Ada"}});
    add("place", ResultKind::map, {{"latitude", "52.5"}, {"longitude", "13.4"}, {"address", "Weir 1"}});
    add("paper", ResultKind::paper,
        {{"authors", "Otter; Weir"}, {"doi", "10.1/x"}, {"pdf", "https://p.example/x.pdf"}});
    return list;
  });
  const std::string text = text_of(search_pages(server, R"("query":"ada")"));
  CHECK(text.find("https://image.example/\nimage: 800 x 600, https://image.example/1.png\n") !=
        std::string::npos);
  CHECK(text.find("\nvideo: 1:02:03, Ada\n") != std::string::npos);
  CHECK(text.find("\nmap: Weir 1, 52.5, 13.4\n") != std::string::npos);
  CHECK(text.find("\npaper: Otter; Weir, 10.1/x, https://p.example/x.pdf\n") != std::string::npos);
  CHECK(text.find("page:") == std::string::npos);
}

TEST_CASE("A tool's page and sites and time range select from all results", "[service][mcp]") {
  TestServer server([](const ExpandedQuery&) {
    auto list = list_of({"a.example", "b.example", "www.c.example", "d.example"});
    list.list.hits[0].published = "2001-01-01";
    return list;
  });
  const auto text = [&](const std::string& arguments) { return text_of(search_pages(server, arguments)); };
  const std::string second = text(R"("query":"ada","limit":1,"page":2)");
  CHECK(second.starts_with("2. "));
  CHECK(second.find("b.example") != std::string::npos);
  const std::string site = text(R"("query":"ada","sites":["c.example","d.example"])");
  CHECK(site.starts_with("1. "));
  CHECK(site.find("a.example") == std::string::npos);
  CHECK(site.find("c.example") < site.find("d.example"));
  CHECK(text(R"("query":"ada","time_range":"week")").find("a.example") == std::string::npos);
  CHECK(text(R"("query":"ada","sites":["none.example"])") ==
        "No result matches the sites and the time range.\n");
  for (const std::string sites : {"", R"(,"sites":["c.example","d.example","a.example","b.example"])"})
    CHECK(text(R"("query":"ada","limit":2,"page":50)" + sites) ==
          "There is no page 50; the last result has the number 4.\n");
  for (const char* wrong :
       {R"("query":"ada","time_range":"century")", R"("query":"ada","page":0)", R"("query":"ada","limit":51)",
        R"("query":"ada","domain":"pages")", R"("limit":3)"})
    CHECK(search_pages(server, wrong).body.at("result").at("isError").as_bool());
}

TEST_CASE("An unknown key is ignored where searching is open", "[service][mcp][keys]") {
  const std::string keys =
      "limits: {failed_keys_per_minute: 2}\nkeys: [{name: k, roles: [admin, search], sha256: " +
      sha256_hex("right") + "}]\n";
  const auto post = [](TestServer& server, const std::string& key) {
    return status_in(server.post("/search", "application/json", R"({"query":"ada"})",
                                 "Authorization: Bearer " + key + "\r\n"));
  };
  TestServer open(TestServer::default_answer, keys);
  for (int i = 0; i < 10; ++i) CHECK(post(open, "tvly-dummy") == 200);
  // the same wrong key is one failure however often it is sent, so a right key still works
  CHECK(status_in(open.get("/metrics", "Authorization: Bearer right\r\n")) == 200);
  CHECK(post(open, "right") == 200);
  TestServer closed(TestServer::default_answer, keys + "needs_key: true\n");
  CHECK(post(closed, "tvly-dummy") == 401);
}
