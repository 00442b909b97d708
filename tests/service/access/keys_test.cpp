#include "service/access/keys.h"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/encoding.h"
#include "core/json.h"
#include "service/access/gate.h"
#include "service/base/log.h"
#include "service/http/exchange.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

std::string keys(const std::string& more = "") {
  std::string out = "keys:\n";
  for (const char* role : {"admin", "search", "metrics"})
    out += "  - {name: the " + std::string(role) + ", roles: [" + role +
           "], sha256: " + sha256_hex(std::string(role) + "-key") + "}\n";
  return out + more;
}

std::string bearer(const std::string& key) {
  return "Authorization: Bearer " + key + "\r\n";
}

JsonObject json_in(const std::string& response) {
  return parse_json(body_in(response), "answer").value().as_object();
}

}  // namespace

TEST_CASE("Wrong keys slow down their address but do not lock out keys that were right there before",
          "[service][keys]") {
  const KeyConfig known[] = {{"ann", sha256_hex("key of ann"), {}, 0},
                             {"bob", sha256_hex("key of bob"), {}, 0}};
  ManualClock clock;
  KeyGuard guard(6);  // one more try every ten seconds
  const auto find = [&](std::string_view key, std::string_view client) {
    return guard.find(known, key, client, clock.now());
  };
  CHECK(find("key of ann", "a").key->name == "ann");
  for (int i = 0; i < 6; ++i) {
    const auto wrong = find("guess", "a");
    CHECK(wrong.key == nullptr);
    CHECK_FALSE(wrong.retry_after_seconds);
  }
  CHECK(*find("guess", "a").retry_after_seconds == Approx(10));
  // A right key that is new at this address is delayed too. Keys that were right here before are not,
  // nor are other addresses.
  CHECK(find("key of bob", "a").key == nullptr);
  CHECK(*find("key of bob", "a").retry_after_seconds == Approx(10));
  CHECK(find("key of ann", "a").key->name == "ann");
  CHECK(find("key of bob", "b").key->name == "bob");
  clock.advance(seconds(10));
  CHECK(find("key of bob", "a").key->name == "bob");
  CHECK_FALSE(find("guess", "a").retry_after_seconds);
  CHECK(find("guess", "a").retry_after_seconds);
  CHECK(find("key of bob", "a").key->name == "bob");
  clock.advance(hours(24));
  for (int i = 0; i < 7; ++i) find("guess", "a");
  CHECK(find("key of bob", "a").key == nullptr);  // a day later the address has forgotten this key

  guard.set_rate(0);
  for (int i = 0; i < 100; ++i) CHECK_FALSE(find("guess", "a").retry_after_seconds);
}

TEST_CASE("Wrong keys get 401 and then 429 in each dialect and in the forms", "[service][keys]") {
  TestServer server(TestServer::default_answer,
                    keys("store: state.db\nlimits: {failed_keys_per_minute: 3}\n"));
  for (int i = 0; i < 3; ++i) CHECK(status_in(server.get("/v1/models", bearer("guess"))) == 401);
  const std::string refused = server.get("/v1/models", bearer("guess"));
  CHECK(status_in(refused) == 429);
  CHECK(refused.find("application/problem+json") != std::string::npos);
  CHECK(refused.find("\r\nRetry-After: 20\r\n") != std::string::npos);
  CHECK(status_in(server.get("/v1/models", bearer("admin-key"))) == 429);
  const std::string judged = server.post("/v1/feedback", "application/json", "{}", bearer("guess"));
  CHECK(status_in(judged) == 429);
  const std::string form = server.post("/models/pages", "application/x-www-form-urlencoded", "key=guess");
  CHECK(status_in(form) == 429);
  CHECK(form.find("too many wrong keys") != std::string::npos);
  CHECK(status_in(server.post("/templates/pages", "application/x-www-form-urlencoded",
                              "action=save&key=guess&text=x&etag=y")) == 429);
  CHECK(status_in(server.get("/search?q=ada")) == 200);  // a request without a key is no guess
  CHECK(status_in(server.get("/opensearch.xml", bearer("guess"))) == 200);  // nor on an open route
  CHECK(server.get("/metrics").find(R"(metafuse_refused_total{reason="key_rate"} 5)") != std::string::npos);
}

TEST_CASE("A refusal is answered in the dialect of its request", "[service][access]") {
  TestServer server(TestServer::default_answer, keys("needs_key: true\n"));
  const std::string browser = "Accept: text/html,application/xhtml+xml\r\n";
  CHECK(server.get("/search?q=a", browser).find("\r\nContent-Type: text/html") != std::string::npos);
  CHECK(body_in(server.get("/search?q=a&format=json", browser)).starts_with(R"({"error":)"));
  CHECK(body_in(server.get("/search?q=a")).starts_with(R"({"error":)"));
  CHECK(body_in(server.post("/search", "application/json", R"({"query":"a"})")).starts_with(R"({"detail":)"));
  CHECK(body_in(server.post("/v1/search", "application/json", R"({"query":"a"})"))
            .starts_with(R"({"type":"about:blank")"));
  CHECK(status_in(server.get("/search?q=a", bearer("search-key"))) == 200);
}

