#include "service/access/gate.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/encoding.h"
#include "service/base/addresses.h"
#include "service/base/metrics.h"
#include "service/config/snapshot.h"
#include "tests/support/manual_clock.h"

// How the gate treats hosts, origins, keys and rates, one cause of refusal at a time.

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::ManualClock;

namespace {

using HeaderLines = std::vector<Header>;

constexpr UnixTime kNow = 1'800'000'000;  // 2027-01-15

/// A gate with its own configuration, to which the tests send requests one by one.
struct GateCase {
  explicit GateCase(ServerConfig config = {}) : snapshot(std::make_shared<Snapshot>()) {
    snapshot->config = std::move(config);
    gate = std::make_unique<Gate>(GateOptions{snapshot->config, metrics, clock, [this] { return now; }, {}});
  }

  Exchange exchange(HeaderLines headers = {}, const std::string& method = "GET") const {
    Exchange out;
    out.snapshot = snapshot;
    out.request.method = method;
    out.request.peer = peer;
    out.request.headers = {{"Host", "localhost"}};
    for (Header& header : headers) {
      if (header.name == "Host") out.request.headers.clear();
      out.request.headers.push_back(std::move(header));
    }
    out.arrived = clock.now();
    return out;
  }
  /// The status of the refusal; 0 if there is none.
  int status_of(const RouteRules& rules, Exchange request) {
    auto refusal = gate->check(&rules, request);
    if (!refusal) refusal = gate->check_key_in_body(rules, request);
    return refusal ? refusal->status : 0;
  }
  int status(const RouteRules& rules, HeaderLines headers = {}, const std::string& method = "GET") {
    return status_of(rules, exchange(std::move(headers), method));
  }
  /// How many of `count` equal requests pass.
  int passed(int count, const RouteRules& rules, const HeaderLines& headers = {}) {
    int out = 0;
    for (int i = 0; i < count; ++i) out += status(rules, headers) == 0 ? 1 : 0;
    return out;
  }

  std::shared_ptr<Snapshot> snapshot;
  Metrics metrics;
  ManualClock clock;
  UnixTime now = kNow;
  std::string peer = "127.0.0.1";
  std::unique_ptr<Gate> gate;
};

RouteRules rules_of(Access access, Effect effect = Effect::none, Cost cost = Cost::nothing,
                    BodyType body = BodyType::none, Dialect dialect = Dialect::native) {
  RouteRules out;
  out.dialect = dialect;
  out.access = access;
  out.body = body;
  out.effect = effect;
  out.cost = cost;
  return out;
}

KeyConfig key_named(const std::string& name, Role role) {
  KeyConfig key;
  key.name = name;
  key.sha256 = sha256_hex(name + "-key");
  key.roles = {role};
  return key;
}

ServerConfig with_keys() {
  ServerConfig config;
  for (const auto& [name, role] : kRoles) config.keys.push_back(key_named(std::string(name), role));
  return config;
}

Header bearer_of(const std::string& name) {
  return {"Authorization", "Bearer " + name + "-key"};
}

Header basic_of(const std::string& name) {
  return {"Authorization", "Basic " + base64_encoded("any:" + name + "-key")};
}

}  // namespace

TEST_CASE("A server answers only requests for its own host names", "[service][access][security]") {
  ServerConfig config;
  config.listen_host = "192.0.2.1";
  config.server_names = {"Search.example", "ported.example:8080"};
  GateCase named(config);
  const auto is_answered = [](GateCase& gate, const std::string& host) {
    return gate.status(rules_of(Access::open), {{"Host", host}}) == 0;
  };
  for (const char* own :
       {"localhost", "LOCALHOST", "localhost:8080", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8080",
        "192.0.2.1", "192.0.2.1:443", "search.example", "SEARCH.example:99", "ported.example:8080", ""}) {
    INFO(own);
    CHECK(is_answered(named, own));
  }
  for (const char* other : {"evil.example", "a.search.example", "search.example.evil", "localhost.evil",
                            "127.0.0.2", "[::2]", "192.0.2.2", "ported.example", "ported.example:8081"}) {
    INFO(other);
    CHECK(named.status(rules_of(Access::open), {{"Host", other}}) == 421);
  }
  config.server_names = {"*"};
  GateCase any(config);
  CHECK(is_answered(any, "evil.example"));
  auto unknown_path = named.exchange({{"Host", "evil.example"}});
  CHECK(named.gate->check(nullptr, unknown_path)->status == 421);
}

