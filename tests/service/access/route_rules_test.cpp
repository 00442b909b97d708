#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "service/router.h"
#include "tests/support/test_server.h"

// Which roles, bodies and origins each route accepts, checked for all routes.

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

/// What a route must allow, written here a second time so that the table of routes cannot change by accident.
struct RouteExpectation {
  const char* route;
  const char* roles;  ///< roles whose keys may use it when searching needs a key; "all" if it needs no key
  const char* body;   ///< what must be sent: "-", "json", "json?" (or nothing), "form", "json|form", "yaml"
  bool asks;          ///< asks engines, so another site's page must not make a browser send it
};

constexpr RouteExpectation kExpectations[] = {
    {"GET /", "search admin", "-", false},
    {"GET /search", "search admin", "-", true},
    {"POST /search", "search admin", "json|form", true},
    {"GET /picture", "search admin", "-", false},
    {"GET /files/{domain}", "search admin", "-", false},
    {"POST /extract", "search admin", "json", true},
    {"POST /openwebui/search", "search admin", "json", true},
    {"POST /openwebui/extract", "search admin", "json", true},
    {"POST /retrieval", "search admin", "json", true},
    {"POST /perplexity/search", "search admin", "json", true},
    {"POST /v1/rerank", "search admin", "json", true},
    {"POST /v2/rerank", "search admin", "json", true},
    {"POST /rerank", "search admin", "json", true},
    {"POST /mcp", "search admin", "json", true},
    {"POST /v1/search", "search admin", "json", true},
    {"POST /v1/fuse", "search admin", "json", true},
    {"GET /v1/templates/{domain}", "search admin", "-", false},
    {"PUT /v1/templates/{domain}", "admin", "yaml", true},
    {"POST /v1/templates/{domain}/preview", "search admin", "json", true},
    {"GET /v1/templates/{domain}/versions", "admin", "-", false},
    {"GET /v1/templates/{domain}/versions/{number}", "admin", "-", false},
    {"POST /v1/templates/{domain}/versions/{number}/revert", "admin", "json?", true},
    {"GET /templates", "search admin", "-", false},
    {"GET /templates/{domain}", "search admin", "-", false},
    {"POST /templates/{domain}", "admin", "form", true},  // except a preview of the file in use
    {"GET /v1/engines", "admin", "-", false},
    {"GET /engines", "search admin", "-", false},
    {"POST /engines", "admin", "form", true},
    {"GET /v1/evaluation", "search admin", "-", false},
    {"GET /evaluation", "search admin", "-", false},
    {"GET /v1/search/stream", "search admin", "-", true},
    {"POST /v1/feedback", "search admin", "json", true},
    {"GET /v1/judgments/{domain}", "judge admin", "-", false},
    {"POST /v1/judgments/{domain}", "judge admin", "text|lines", true},
    {"GET /v1/judgments/{domain}/queue", "judge admin", "-", false},
    {"POST /v1/judgments/{domain}/results", "judge admin", "json", true},
    {"POST /v1/judgments/{domain}/grades", "judge admin", "json", true},
    {"GET /v1/analytics/{domain}", "admin", "-", false},
    {"GET /analytics", "search admin", "-", false},
    {"GET /analytics/{domain}", "search admin", "-", false},
    {"POST /analytics/{domain}", "admin", "form", true},
    {"GET /judge", "search admin", "-", false},
    {"GET /judge/{domain}", "search admin", "-", false},
    {"POST /judge/{domain}", "judge admin", "form", true},
    {"GET /v1/documents/{domain}", "write admin", "-", false},
    {"PUT /v1/documents/{domain}", "write admin", "json", true},
    {"POST /v1/documents/{domain}", "write admin", "json", true},
    {"DELETE /v1/documents/{domain}", "write admin", "json?", true},
    {"GET /v1/curation/{domain}", "admin", "-", false},
    {"PUT /v1/curation/{domain}", "admin", "json", true},
    {"GET /v1/curation/{domain}/versions", "admin", "-", false},
    {"GET /v1/curation/{domain}/versions/{number}", "admin", "-", false},
    {"GET /curation", "search admin", "-", false},
    {"GET /curation/{domain}", "search admin", "-", false},
    {"POST /curation/{domain}", "admin", "form", true},
    {"GET /v1/models", "admin", "-", false},
    {"POST /v1/models/{name}/activate", "admin", "json", true},
    {"POST /v1/models/{name}/retrain", "admin", "json?", true},
    {"POST /v1/models/{name}/measure", "admin", "json?", true},
    {"POST /v1/models/{name}/reset", "admin", "json", true},
    {"GET /models", "search admin", "-", false},
    {"POST /models/{name}", "admin", "form", true},
    {"GET /preferences", "all", "-", false},
    {"POST /preferences", "all", "form", true},
    {"GET /config", "search admin", "-", false},
    {"GET /autocompleter", "search admin", "-", false},
    {"GET /suggest", "search admin", "-", false},
    {"GET /opensearch.xml", "all", "-", false},
    {"GET /openapi.json", "all", "-", false},
    {"GET /docs", "all", "-", false},
    {"GET /healthz", "all", "-", false},
    {"GET /readyz", "all", "-", false},
    {"GET /metrics", "metrics admin", "-", false},
    {"GET /static/{file}", "all", "-", false},
};