TEST_CASE("A browser sends the key as its password and foreign pages cannot use it", "[service][access]") {
  const auto typed = [](const std::string& key) {
    return "Accept: text/html\r\nAuthorization: Basic " + base64_encoded("anyone:" + key) + "\r\n";
  };
  TestServer server(TestServer::default_answer, keys("needs_key: true\nstore: state.db\n"));
  const std::string asked = server.get("/search?q=a", "Accept: text/html\r\n");
  CHECK(status_in(asked) == 401);
  CHECK(asked.find("\r\nWWW-Authenticate: Basic realm=\"metafuse\", charset=\"UTF-8\"\r\n") !=
        std::string::npos);
  CHECK(server.get("/search?q=a").find("\r\nWWW-Authenticate: Bearer ") != std::string::npos);
  CHECK(status_in(server.get("/search?q=a", typed("search-key"))) == 200);
  CHECK(status_in(server.get("/search?q=a", typed("guess"))) == 401);
  CHECK(status_in(server.get("/search?q=a", "Authorization: Basic %%%\r\n")) == 401);
  CHECK(status_in(server.get("/v1/models", typed("admin-key"))) == 401);

  const auto preview = [&](const std::string& headers) {
    return status_in(server.post("/templates/pages", "application/x-www-form-urlencoded",
                                 "action=preview&text=x", typed("search-key") + headers));
  };
  CHECK(preview("Sec-Fetch-Site: same-origin\r\n") == preview("X-API-Key: search-key\r\n"));
  CHECK(preview("Sec-Fetch-Site: cross-site\r\n") == 401);
  CHECK(preview("Origin: https://elsewhere.example\r\n") == 401);
}

TEST_CASE("Where searching is open a password is ignored because it may belong to a proxy",
          "[service][access]") {
  TestServer server(TestServer::default_answer, keys());
  CHECK(status_in(server.get("/search?q=a", "Authorization: Basic YTpi\r\n")) == 200);
}

TEST_CASE("Metrics are open to this machine or to everybody or to keys", "[service][access]") {
  const auto status = [](const std::string& config, const std::string& headers) {
    TestServer server(TestServer::default_answer, keys(config));
    return status_in(server.get("/metrics", headers));
  };
  const std::string forwarded = "X-Forwarded-For: 192.0.2.7\r\n";
  const std::string trusting = "trusted_proxies: [127.0.0.1]\n";
  CHECK(status("", "") == 200);
  CHECK(status("", forwarded) == 401);  // a proxy on this machine passed it on
  CHECK(status(trusting, forwarded) == 401);
  CHECK(status(trusting, "X-Forwarded-For: 127.0.0.9\r\n") == 200);
  CHECK(status("", "Forwarded: for=192.0.2.7\r\n") == 401);
  CHECK(status("metrics: open\n", forwarded) == 200);
  CHECK(status("metrics: key\n", "") == 401);
  CHECK(status("metrics: key\n", bearer("metrics-key")) == 200);
  CHECK(status("metrics: key\n", bearer("admin-key")) == 200);
  CHECK(status("metrics: key\n", bearer("search-key")) == 403);
  CHECK(status("", forwarded + bearer("metrics-key")) == 200);
  const auto config = parse_config("templates: []\nmetrics: closed\n", "f.yaml");
  CHECK(config.error().text.find("f.yaml:2:10: metrics must be loopback, open or key") != std::string::npos);
}

TEST_CASE("Clients behind a trusted proxy cannot forge their address", "[service][access]") {
  const auto client = [](const std::string& proxies, const std::vector<std::string>& lines) {
    HttpRequest request;
    request.peer = "10.0.0.1";
    for (const std::string& line : lines) request.headers.push_back({"X-Forwarded-For", line});
    return client_address(
        parse_config("trusted_proxies: " + proxies + "\ntemplates: " METAFUSE_SOURCE_DIR "/README.md\n",
                     "f.yaml")
            .value()
            .trusted_proxies,
        request);
  };
  CHECK(client("[]", {"192.0.2.7"}) == "10.0.0.1");
  CHECK(client("[10.0.0.1]", {}) == "10.0.0.1");
  CHECK(client("[10.0.0.1]", {"127.0.0.1, 192.0.2.7"}) == "192.0.2.7");
  CHECK(client("[10.0.0.1]", {"127.0.0.1", "192.0.2.7"}) == "192.0.2.7");  // as HAProxy adds its own line
  CHECK(client("[10.0.0.0/8]", {"127.0.0.1", "192.0.2.7,10.2.0.9"}) == "192.0.2.7");
  CHECK(client("[10.0.0.1]", {"192.0.2.7:5000"}) == "192.0.2.7");
  CHECK(client("[10.0.0.1]", {"[2001:db8::7]:5000"}) == "2001:db8::7");
  CHECK(client("[10.0.0.1]", {"2001:db8::7"}) == "2001:db8::7");
  CHECK(client("[10.0.0.1]", {"192.0.2.7, "}) == "10.0.0.1");
  const auto wrong =
      parse_config("templates: " METAFUSE_SOURCE_DIR "/README.md\ntrusted_proxies: [proxy]\n", "f.yaml");
  CHECK(wrong.error().text.find("f.yaml:2:19: trusted_proxies: \"proxy\" is not an address") !=
        std::string::npos);
}