TEST_CASE("The site that sent a request decides what the request may do", "[service][access][security]") {
  struct Row {
    const char* method;
    Effect effect;
    HeaderLines headers;
    bool passes;
  };
  const Header own_origin{"Origin", "http://localhost"};
  const auto site = [](const char* value) { return Header{"Sec-Fetch-Site", value}; };
  const Header followed{"Sec-Fetch-Mode", "navigate"};
  const std::vector<Row> rows = {
      {"POST", Effect::asks, {}, true},
      {"POST", Effect::asks, {site("same-origin")}, true},
      {"POST", Effect::asks, {site("none")}, true},
      {"POST", Effect::asks, {site("same-site")}, false},
      {"POST", Effect::asks, {site("cross-site")}, false},
      {"POST", Effect::asks, {site("cross-site"), own_origin}, false},
      {"POST", Effect::asks, {site("cross-site"), followed}, false},
      {"POST", Effect::none, {site("cross-site")}, false},
      {"POST", Effect::asks, {own_origin}, true},
      {"POST", Effect::asks, {{"Origin", "https://localhost"}}, true},
      {"POST", Effect::asks, {{"Origin", "http://evil-localhost"}}, false},
      {"POST", Effect::asks, {{"Origin", "http://localhost.evil"}}, false},
      {"POST", Effect::asks, {{"Origin", "http://localhost:81"}}, false},
      {"POST", Effect::asks, {{"Origin", "localhost"}}, false},
      {"POST", Effect::asks, {{"Origin", "null"}}, false},
      {"PUT", Effect::changes, {{"Origin", "http://evil.example"}}, false},
      {"GET", Effect::none, {site("cross-site")}, true},
      {"GET", Effect::asks, {site("cross-site")}, false},
      {"HEAD", Effect::asks, {site("cross-site")}, false},
      {"GET", Effect::changes, {site("cross-site")}, false},
      {"GET", Effect::asks, {site("same-site")}, false},
      {"GET", Effect::asks, {site("cross-site"), followed}, true},
      {"GET", Effect::asks, {site("cross-site"), {"Sec-Fetch-Mode", "cors"}}, false},
      {"GET", Effect::asks, {site("cross-site"), {"Sec-Fetch-Mode", "no-cors"}}, false},
      {"GET", Effect::asks, {{"Origin", "http://evil.example"}}, true},  // an old browser's link
  };
  GateCase closed;
  for (const Row& row : rows) {
    INFO(row.method << ", effect " << static_cast<int>(row.effect));
    for (const Header& header : row.headers) UNSCOPED_INFO(header.name << ": " << header.value);
    CHECK(closed.status(rules_of(Access::open, row.effect), row.headers, row.method) ==
          (row.passes ? 0 : 403));
  }
}

TEST_CASE("Origins of the configuration may call every route that is not a form",
          "[service][access][security]") {
  const auto status = [](const std::string& allowed, Dialect dialect, const std::string& origin) {
    ServerConfig config;
    config.cors_origins = {allowed};
    GateCase gate(config);
    HeaderLines headers = {{"Sec-Fetch-Site", "cross-site"}};
    if (!origin.empty()) headers.push_back({"Origin", origin});
    return gate.status(rules_of(Access::open, Effect::asks, Cost::nothing, BodyType::none, dialect), headers,
                       "POST");
  };
  const std::string app = "https://app.example";
  CHECK(status(app, Dialect::native, app) == 0);
  CHECK(status(app, Dialect::mcp, app) == 0);
  CHECK(status(app, Dialect::page, app) == 403);
  CHECK(status(app, Dialect::native, "https://app.example.evil") == 403);
  CHECK(status(app, Dialect::native, "http://app.example") == 403);
  CHECK(status(app, Dialect::native, "null") == 403);
  CHECK(status("*", Dialect::native, app) == 0);
  CHECK(status("*", Dialect::page, app) == 403);
  CHECK(status("*", Dialect::native, "") == 403);
}