const std::vector<std::string> kRoleNames = {"search", "judge", "write", "admin", "raw", "metrics"};
const std::map<std::string, std::string> kTypes = {{"json", "application/json"},
                                                   {"form", "application/x-www-form-urlencoded"},
                                                   {"text", "text/plain"},
                                                   {"yaml", "application/yaml"}};

std::string guarded_config() {
  std::string keys = "keys:\n";
  for (const std::string& role : kRoleNames)
    keys += "  - {name: " + role + ", roles: [" + role + "], sha256: " + sha256_hex(role + "-key") + "}\n";
  return "store: state.db\nneeds_key: true\nmetrics: key\n" + keys;
}

bool is_word_of(const std::string& text, const std::string& word) {
  std::istringstream in(text);
  for (std::string one; in >> one;)
    if (one == word) return true;
  return false;
}

std::string method_of(const RouteExpectation& row) {
  return std::string(row.route).substr(0, std::string(row.route).find(' '));
}

/// A path that the route's pattern matches.
std::string path_of(const RouteExpectation& row) {
  std::string path = std::string(row.route).substr(std::string(row.route).find(' ') + 1);
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"{domain}", "pages"},
                                    {"{name}", "pages"},
                                    {"{number}", "1"},
                                    {"{file}", "metafuse.css"}})
    if (const std::size_t at = path.find(name); at != std::string::npos) path.replace(at, name.size(), value);
  return path;
}

/// A body that reaches the handler, even if the handler then refuses it.
std::string body_for(const RouteExpectation& row) {
  const std::string body = row.body;
  if (body == "-") return "";
  if (body == "form") return "action=";
  return body == "yaml" ? "version: [" : "{}";
}

std::string type_for(const RouteExpectation& row) {
  const std::string body = row.body;
  for (const auto& [name, type] : kTypes)
    if (body.starts_with(name)) return type;
  return "text/plain";
}

std::string send(TestServer& server, const RouteExpectation& row, const std::string& headers) {
  return server.post(path_of(row), type_for(row), body_for(row), headers, method_of(row));
}

std::string show(const std::string& role) {
  return "X-API-Key: " + role + "-key\r\n";
}

}  // namespace

