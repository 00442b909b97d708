#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "service/router.h"
#include "tests/support/test_server.h"

// A key sees and reaches only the domains and engines that it names. This is checked on all routes, for each
// role and each scope.

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

/// A request to a route. DOMAIN stands for the name of the requested domain.
struct ScopeRow {
  std::string_view route;
  std::string_view target;
  std::string_view body = "";
  int beyond = 0;              ///< the status for a domain beyond the key's scope; 0 where none is named
  bool names_domains = false;  ///< the answer names all domains that the key may use
};

constexpr std::string_view kSearchCall =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"ada","domain":"DOMAIN"}}})";

constexpr ScopeRow kScopeRows[] = {
    {"GET /", "/", "", 0, true},
    {"GET /search", "/search?q=ada&domain=DOMAIN", "", 403, true},
    {"POST /search", "/search", "q=ada&format=json&domain=DOMAIN", 403},
    {"POST /openwebui/search", "/openwebui/search", R"({"query":"ada","domain":"DOMAIN"})", 403},
    {"POST /openwebui/extract", "/openwebui/extract", R"({"urls":["http://10.0.0.1/"]})"},
    {"POST /retrieval", "/retrieval", R"({"query":"ada","knowledge_id":"DOMAIN"})", 403},
    {"POST /perplexity/search", "/perplexity/search", R"({"query":"ada"})"},
    {"POST /v1/rerank", "/v1/rerank", R"({"query":"ada","documents":["a"],"model":"DOMAIN"})"},
    {"POST /v2/rerank", "/v2/rerank", R"({"query":"ada","documents":["a"],"model":"DOMAIN"})"},
    {"POST /rerank", "/rerank", R"({"query":"ada","documents":["a"],"model":"DOMAIN"})"},
    {"POST /mcp", "/mcp", kSearchCall, 200},  // with isError
    {"POST /v1/search", "/v1/search", R"({"query":"ada","domain":"DOMAIN"})", 403},
    {"POST /v1/fuse", "/v1/fuse", R"({"domain":"DOMAIN","lists":[{"name":"own","results":["a"]}]})", 403},
    {"POST /extract", "/extract", R"({"urls":["http://10.0.0.1/"]})"},
    {"GET /picture", "/picture"},
    {"GET /files/{domain}", "/files/DOMAIN?path=%2Fa.txt&sign=0", "", 403},
    {"GET /docs", "/docs"},
    {"GET /preferences", "/preferences"},
    {"GET /v1/templates/{domain}", "/v1/templates/DOMAIN", "", 403},
    {"PUT /v1/templates/{domain}", "/v1/templates/DOMAIN", "version: [", 403},
    {"POST /v1/templates/{domain}/preview", "/v1/templates/DOMAIN/preview", R"({"query":"ada"})", 403},
    {"GET /v1/templates/{domain}/versions", "/v1/templates/DOMAIN/versions", "", 403},
    {"GET /v1/templates/{domain}/versions/{number}", "/v1/templates/DOMAIN/versions/1", "", 403},
    {"POST /v1/templates/{domain}/versions/{number}/revert", "/v1/templates/DOMAIN/versions/1/revert", "{}",
     403},
    {"GET /templates", "/templates", "", 0, true},
    {"GET /templates/{domain}", "/templates/DOMAIN", "", 403},
    {"POST /templates/{domain}", "/templates/DOMAIN", "action=versions", 403},
    {"GET /v1/engines", "/v1/engines", "", 0, false},
    {"GET /engines", "/engines"},
    {"POST /engines", "/engines", "action=show"},
    {"GET /v1/evaluation", "/v1/evaluation", "", 0, true},
    {"GET /evaluation", "/evaluation?domain=DOMAIN", "", 404, true},
    {"GET /v1/search/stream", "/v1/search/stream?q=ada&domain=DOMAIN", "", 403},
    {"POST /v1/feedback", "/v1/feedback", R"({"search_id":"1234","position":1})"},
    {"GET /v1/judgments/{domain}", "/v1/judgments/DOMAIN", "", 403},
    {"POST /v1/judgments/{domain}", "/v1/judgments/DOMAIN", "ada 0 a.example 1", 403},
    {"GET /v1/judgments/{domain}/queue", "/v1/judgments/DOMAIN/queue", "", 403},
    {"POST /v1/judgments/{domain}/results", "/v1/judgments/DOMAIN/results", R"({"query":"ada"})", 403},
    {"POST /v1/judgments/{domain}/grades", "/v1/judgments/DOMAIN/grades",
     R"({"search_id":"1234","grades":[{"position":1,"grade":1}]})", 403},
    {"GET /judge", "/judge", "", 0, true},
    {"GET /judge/{domain}", "/judge/DOMAIN", "", 403},
    {"POST /judge/{domain}", "/judge/DOMAIN", "action=queue", 403},
    {"GET /v1/analytics/{domain}", "/v1/analytics/DOMAIN", "", 403},
    {"GET /analytics", "/analytics", "", 0, true},
    {"GET /analytics/{domain}", "/analytics/DOMAIN", "", 403},
    {"POST /analytics/{domain}", "/analytics/DOMAIN", "action=show", 403},
    {"GET /v1/documents/{domain}", "/v1/documents/DOMAIN", "", 403},
    {"PUT /v1/documents/{domain}", "/v1/documents/DOMAIN", "{}", 403},
    {"POST /v1/documents/{domain}", "/v1/documents/DOMAIN", "{}", 403},
    {"DELETE /v1/documents/{domain}", "/v1/documents/DOMAIN", "{}", 403},
    {"GET /v1/curation/{domain}", "/v1/curation/DOMAIN", "", 403},
    {"PUT /v1/curation/{domain}", "/v1/curation/DOMAIN", "{}", 403},
    {"GET /v1/curation/{domain}/versions", "/v1/curation/DOMAIN/versions", "", 403},
    {"GET /v1/curation/{domain}/versions/{number}", "/v1/curation/DOMAIN/versions/1", "", 403},
    {"GET /curation", "/curation", "", 0, true},
    {"GET /curation/{domain}", "/curation/DOMAIN", "", 403},
    {"POST /curation/{domain}", "/curation/DOMAIN", "action=show", 403},
    {"GET /v1/models", "/v1/models", "", 0, true},
    {"POST /v1/models/{name}/activate", "/v1/models/DOMAIN/activate", R"({"previous":true})", 403},
    {"POST /v1/models/{name}/retrain", "/v1/models/DOMAIN/retrain", "{}", 403},
    {"POST /v1/models/{name}/measure", "/v1/models/DOMAIN/measure", "{}", 403},
    {"POST /v1/models/{name}/reset", "/v1/models/DOMAIN/reset", R"({"clicks":true})", 403},
    {"GET /models", "/models", "", 0, true},
    {"POST /models/{name}", "/models/DOMAIN", "action=show", 403, true},
    {"POST /preferences", "/preferences", "block=a.example"},
    {"GET /config", "/config", "", 0, true},
    {"GET /autocompleter", "/autocompleter?q=seen"},
    {"GET /suggest", "/suggest?q=seen"},
    {"GET /opensearch.xml", "/opensearch.xml"},
    {"GET /openapi.json", "/openapi.json"},
    {"GET /healthz", "/healthz"},
    {"GET /readyz", "/readyz"},
    {"GET /metrics", "/metrics"},
    {"GET /static/{file}", "/static/metafuse.css"},
};

const std::string kScopeRoles[] = {"search", "judge", "write", "admin", "raw", "metrics"};
/// The name of a domain that must not be seen; no other word on any page contains it.
const std::string kHidden = "zebra";

std::string scope_key(const std::string& role, const std::string& scope) {
  return "X-API-Key: " + role + "-" + scope + "\r\n";
}

std::string scope_config() {
  std::string out = "store: state.db\nreports: models\nneeds_key: true\nmetrics: key\nkeys:\n";
  for (const std::string& role : kScopeRoles)
    for (const char* scope : {"all", "pages", "zebra", "nothing"}) {
      out += "  - {name: " + role + " " + scope + ", roles: [" + role +
             "], sha256: " + sha256_hex(role + "-" + scope);
      out += std::string(scope) == "all" ? "}\n" : std::string(", domains: [") + scope + "]}\n";
    }
  for (const char* engine : {"one", "two", "three"})
    out += std::string("  - {name: ") + engine + ", roles: [search], engines: [" + engine +
           "], sha256: " + sha256_hex(std::string("search-") + engine) + "}\n";
  return out;
}

/// A server of two domains; "zebra" asks engine two alone.
class ScopedServer : public TestServer {
 public:
  ScopedServer()
      : TestServer(
            [](const ExpandedQuery& query) {
              fetchers::FetchedList list = default_answer(query);
              list.list.suggestions = {"seen of " + query.text};
              return list;
            },
            scope_config(), kTwoTemplates + "lists: [own]\n") {
    folder().write("templates/zebra.yaml",
                   "version: 1\ndomain: zebra\ndescription: Zebras\ndepth: 10\nlists: [own]\nslots:\n  NAME: "
                   "{required: true}\ntemplates:\n  - {id: z, engine: two, query: 'zebra {NAME}'}\n");
    folder().write("models/zebra.trace.jsonl", "{\"round\":1,\"ranking_loss\":0.4,\"bound\":0.9}\n");
    REQUIRE(app().reloader().reload().has_value());
  }

  std::string ask(const ScopeRow& row, const std::string& domain, const std::string& headers) {
    const auto filled = [&](std::string text) {
      for (std::size_t at = text.find("DOMAIN"); at != std::string::npos; at = text.find("DOMAIN"))
        text.replace(at, 6, domain);
      return text;
    };
    const std::string method(row.route.substr(0, row.route.find(' ')));
    const std::string body = filled(std::string(row.body));
    const char* type = "application/x-www-form-urlencoded";
    if (body.starts_with('{')) type = "application/json";
    if (method == "PUT" && !body.starts_with('{')) type = "application/yaml";
    if (row.route == "POST /v1/judgments/{domain}") type = "text/plain";
    return post(filled(std::string(row.target)), body.empty() ? "text/plain" : type, body, headers, method);
  }
};

bool may_use(const Route& route, const std::string& role) {
  if (!route.rules.actions.empty())
    return role == "admin" || (role == "judge" && route.rules.actions.front().access == Access::judge);
  switch (route.rules.access) {
    case Access::open:
      return true;
    case Access::search:
      return role == "search" || role == "admin";
    case Access::judge:
      return role == "judge" || role == "admin";
    case Access::write:
      return role == "write" || role == "admin";
    case Access::metrics:
      return role == "metrics" || role == "admin";
    case Access::admin:
      break;
  }
  return role == "admin";
}

bool names(const std::string& response, const std::string& word) {
  return body_in(response).find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("A key of any role reaches only its own domains on every route", "[service][security]") {
  ScopedServer server;
  std::map<std::string_view, const ScopeRow*> rows;
  for (const ScopeRow& row : kScopeRows) rows[row.route] = &row;
  CHECK(rows.size() == routes().size());
  for (const Route& route : routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.pattern);
    INFO(name);
    REQUIRE(rows.contains(name));
    const ScopeRow& row = *rows.at(name);
    for (const std::string& role : kScopeRoles) {
      INFO(role);
      const auto ask = [&](const std::string& scope) {
        return server.ask(row, "pages", scope_key(role, scope));
      };
      const std::string all = ask("all");
      CHECK((status_in(all) == 403) == !may_use(route, role));
      if (!may_use(route, role)) {
        for (const char* scope : {"pages", "zebra", "nothing"}) CHECK(status_in(ask(scope)) == 403);
        continue;
      }
      const std::string own = ask("pages");
      CHECK(status_in(own) == status_in(all));
      if (name == "GET /metrics") continue;  // its counts are of the whole server
      CHECK(names(all, kHidden) == row.names_domains);
      CHECK_FALSE(names(own, kHidden));
      if (row.beyond == 0) continue;
      for (const char* scope : {"zebra", "nothing"}) {
        const std::string other = ask(scope);
        CHECK(status_in(other) == row.beyond);
        if (row.beyond == 200) CHECK(names(other, "may not search this domain"));
      }
    }
  }
}

TEST_CASE("A key's first domain is its default and other domains are not mentioned", "[service][security]") {
  ScopedServer server;
  const auto search = [&](const std::string& scope, const std::string& more) {
    return server.get("/search?q=ada&format=json" + more, scope_key("search", scope));
  };
  CHECK(names(search("all", ""), "a.example"));
  const std::string zebra = search("zebra", "");
  CHECK(status_in(zebra) == 200);
  CHECK_FALSE(names(zebra, "a.example"));  // only engine one has it
  CHECK(names(zebra, "c.example"));
  CHECK(status_in(search("nothing", "")) == 403);
  CHECK(names(search("all", "&domain=zebr"), "zebra"));
  CHECK_FALSE(names(search("pages", "&domain=zebr"), "zebra"));
}

TEST_CASE("A key is answered alike whether a domain beyond its scope exists or not", "[service][security]") {
  ScopedServer server;
  const auto answers = [&](const std::string& domain) {
    std::vector<std::string> out;
    const auto ask = [&](const std::string& path, const std::string& body) {
      const std::string answer = server.post(path, "application/json", body, scope_key("search", "pages"));
      out.push_back(std::to_string(status_in(answer)) + body_in(answer));
    };
    ask("/v1/search", R"({"query":"ada","domain":")" + domain + "\"}");
    ask("/retrieval", R"({"query":"ada","knowledge_id":")" + domain + "\"}");
    for (const char* name : {"domain=", "categories="})
      out.push_back(std::to_string(status_in(
          server.get("/search?q=ada&format=json&" + (name + domain), scope_key("search", "pages")))));
    return out;
  };
  CHECK(answers("zebra") == answers("none"));
  CHECK(answers("none").front().starts_with("403"));
}