TEST_CASE("Keys are accepted from their headers on routes that check keys", "[service][access][security]") {
  GateCase gate(with_keys());
  const RouteRules admin = rules_of(Access::admin);
  CHECK(gate.status(admin) == 401);
  CHECK(gate.status(admin, {bearer_of("admin")}) == 0);
  CHECK(gate.status(admin, {{"Authorization", "bEARER admin-key"}}) == 0);
  CHECK(gate.status(admin, {{"X-API-Key", "admin-key"}}) == 0);
  for (const char* other : {"Bearer", "Bearer ", "Beareradmin-key", "Bearer\tadmin-key", "Bearer  admin-key",
                            "Token admin-key", "admin-key"}) {
    INFO(other);
    CHECK(gate.status(admin, {{"Authorization", other}}) == 401);
  }
  CHECK(gate.status(admin, {bearer_of("search"), {"X-API-Key", "admin-key"}}) == 403);  // the first counts
  CHECK(gate.status(admin, {basic_of("admin")}) == 401);
  CHECK(gate.status(admin, {bearer_of("guess")}) == 401);
  // a route that needs no key ignores it
  CHECK(gate.status(rules_of(Access::open), {bearer_of("guess")}) == 0);

  // a search that is open ignores an unknown key; other routes refuse it
  Exchange asked = gate.exchange({bearer_of("guess")});
  const RouteRules search = rules_of(Access::search, Effect::asks);
  CHECK_FALSE(gate.gate->check(&search, asked));
  CHECK(asked.key == nullptr);
  CHECK(gate.status(rules_of(Access::search), {bearer_of("guess")}) == 401);
  CHECK(gate.status(rules_of(Access::search, Effect::changes), {bearer_of("guess")}) == 401);

  // Tavily's "api_key" in the body, on Tavily's route only
  const auto in_body = [&](BodyType body, const std::string& type, const std::string& key) {
    Exchange exchange = gate.exchange({{"Content-Type", type}}, "POST");
    exchange.request.body = R"({"api_key":")" + key + R"("})";
    return gate.status_of(rules_of(Access::admin, Effect::asks, Cost::nothing, body), exchange);
  };
  CHECK(in_body(BodyType::json_or_form, "application/json", "admin-key") == 0);
  CHECK(in_body(BodyType::json_or_form, "application/json", "search-key") == 403);
  CHECK(in_body(BodyType::json_or_form, "text/plain", "admin-key") == 401);
  CHECK(in_body(BodyType::json, "application/json", "admin-key") == 401);
}

TEST_CASE("A key in the body is looked for after the tokens, which its address gets back",
          "[service][access][security]") {
  ServerConfig config = with_keys();
  config.limits.requests_per_second = 1;
  config.limits.burst = 2;
  GateCase gate(config);
  const RouteRules rules =
      rules_of(Access::search, Effect::asks, Cost::normal, BodyType::json_or_form, Dialect::tavily);
  const auto passes_of = [&](const std::string& body) {
    int passes = 0;
    for (int i = 0; i < 5; ++i) {
      Exchange exchange = gate.exchange({{"Content-Type", "application/json"}}, "POST");
      exchange.request.body = body;
      if (gate.gate->check(&rules, exchange)) continue;
      CHECK(exchange.key == nullptr);
      CHECK(exchange.awaits_key);
      if (gate.gate->check_key_in_body(rules, exchange)) continue;
      CHECK_FALSE(exchange.awaits_key);
      passes += exchange.key != nullptr ? 100 : 1;
    }
    return passes;
  };
  CHECK(passes_of(R"({"api_key":"search-key"})") == 500);
  CHECK(passes_of(R"({"x":")" + std::string(10'000, 'x') + R"(","api_key":"search-key"})") == 500);
  CHECK(passes_of(R"({"api_key":"made-up"})") == 2);
  CHECK(passes_of(R"({"api_key":"search-key"})") == 0);  // the address has no token left
}

