#include "service/api/mcp_stdio.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "core/digest.h"
#include "core/json.h"
#include "service/serve.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

/// The replies that a client reads after it has written these lines and closed its end.
class StdioExchange {
 public:
  template <class Serve>
  StdioExchange(const std::vector<std::string>& lines, const Serve& serve) {
    int in[2];
    int out[2];
    REQUIRE(::pipe(in) == 0);
    REQUIRE(::pipe(out) == 0);
    std::thread writer([&] {
      for (const std::string& line : lines) send(in[1], line + "\n");
      ::close(in[1]);
    });
    std::thread server([&] {
      outcome = serve(in[0], out[1]);
      ::close(out[1]);
    });
    std::string text;
    char buffer[65536];
    for (ssize_t got = ::read(out[0], buffer, sizeof buffer); got > 0;
         got = ::read(out[0], buffer, sizeof buffer))
      text.append(buffer, static_cast<std::size_t>(got));
    writer.join();
    server.join();
    for (const int end : {in[0], out[0]}) ::close(end);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      REQUIRE(end != std::string::npos);
      replies.push_back(parse_json(text.substr(begin, end - begin), "reply").value().as_object());
      begin = end + 1;
    }
  }

  /// The reply to the message with that id.
  const JsonObject& to(int id) const {
    for (const JsonObject& reply : replies)
      if (reply.at("id") == Json(id)) return reply;
    FAIL("no reply to " << id);
    return replies.front();
  }

  std::vector<JsonObject> replies;
  Result<void> outcome = {};

 private:
  static void send(int end, std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::write(end, text.data(), text.size());
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
};

std::string line_of(int id, const std::string& method, const std::string& params = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method + R"(","params":{)" +
         params + "}}";
}

const std::string kModern = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})";

/// A conversation in the session form and the stateless form of MCP, with mistakes in it.
const std::vector<std::string> kConversation = {
    line_of(1, "initialize", R"("protocolVersion":"2025-06-18","capabilities":{})"),
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
    "",
    line_of(2, "tools/list"),
    line_of(3, "tools/call", R"("name":"search_pages","arguments":{"query":"ada"})"),
    line_of(4, "server/discover", kModern),
    line_of(5, "tools/call", R"("name":"search_pages","arguments":{"query":"ada"},)" + kModern),
    line_of(6, "no/such"),
    line_of(7, "tools/list", R"("_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"})"),
    "{damaged",
    "[" + line_of(9, "ping") + "]",
    std::string(2 << 20, ' ') + "x",
    line_of(8, "ping"),
};

void check_conversation(const StdioExchange& said) {
  REQUIRE(said.outcome.has_value());
  CHECK(said.replies.size() == 11);  // nothing for the notification and the empty line
  CHECK(said.to(1).at("result").at("protocolVersion") == "2025-06-18");
  CHECK(said.to(2).at("result").at("tools").at(0).at("name") == "search_pages");
  const Json& found = said.to(3).at("result").at("content").at(0).at("text");
  CHECK(std::string_view(found.as_string()).starts_with("1. "));
  CHECK(said.to(4).at("result").at("resultType") == "complete");
  CHECK(said.to(5).at("result").at("resultType") == "complete");
  CHECK(said.to(6).at("error").at("code") == -32601);
  CHECK(said.to(7).at("error").at("code") == -32022);
  CHECK(said.to(8).at("result").as_object().empty());
  int unread = 0, refused = 0;
  for (const JsonObject& reply : said.replies) {
    if (!reply.at("id").is_null()) continue;
    unread += reply.at("error").at("code") == -32700 ? 1 : 0;
    refused += reply.at("error").at("code") == -32600 ? 1 : 0;
  }
  CHECK(unread == 2);   // the line that is not JSON and the line that is too long
  CHECK(refused == 1);  // the batch, which this version does not have
}

}  // namespace

TEST_CASE("MCP on standard streams speaks both forms and writes nothing but replies", "[service][mcp]") {
  TemporaryFolder folder;
  folder.write("templates/pages.yaml", kTwoTemplates);
  folder.write("metafuse.yaml", "version: 1\ntemplates: [templates/*.yaml]\nstore: metafuse.db\n");
  service::AppSource options;
  options.config = service::read_config(folder.path("metafuse.yaml")).value();
  const auto fetcher = std::make_shared<FakeFetcher>(TestServer::default_answer);
  options.load_engines = [fetcher](const service::ServerConfig&) -> Result<service::LoadedEngines> {
    return service::LoadedEngines{{"one", "two"}, fetcher, {}, {}};
  };
  check_conversation({kConversation, [&](int in, int out) {
                        return service::serve_stdio(options, {in, out, ""});
                      }});
}

TEST_CASE("MCP on standard streams can relay to a running server", "[service][mcp]") {
  TestServer server(TestServer::default_answer,
                    "needs_key: true\nkeys: [{name: agent, sha256: " + sha256_hex("agent-key") + "}]\n");
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  const auto relay = [](const std::string& to, const std::string& key) {
    return [to, key](int in, int out) { return service::relay_stdio(to, {in, out, key}); };
  };
  check_conversation({kConversation, relay(url, "agent-key")});
  check_conversation({kConversation, relay(url + "/mcp", "agent-key")});
  // a refusal has the id of the refused message
  const StdioExchange refused({line_of(1, "ping")}, relay(url, "wrong"));
  CHECK(std::string_view(refused.to(1).at("error").at("message").as_string())
            .find("does not know the API key") != std::string_view::npos);
  const StdioExchange nobody({line_of(1, "ping")}, relay("http://127.0.0.1:1", ""));
  CHECK(std::string_view(nobody.to(1).at("error").at("message").as_string()).find("is the server running?") !=
        std::string_view::npos);
  CHECK(StdioExchange({}, relay("ftp://x", "")).outcome.error().code == Code::usage);
}

TEST_CASE("A message cannot bring headers or requests of its own into the relay's",
          "[service][mcp][security]") {
  TestServer server(TestServer::default_answer);
  const auto relay = [&](const std::string& key) {
    return [&server, key](int in, int out) {
      return service::relay_stdio("http://127.0.0.1:" + std::to_string(server.port()), {in, out, key});
    };
  };
  const std::string smuggled =
      R"(x\r\nContent-Length: 0\r\n\r\nGET /v1/templates/pages HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y)";
  const StdioExchange said(
      {line_of(1, "tools/call", R"("name":")" + smuggled + "\"," + kModern),
       line_of(2, "ping" + smuggled, kModern),
       line_of(3, "ping", R"("_meta":{"io.modelcontextprotocol/protocolVersion":")" + smuggled + "\"}"),
       R"({"jsonrpc":"2.0","method":")" + smuggled + R"(","params":{)" + kModern + "}}", line_of(4, "ping")},
      relay(""));
  CHECK(said.replies.size() == 4);
  for (const int id : {1, 2, 3}) CHECK(said.to(id).at("error").at("code") == -32600);
  CHECK(said.to(4).at("result").as_object().empty());
  CHECK(server.get("/metrics").find(R"(route="v1_templates")") == std::string::npos);

  const StdioExchange refused({line_of(1, "ping")}, relay("key\r\nX: y"));
  CHECK(refused.replies.empty());
  REQUIRE_FALSE(refused.outcome.has_value());
  CHECK(refused.outcome.error().code == Code::usage);
  CHECK(refused.outcome.error().text.find("key\r") == std::string::npos);
}