TEST_CASE("A key's engines limit the engines asked and listed in /config", "[service][security]") {
  ScopedServer server;
  const auto config = [&](const std::string& key) {
    const Json value = parse_json(body_in(server.get("/config", key)), "config").value();
    std::vector<std::string> out;
    for (const Json& engine : value.at("engines").as_array()) out.emplace_back(engine.at("name").as_string());
    return out;
  };
  CHECK(config(scope_key("search", "all")) == std::vector<std::string>{"one", "two"});
  CHECK(config(scope_key("search", "two")) == std::vector<std::string>{"two"});
  const auto search = [&](const std::string& engine, const std::string& more = "") {
    return server.get("/search?q=ada&format=json" + more, scope_key("search", engine));
  };
  const std::string one = search("one");
  CHECK(names(one, "a.example"));
  CHECK_FALSE(names(one, "c.example"));
  CHECK_FALSE(names(search("two"), "a.example"));
  CHECK(status_in(search("one", "&engines=two")) == 403);
  CHECK(status_in(search("one", "&engines=one,two")) == 200);
  CHECK(status_in(search("one", "&domain=zebra")) == 403);  // that domain asks only engine two
  CHECK(status_in(search("three")) == 403);
}

TEST_CASE("A key typed into a form is valid within its scope and until its last day", "[service][security]") {
  TestServer server(
      TestServer::default_answer,
      "store: state.db\nkeys:\n  - {name: own, roles: [admin], domains: [pages], sha256: " +
          sha256_hex("own") +
          "}\n  - {name: other, roles: [admin], domains: [zebra], sha256: " + sha256_hex("other") +
          "}\n  - {name: old, roles: [admin], expires: 2020-01-01, sha256: " + sha256_hex("old") +
          "}\n  - {name: search, roles: [search], sha256: " + sha256_hex("search") + "}\n");
  const auto sent = [&](const std::string& path, const std::string& key) {
    return status_in(server.post(path, "application/x-www-form-urlencoded", "action=versions&key=" + key));
  };
  for (const std::string path : {"/templates/pages", "/models/pages"}) {
    INFO(path);
    CHECK(sent(path, "own") == 200);
    for (const std::string key : {"other", "old", "search", "guess", ""}) {
      INFO(key);
      CHECK(sent(path, key) == 403);
    }
  }
}