TEST_CASE("A form's key is refused with the reason that applies to it", "[service][access][security]") {
  static constexpr FormAction kSaves[] = {{"save", Access::admin}, {"judge", Access::judge}};
  ServerConfig config = with_keys();
  config.keys.push_back(key_named("old", Role::admin));
  config.keys.back().expires = "2027-01-14";
  config.keys.push_back(key_named("elsewhere", Role::admin));
  config.keys.back().domains = {"zebra"};
  config.limits.failed_keys_per_minute = 3;
  GateCase gate(config);
  RouteRules rules = rules_of(Access::search, Effect::changes, Cost::nothing, BodyType::form, Dialect::page);
  rules.actions = kSaves;
  const auto refused = [&](const std::string& action, const std::string& key) {
    Exchange exchange = gate.exchange({{"Content-Type", "application/x-www-form-urlencoded"}}, "POST");
    exchange.path_values = {"pages"};
    exchange.request.body = "action=" + action + "&key=" + key;
    CHECK_FALSE(gate.gate->check(&rules, exchange));
    return exchange.refused_action ? std::string(exchange.refused_action->reason) : std::string();
  };
  CHECK(refused("save", "admin-key").empty());
  CHECK(refused("saved-1", "admin-key").empty());
  CHECK(refused("save", "search-key") == "role");
  CHECK(refused("save", "judge-key") == "role");
  CHECK(refused("judge", "judge-key").empty());
  CHECK(refused("judge", "admin-key").empty());
  CHECK(refused("look", "").empty());  // not an action of the list
  CHECK(refused("save", "") == "role");
  CHECK(refused("save", "elsewhere-key") == "role");
  CHECK(refused("save", "old-key") == "bad_key");
  for (int i = 0; i < 3; ++i) CHECK(refused("save", "guess") == "bad_key");
  CHECK(refused("save", "guess") == "key_rate");
}

TEST_CASE("A search may be sent as JSON or as a form or in the target alone", "[service][access][http]") {
  GateCase gate;
  const RouteRules rules = rules_of(Access::open, Effect::asks, Cost::nothing, BodyType::json_or_form);
  const auto status = [&](const std::string& type, const std::string& body, bool has_query) {
    Exchange exchange = gate.exchange({{"Content-Type", type}}, "POST");
    exchange.request.body = body;
    if (has_query) exchange.request.query = {{"q", "ada"}};
    return gate.status_of(rules, exchange);
  };
  CHECK(status("application/json", "{}", false) == 0);
  CHECK(status("application/x-www-form-urlencoded", "q=ada", false) == 0);
  CHECK(status("application/x-www-form-urlencoded", "q=%zz", false) == 400);
  CHECK(status("text/plain", "", true) == 0);
  CHECK(status("text/plain", "", false) == 415);
  CHECK(status("text/plain", "q=ada", true) == 415);
}

TEST_CASE("A server on loopback has no rate limit under any name of loopback", "[service][access][limits]") {
  for (const auto& [host, is_limited] : std::vector<std::pair<std::string, bool>>{{"localhost", false},
                                                                                  {"LocalHost", false},
                                                                                  {"127.3.2.1", false},
                                                                                  {"::1", false},
                                                                                  {"::ffff:127.0.0.1", false},
                                                                                  {"128.0.0.1", true},
                                                                                  {"::2", true},
                                                                                  {"0.0.0.0", true}}) {
    INFO(host);
    ServerConfig config;
    config.listen_host = host;
    config.server_names = {"*"};
    GateCase gate(config);
    CHECK(gate.passed(30, rules_of(Access::open, Effect::none, Cost::normal)) == (is_limited ? 20 : 30));
  }
}