TEST_CASE("Links and cookies are for HTTPS behind a trusted proxy that speaks TLS", "[service][access]") {
  const std::string https = "X-Forwarded-Proto: https\r\n";
  const std::string form = "block=a.example&back=%2Fsearch%3Fq%3Dx";
  const std::string type = "application/x-www-form-urlencoded";
  TestServer trusting(TestServer::default_answer, "trusted_proxies: [127.0.0.1]\n");
  const std::string set = trusting.post("/preferences", type, form, https);
  CHECK(set.find("Set-Cookie: __Host-preferences=sites=!a.example; Path=/; Max-Age=31536000; HttpOnly; "
                 "SameSite=Strict; "
                 "Secure\r\n") != std::string::npos);
  CHECK(set.find("Strict-Transport-Security: max-age=31536000\r\n") != std::string::npos);
  CHECK(trusting.get("/opensearch.xml", https).find("\"https://localhost/search") != std::string::npos);
  CHECK(trusting.get("/search?q=a&format=rss", https).find("<link>https://localhost/search") !=
        std::string::npos);
  CHECK(trusting.get("/search?q=a&format=rss").find("<link>http://localhost/search") != std::string::npos);
  const std::string blocked =
      trusting.get("/search?q=a&format=csv", "Cookie: x=1; __Host-preferences=sites=!a.example\r\n");
  CHECK(blocked.find("b.example") != std::string::npos);
  CHECK(blocked.find("a.example") == std::string::npos);

  TestServer plain;
  const std::string ignored = plain.post("/preferences", type, form, https);
  CHECK(ignored.find("Set-Cookie: preferences=sites=!a.example; ") != std::string::npos);
  CHECK(ignored.find("Secure") == std::string::npos);
  CHECK(ignored.find("Strict-Transport") == std::string::npos);
}

TEST_CASE("A POST without a body takes its parameters from the target as LangChain's SearXNG client sends it",
          "[service][searxng]") {
  TestServer server;
  for (int i = 0; i < 3; ++i) {  // first rendered anew, then from the rendered answer
    const std::string found = server.post("/search?q=ada&format=json", "application/json", "");
    CHECK(json_in(found).at("results").as_array().size() == 4);
  }
  const std::string nothing = server.post("/search", "application/json", "");
  CHECK(status_in(nothing) == 400);
  CHECK(body_in(nothing).starts_with(R"({"detail":{"error":)"));
}

TEST_CASE("The route /config lists the domains that use each engine", "[service][searxng]") {
  TestServer server;
  const JsonObject config = json_in(server.get("/config"));
  const JsonObject& engine = config.at("engines").at(1).as_object();
  CHECK(engine.at("name") == Json("two"));
  CHECK(engine.at("categories") == Json(JsonArray{"pages"}));
  CHECK(engine.at("time_range_support") == Json(false));
}

TEST_CASE("A failure that repeats with every search is logged once per minute", "[service][log]") {
  ManualClock clock;
  RareEvents events;
  CHECK(events.is_due("one tls", clock.now()));
  CHECK_FALSE(events.is_due("one tls", clock.now()));
  CHECK(events.is_due("one timeout", clock.now()));
  clock.advance(seconds(59));
  CHECK_FALSE(events.is_due("one tls", clock.now()));
  clock.advance(seconds(1));
  CHECK(events.is_due("one tls", clock.now()));
}

TEST_CASE("Live previews count against the quota", "[service][templates]") {
  TestServer server(TestServer::default_answer,
                    "keys:\n  - {name: few, quota_per_day: 4, roles: [search, admin], sha256: " +
                        sha256_hex("few") + "}\n");
  const auto preview = [&](const std::string& more) {
    return status_in(server.post("/v1/templates/pages/preview", "application/json",
                                 R"({"query":"ada")" + more + "}", bearer("few")));
  };
  CHECK(preview("") == 200);
  CHECK(preview(R"(,"live":true)") == 200);  // 3 of 4
  CHECK(preview(R"(,"live":true)") == 429);
  CHECK(preview("") == 200);
  CHECK(preview(R"(,"variants":[{"template":"plain","text":"x","raw":true}])") == 403);
}