TEST_CASE("Suggestions come only from searches of domains that the key may use", "[service][security]") {
  ScopedServer server;
  // Five senders; a different number of results each time, so that no answer is sent again.
  int limit = 5;
  for (const char* key : {"search-zebra", "search-all", "admin-zebra", "admin-all", "search-two"})
    server.get("/search?q=ada&domain=zebra&limit=" + std::to_string(limit++),
               std::string("X-API-Key: ") + key + "\r\n");
  const auto suggested = [&](const std::string& scope) {
    return names(server.get("/autocompleter?q=seen", scope_key("search", scope)), "seen of zebra ada");
  };
  CHECK(suggested("all"));
  CHECK(suggested("zebra"));
  CHECK_FALSE(suggested("pages"));
}

TEST_CASE("Suggestions of a private engine are not shown to others", "[service][suggest][security]") {
  std::string config = "keys:\n";
  for (const char* name : {"1", "2", "3", "4", "5"})
    config += std::string("  - {name: k") + name +
              ", roles: [search], tokens: [team], sha256: " + sha256_hex(name) + "}\n";
  TestServer server(
      [](const ExpandedQuery& query) {
        fetchers::FetchedList list = TestServer::default_answer(query);
        list.list.suggestions = {"seen by " + query.engine};
        return list;
      },
      config, kTwoTemplates, nullptr, {}, {{"two", {"team"}}});
  int limit = 5;
  for (const char* key : {"1", "2", "3", "4", "5"})
    CHECK(names(server.get("/search?q=ada&format=json&limit=" + std::to_string(limit++),
                           std::string("X-API-Key: ") + key + "\r\n"),
                "seen by two"));
  const std::string offered = server.get("/autocompleter?q=seen");
  CHECK(names(offered, "seen by one"));
  CHECK_FALSE(names(offered, "seen by two"));
}