TEST_CASE("A password is a key where searching needs one but never from another site's page",
          "[service][access][security]") {
  ServerConfig config = with_keys();
  GateCase open(config);
  config.needs_key = true;
  GateCase closed(config);
  const RouteRules reads = rules_of(Access::search);
  const RouteRules asks = rules_of(Access::search, Effect::asks);
  CHECK(closed.status(reads) == 401);
  CHECK(closed.status(reads, {basic_of("search")}) == 0);
  CHECK(closed.status(reads, {basic_of("search"), {"Sec-Fetch-Site", "cross-site"}}) == 0);  // a link
  CHECK(closed.status(reads, {basic_of("guess")}) == 401);
  CHECK(closed.status(reads, {{"Authorization", "Basic " + base64_encoded("search-key")}}) == 401);
  CHECK(closed.status(asks, {basic_of("search")}, "POST") == 0);
  CHECK(closed.status(asks, {basic_of("search"), {"Origin", "http://localhost"}}, "POST") == 0);
  CHECK(closed.status(asks, {basic_of("search"), {"Origin", "http://evil.example"}}, "POST") == 401);
  CHECK(closed.status(asks, {basic_of("search"), {"Sec-Fetch-Site", "same-site"}}, "POST") == 401);
  for (const Access access : {Access::admin, Access::judge, Access::metrics}) {
    closed.peer = "192.0.2.7";
    Exchange request = closed.exchange({basic_of("admin")});
    const RouteRules rules = rules_of(access);
    const auto refusal = closed.gate->check(&rules, request);
    REQUIRE(refusal.has_value());
    CHECK(refusal->status == 401);
    CHECK(refusal->text.find("password") == std::string::npos);  // it would not be taken
  }
  CHECK(open.status(reads, {basic_of("guess")}) == 0);
}

TEST_CASE("Each role opens its routes and admin opens all except raw queries",
          "[service][access][security]") {
  ServerConfig config = with_keys();
  config.needs_key = true;
  config.metrics = MetricsAccess::key;
  GateCase gate(config);
  for (const auto& [name, role] : kRoles)
    for (const auto& [access, wanted] : {std::pair{Access::search, Role::search},
                                         {Access::judge, Role::judge},
                                         {Access::metrics, Role::metrics},
                                         {Access::admin, Role::admin}}) {
      INFO(name << " for " << static_cast<int>(access));
      const bool may = role == wanted || role == Role::admin;
      CHECK(gate.status(rules_of(access), {bearer_of(std::string(name))}) == (may ? 0 : 403));
    }
  for (const KeyConfig& key : gate.snapshot->config.keys) {
    Exchange exchange = gate.exchange();
    exchange.key = &key;
    CHECK(gate.gate->admit_search(exchange, 1, true).has_value() == !key.has(Role::raw));
    CHECK_FALSE(gate.gate->admit_search(exchange, 1, false));
  }
  Exchange nobody = gate.exchange();
  CHECK(gate.gate->admit_search(nobody, 1, true)->status == 403);
}

TEST_CASE("A key is valid until the last second of its last day", "[service][access][keys]") {
  ServerConfig config = with_keys();
  for (KeyConfig& key : config.keys) key.expires = "2027-01-15";
  GateCase gate(config);
  const UnixTime end = 1'800'057'600;  // 2027-01-16 00:00:00
  gate.now = end - 1;
  CHECK(gate.status(rules_of(Access::admin), {bearer_of("admin")}) == 0);
  gate.now = end;
  CHECK(gate.status(rules_of(Access::admin), {bearer_of("admin")}) == 401);
}