TEST_CASE("Every route admits exactly its roles", "[service][security]") {
  TestServer server(TestServer::default_answer, guarded_config());
  std::set<std::string> known;
  for (const RouteExpectation& row : kExpectations) {
    INFO(row.route);
    known.insert(row.route);
    const bool is_for_all = row.roles == std::string("all");
    const int without = status_in(send(server, row, ""));
    // these routes refuse on their page
    const bool is_form = row.route == std::string("POST /models/{name}") ||
                         row.route == std::string("POST /engines") ||
                         row.route == std::string("POST /templates/{domain}") ||
                         row.route == std::string("POST /judge/{domain}") ||
                         row.route == std::string("POST /curation/{domain}") ||
                         row.route == std::string("POST /analytics/{domain}");
    // only the forms of these routes carry the key
    const bool is_open_form = row.route == std::string("POST /judge/{domain}") ||
                              row.route == std::string("POST /curation/{domain}") ||
                              row.route == std::string("POST /analytics/{domain}");
    CHECK((without == (is_open_form ? 403 : 401)) == !is_for_all);
    for (const std::string& role : kRoleNames) {
      INFO(role);
      const int status = status_in(send(server, row, show(role)));
      const bool may = is_for_all || is_word_of(row.roles, role);
      CHECK(status != 401);
      CHECK((status == 403) == !may);
      if (!may && is_form) CHECK(send(server, row, show(role)).find("text/html") != std::string::npos);
    }
  }
  for (const Route& route : routes())
    CHECK(known.contains(std::string(route.method) + " " + std::string(route.pattern)));
  CHECK(known.size() == routes().size());
}

TEST_CASE("Another site's page can neither change nor start anything", "[service][security]") {
  TestServer server(TestServer::default_answer, guarded_config());
  const std::string admin = show("admin");
  for (const RouteExpectation& row : kExpectations) {
    INFO(row.route);
    const auto status = [&](const std::string& headers) {
      return status_in(send(server, row, admin + headers));
    };
    CHECK((status("Sec-Fetch-Site: cross-site\r\n") == 403) == row.asks);
    CHECK((status("Sec-Fetch-Site: same-site\r\n") == 403) == row.asks);
    CHECK(status("Sec-Fetch-Site: same-origin\r\nOrigin: http://localhost\r\n") != 403);
    CHECK(status("Sec-Fetch-Site: none\r\n") != 403);
    if (method_of(row) == "GET") {
      // a link that a person follows
      CHECK(status("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n") != 403);
      continue;
    }
    // browsers that know no Sec-Fetch-Site, and pages over plain HTTP
    CHECK(status("Origin: https://evil.example\r\n") == 403);
    CHECK(status("Origin: null\r\n") == 403);
    CHECK(status("Origin: http://localhost\r\n") != 403);
  }
  CHECK(server.get("/metrics", show("metrics")).find("metafuse_refused_total{reason=\"origin\"}") !=
        std::string::npos);
}

TEST_CASE("An allowed origin may call the routes of programs but not the forms of pages",
          "[service][security]") {
  TestServer server(TestServer::default_answer, guarded_config() + "cors_origins: ['https://app.example']\n");
  const std::string from = show("admin") + "Origin: https://app.example\r\nSec-Fetch-Site: cross-site\r\n";
  for (const RouteExpectation& row : kExpectations) {
    INFO(row.route);
    const bool is_page = row.body == std::string("form");
    CHECK((status_in(send(server, row, from)) == 403) == is_page);
  }
}

TEST_CASE("A body is accepted only with its exact content type", "[service][security]") {
  TestServer server(TestServer::default_answer, guarded_config());
  for (const RouteExpectation& row : kExpectations) {
    const std::string body = row.body;
    if (body == "-") continue;
    INFO(row.route);
    const auto status = [&](const std::string& type, const std::string& more = "") {
      return status_in(server.post(path_of(row), type, body_for(row), show("admin") + more, method_of(row)));
    };
    for (const auto& [name, type] : kTypes) {
      INFO(type);
      const bool is_taken = body.find(name) != std::string::npos;
      CHECK((status(type) == 415) == !is_taken);
      CHECK((status(type + "; charset=utf-8") == 415) == !is_taken);
    }
    CHECK((status("text/plain") == 415) == (body.find("text") == std::string::npos));
    CHECK(status("application/jsonx") == 415);
    CHECK(status("") == 415);
    // two types, of which a proxy in front may read the other one
    CHECK(status(type_for(row), "Content-Type: text/plain\r\n") == 415);
  }
}