TEST_CASE("The evaluation names only the engines that the key may ask", "[service][evaluation][security]") {
  ScopedServer server;
  server.get("/search?q=ada&domain=pages", scope_key("search", "all"));
  const std::string all = server.get("/v1/evaluation", scope_key("search", "all"));
  const std::string one = server.get("/v1/evaluation", "X-API-Key: search-one\r\n");
  CHECK(names(all, R"("engine":"two")"));
  CHECK(names(one, R"("engine":"one")"));
  CHECK_FALSE(names(one, R"("engine":"two")"));
  const auto rows_of = [&](const std::string& headers) {
    const std::string page = server.get("/evaluation?domain=pages", headers);
    CHECK(status_in(page) == 200);
    std::size_t count = 0;
    for (std::size_t at = page.find("<tr"); at != std::string::npos; at = page.find("<tr", at + 1)) ++count;
    return count;
  };
  CHECK(rows_of(scope_key("search", "all")) > rows_of("X-API-Key: search-one\r\n"));
}

TEST_CASE("A private engine is named only to keys with one of its tokens", "[service][security]") {
  std::string keys = "store: state.db\nreports: models\nneeds_key: true\nkeys:\n";
  for (const char* more :
       {"plain, roles: [search]", "insider, roles: [search], tokens: [team]", "operator, roles: [admin]"}) {
    const std::string name(more, std::string_view(more).find(','));
    keys += std::string("  - {name: ") + more + ", sha256: " + sha256_hex(name) + "}\n";
  }
  TestServer server(TestServer::default_answer, keys, kTwoTemplates + "lists: [own]\n", nullptr, {},
                    {{"two", {"team"}}});
  const auto key = [](const std::string& name) { return "X-API-Key: " + name + "\r\n"; };
  CHECK(names(server.get("/search?q=ada&format=json", key("insider")), "c.example"));
  CHECK_FALSE(names(server.get("/search?q=ada&format=json", key("plain")), "c.example"));
  for (const char* path : {"/config", "/v1/evaluation"}) {
    INFO(path);
    CHECK(names(server.get(path, key("insider")), "\"two\""));
    CHECK(names(server.get(path, key("plain")), "\"one\""));
    CHECK_FALSE(names(server.get(path, key("plain")), "\"two\""));
  }
  const auto tools = [&](const std::string& name) {
    return server.post("/mcp", "application/json", R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})",
                       key(name));
  };
  CHECK(names(tools("insider"), "one, two"));
  CHECK(names(tools("plain"), "one"));
  CHECK_FALSE(names(tools("plain"), "one, two"));
  CHECK(names(server.get("/v1/evaluation", key("operator")), "\"two\""));
}