TEST_CASE("A route's cost is charged to the address or to the key", "[service][access][limits]") {
  ServerConfig config = with_keys();
  config.limits.requests_per_second = 0.5;
  config.limits.burst = 10;
  config.keys.push_back(key_named("slow", Role::admin));
  config.keys.back().requests_per_second = 0.5;
  config.keys.back().burst = 10;
  GateCase gate(config);
  int address = 0;
  for (const auto& [cost, most] : {std::pair{Cost::little, 100}, {Cost::normal, 10}, {Cost::much, 2}}) {
    gate.peer = "192.0.2." + std::to_string(++address);
    CHECK(gate.passed(most + 5, rules_of(Access::open, Effect::none, cost)) == most);
    gate.clock.advance(std::chrono::seconds(20));  // ten tokens
    CHECK(gate.passed(most + 5, rules_of(Access::admin, Effect::none, cost), {bearer_of("slow")}) == most);
    gate.clock.advance(std::chrono::seconds(20));
  }
  gate.peer = "192.0.2.99";
  CHECK(gate.passed(200, rules_of(Access::open)) == 200);
  CHECK(gate.passed(200, rules_of(Access::admin, Effect::none, Cost::normal), {bearer_of("admin")}) == 200);
  CHECK(gate.passed(20, rules_of(Access::open, Effect::none, Cost::normal)) ==
        10);  // charged to the address, not to the key
  // several things at once
  Exchange batch = gate.exchange();
  batch.client = "192.0.2.100";
  CHECK_FALSE(gate.gate->admit_more(batch, 0));
  CHECK_FALSE(gate.gate->admit_more(batch, 7));
  CHECK(gate.gate->admit_more(batch, 4)->status == 429);
  CHECK_FALSE(gate.gate->admit_more(batch, 3));
  CHECK(gate.gate->admit_more(batch, 1)->status == 429);

  // new limits apply at once after a reload
  ServerConfig more = config;
  more.limits.requests_per_second = 0;
  more.limits.failed_keys_per_minute = 0;
  gate.peer = "192.0.2.101";
  int refused = 0;
  for (int i = 0; i < 40; ++i)
    refused += gate.status(rules_of(Access::admin), {bearer_of("guess")}) == 429 ? 1 : 0;
  CHECK(refused == 20);
  gate.gate->set_limits(more);
  CHECK(gate.status(rules_of(Access::admin), {bearer_of("guess")}) == 401);
  CHECK(gate.passed(50, rules_of(Access::open, Effect::none, Cost::much)) == 50);
}

TEST_CASE("A key's rate follows the configuration in use", "[service][access][limits]") {
  ServerConfig config;
  config.keys.push_back(key_named("slow", Role::admin));
  config.keys.back().requests_per_second = 0.5;
  config.keys.back().burst = 2;
  GateCase gate(config);
  const RouteRules rules = rules_of(Access::admin, Effect::none, Cost::normal);
  CHECK(gate.passed(5, rules, {bearer_of("slow")}) == 2);
  config.keys.back().requests_per_second = 10;
  config.keys.back().burst = 7;
  gate.snapshot = std::make_shared<Snapshot>();
  gate.snapshot->config = config;
  CHECK(gate.passed(5, rules, {bearer_of("slow")}) == 0);
  gate.clock.advance(std::chrono::seconds(1));
  CHECK(gate.passed(9, rules, {bearer_of("slow")}) == 7);
  gate.clock.advance(std::chrono::seconds(1));
  config.keys.back().burst = 3;  // at the same rate
  gate.snapshot = std::make_shared<Snapshot>();
  gate.snapshot->config = config;
  CHECK(gate.passed(9, rules, {bearer_of("slow")}) == 3);
}

TEST_CASE("A quota is charged per expanded query and a refused search costs nothing",
          "[service][access][keys]") {
  ServerConfig config = with_keys();
  config.keys.front().quota_per_day = 10;
  GateCase gate(config);
  Exchange exchange = gate.exchange();
  exchange.key = &gate.snapshot->config.keys.front();
  CHECK_FALSE(gate.gate->admit_search(exchange, 4));
  const auto refused = gate.gate->admit_search(exchange, 7);
  REQUIRE(refused);
  CHECK(refused->status == 429);
  CHECK(refused->reason == "quota");
  CHECK(*refused->retry_after_seconds == 1'800'057'600 - kNow);  // midnight
  CHECK_FALSE(gate.gate->admit_search(exchange, 5));
  CHECK_FALSE(gate.gate->admit_at_once(exchange, 2));
  CHECK(gate.gate->admit_at_once(exchange, 1));
  CHECK_FALSE(gate.gate->admit_at_once(exchange, 1));
  CHECK_FALSE(gate.gate->admit_search(exchange, 0));
  gate.now = 1'800'057'600;
  CHECK_FALSE(gate.gate->admit_search(exchange, 10));
}