TEST_CASE("With needs_key nobody without a key learns which domains there are", "[service][security]") {
  for (const std::string store : {"", "store: state.db\n"}) {
    INFO(store);
    TestServer server(
        TestServer::default_answer,
        store + "needs_key: true\nkeys: [{name: k, roles: [admin], sha256: " + sha256_hex("key") + "}]\n");
    server.folder().write("templates/zebra.yaml",
                          "version: 1\ndomain: zebra\nslots: {NAME: {required: true}}\ntemplates:\n"
                          "  - {id: z, engine: two, query: 'zebra {NAME}'}\n");
    REQUIRE(server.app().reloader().reload().has_value());
    const std::string browser = "Accept: text/html\r\n";
    for (const std::string path : {"/judge/", "/analytics/", "/curation/"}) {
      INFO(path);
      const auto sent = [&](const std::string& domain) {
        return server.post(path + domain, "application/x-www-form-urlencoded", "action=show", browser);
      };
      CHECK(status_in(sent("zebra")) == 403);
      CHECK(status_in(sent("none")) == 403);
      CHECK(body_in(sent("zebra")) == body_in(sent("none")));
      CHECK(status_in(server.post(path + "none", "application/x-www-form-urlencoded", "action=show&key=key",
                                  browser)) == 404);
    }
    for (const std::string path : {"/search?q=ada", "/none", "/docs", "/preferences"}) {
      INFO(path);
      CHECK_FALSE(names(server.get(path, browser), "name=\"domain\""));
    }
    CHECK(names(server.get("/search?q=ada", browser + "X-API-Key: key\r\n"),
                "name=\"domain\" value=\"pages\""));
  }
}
