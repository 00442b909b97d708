// HTTP input at exactly its limit and one beyond it: heads, bodies, hosts, hops, cookies and batches.
// Also every part of the cache key of a rendered answer, and the cells of CSV.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "service/api/rendered_answers.h"
#include "service/api/searxng.h"
#include "service/base/addresses.h"
#include "service/http/preferences.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

std::string head_of(const std::string& target, const std::string& lines) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n";
}

int sent(TestServer& server, const std::string& bytes) {
  RawClient client(server.port());
  client.send(bytes);
  client.finish_sending();
  return status_in(client.read_all());
}

bool is_under_site(const std::string& host, const std::string& site) {
  return SiteSet({site}).contains(PageAddress("http://" + host));
}

std::string repeated_text(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("Heads and targets are accepted up to exactly their limits", "[service][http][security]") {
  TestServer server;
  const std::string target = "/healthz?a=";
  CHECK(sent(server, head_of(target + std::string(8000 - target.size(), 'b'), "")) == 200);
  CHECK(sent(server, head_of(target + std::string(8001 - target.size(), 'b'), "")) == 414);
  CHECK(sent(server, head_of("/healthz", repeated_text("A: b\r\n", 99))) == 200);  // and Host
  CHECK(sent(server, head_of("/healthz", repeated_text("A: b\r\n", 100))) == 431);
  const std::size_t rest = head_of("/healthz", "A: \r\n").size();
  CHECK(sent(server, head_of("/healthz", "A: " + std::string(16384 - rest, 'b') + "\r\n")) == 200);
  CHECK(sent(server, head_of("/healthz", "A: " + std::string(16385 - rest, 'b') + "\r\n")) == 431);
  CHECK(sent(server, head_of("/healthz?" + repeated_text("a=b&", 199) + "a=b", "")) == 200);
  CHECK(sent(server, head_of("/healthz?" + repeated_text("a=b&", 200) + "a=b", "")) == 400);
}

TEST_CASE("Bodies are accepted up to exactly their limit by length and in chunks",
          "[service][http][security]") {
  TestServer server(TestServer::default_answer, "limits: {max_body_bytes: 1024}\n");
  const auto body = [](std::size_t bytes) { return R"({"query":"ada"})" + std::string(bytes - 15, ' '); };
  const std::string head =
      "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
      "application/json\r\n";
  for (const std::size_t bytes : {1024U, 1025U}) {
    const int expected = bytes == 1024 ? 200 : 413;
    const std::string answer = server.post("/v1/search", "application/json", body(bytes));
    CHECK((answer.find("Content-Type: application/problem+json") != std::string::npos) == (bytes > 1024));
    CHECK(sent(server, head + "Content-Length: " + std::to_string(bytes) + "\r\n\r\n" + body(bytes)) ==
          expected);
    CHECK(sent(server, head + "Transfer-Encoding: chunked\r\n\r\n200\r\n" + body(bytes).substr(0, 512) +
                           "\r\n" + (bytes == 1024 ? "200" : "201") + "\r\n" + body(bytes).substr(512) +
                           "\r\n0\r\n\r\n") == expected);
  }
}

TEST_CASE("A malformed hop count is read as the maximum", "[service][search][security]") {
  TestServer server;
  for (const char* hops : {"0", "1", "99", "100", "-1", "x", "1x"})
    server.get("/search?q=a" + std::string(hops) + "&format=json",
               "X-Metafuse-Hops: " + std::string(hops) + "\r\n");
  server.get("/search?q=ada&format=json");
  CHECK(server.fetcher().hops() == std::vector<int>{0, 1, 99, 99, 99, 99, 99, 0});
}

TEST_CASE("A host is the text between the last at sign and the port", "[service][security]") {
  CHECK(host_of("http://A.example:80/x?y#z") == "a.example");
  CHECK(host_of("http://a@b.example/") == "b.example");
  CHECK(host_of("http://a@b@c.example/") == "c.example");
  CHECK(host_of("http://a.example/@b.example") == "a.example");
  CHECK(host_of("http://a.example?@b.example") == "a.example");
  CHECK(host_of("http://a.example#@b.example") == "a.example");
  CHECK(host_of("http://a:b@[2001:DB8::1]:80/") == "2001:db8::1");
  CHECK(host_of("a.example/").empty());
}

TEST_CASE("A site covers itself and its subdomains", "[service][security]") {
  for (const std::string site : {"a.example", "A.Example", "www.a.example", "*.a.example"}) {
    INFO(site);
    CHECK(is_under_site("a.example", site));
    CHECK(is_under_site("x.a.example", site));
    CHECK_FALSE(is_under_site("xa.example", site));
    CHECK_FALSE(is_under_site("example", site));
  }
  for (const std::string nothing : {"", "*.", "www."}) CHECK_FALSE(is_under_site("a.example", nothing));
}

TEST_CASE("Valid preferences are kept and invalid ones are ignored", "[service][security]") {
  const auto language = [](const std::string& text) {
    return read_preferences_text("language=" + text).language;
  };
  CHECK(language("de") == "de");
  CHECK(language(std::string(20, 'a')) == std::string(20, 'a'));
  for (const std::string bad : {"d", "", "d e", "de&", "<b>"})
    CHECK((language(bad).empty() || language(bad) == "de"));
  CHECK(language(std::string(21, 'a')).empty());
  CHECK(language("d").empty());
  CHECK(language("d e").empty());
  const auto results = [](const std::string& text) {
    return read_preferences_text("results=" + text).results;
  };
  CHECK(results("1") == 1);
  CHECK(results("200") == 200);
  for (const std::string bad : {"0", "201", "-1", "1x", ""}) CHECK(results(bad) == 0);
  CHECK(read_preferences_text("safe=2").safe_search == 2);
  CHECK(read_preferences_text("safe=3").safe_search == 0);
  CHECK(read_preferences_text("theme=dark").theme == "dark");
  CHECK(read_preferences_text("theme=blue").theme.empty());
  // a cookie is read up to 8 KB
  const std::string filled = "x=" + std::string(8192 - 2 - 9, 'y');
  CHECK(read_preferences_text(filled + "&safe=2&z").safe_search == 2);
  CHECK(read_preferences_text(filled + "yyy&safe=2").safe_search == 0);
  Preferences preferences;
  preferences.safe_search = 1;
  CHECK(set_preferences_cookie(preferences, true) ==
        "__Host-preferences=safe=1; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict; Secure");
  CHECK(set_preferences_cookie(preferences, false) ==
        "preferences=safe=1; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict");
  CHECK(read_preferences_cookie("preferences=safe=1; __Host-preferences=safe=2").safe_search == 2);
  CHECK(read_preferences_cookie("xpreferences=safe=1").safe_search == 0);
}

TEST_CASE("At most a hundred sites are remembered and each must be a valid host name",
          "[service][security]") {
  std::string cookie = "sites=";
  for (int i = 0; i < 101; ++i) cookie += (i == 0 ? "!s" : "|!s") + std::to_string(i) + ".example";
  const SitePreferences read = read_preferences_text(cookie).sites;
  CHECK(read.blocked.size() == 100);
  CHECK(read.blocked.back() == "s99.example");
  const std::string longest = std::string(245, 'a') + ".example";  // 253 bytes
  CHECK(read_preferences_text("sites=+" + longest).sites.raised.size() == 1);
  CHECK(read_preferences_text("sites=+a" + longest).sites.raised.empty());
  CHECK(read_preferences_text("sites=-wiki").sites.lowered.size() == 1);  // of a company's network
  CHECK(read_preferences_text("sites=-no/thing|-No").sites.lowered.empty());
  CHECK(is_under_site("a.example", "a.example"));
  CHECK(is_under_site("b.a.example", "a.example"));
  CHECK_FALSE(is_under_site("ba.example", "a.example"));
  CHECK_FALSE(is_under_site("example", "a.example"));
}

TEST_CASE("A site beyond the hundredth is refused and loses no other", "[service]") {
  TestServer server;
  std::string cookie = "Cookie: preferences=sites=";
  for (int i = 0; i < 100; ++i) cookie += (i == 0 ? "!s" : "|!s") + std::to_string(i) + ".example";
  const auto save = [&](const std::string& form) {
    return server.post("/preferences", "application/x-www-form-urlencoded", form, cookie + "\r\n");
  };
  CHECK(status_in(save("raise=new.example")) == 400);
  CHECK(status_in(save("raise=s99.example")) == 303);
  CHECK(status_in(save("forget=s99.example")) == 303);
}

TEST_CASE("Preferences that browsers would drop silently are refused", "[service]") {
  const std::string filling = std::string(200, 'a') + ".example";
  Preferences preferences;
  while (fits_in_cookie(preferences))
    preferences.sites.blocked.push_back(std::to_string(preferences.sites.blocked.size()) + filling);
  CHECK(set_preferences_cookie(preferences, true).find(';') > 4096);
  TestServer server;
  const auto save = [&](std::size_t sites) {
    std::string cookie = "Cookie: preferences=sites=";
    for (std::size_t i = 0; i < sites; ++i) cookie += (i == 0 ? "!" : "|!") + preferences.sites.blocked[i];
    return server.post("/preferences", "application/x-www-form-urlencoded", "raise=" + filling,
                       cookie + "\r\n");
  };
  const std::string refused = save(preferences.sites.blocked.size() - 1);
  CHECK(status_in(refused) == 400);
  CHECK(refused.find("too long for a browser") != std::string::npos);
  CHECK(status_in(save(preferences.sites.blocked.size() - 2)) == 303);
}

TEST_CASE("A batch has at most twenty calls", "[service][mcp][security]") {
  TestServer server;
  const auto batch = [&](std::size_t calls) {
    std::string body = "[";
    for (std::size_t i = 0; i < calls; ++i)
      body +=
          (i == 0 ? "" : ",") + (R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"ping"})");
    return status_in(server.post("/mcp", "application/json", body + "]"));
  };
  CHECK(batch(20) == 200);
  CHECK(batch(21) == 400);
  CHECK(batch(0) == 400);
}

TEST_CASE("A CSV cell that a spreadsheet would run is prefixed with an apostrophe",
          "[service][searxng][security]") {
  for (const std::string begin : {"=", "+", "-", "@", "\t", "\r", "\n"}) {
    SearchAnswer answer;
    FusedResult result;
    result.hit.title = begin + "1";
    result.hit.url = "http://a.example/";
    answer.results.push_back(result);
    ShownResults shown;
    shown.positions = {0};
    const std::string csv = searxng_csv(answer, shown);
    INFO(csv);
    CHECK(csv.find("'" + begin + "1") != std::string::npos);
    answer.results[0].hit.title = "1" + begin;
    CHECK(searxng_csv(answer, shown).find('\'') == std::string::npos);
  }
}

TEST_CASE("Every part of a request that shapes its answer is part of the cache key",
          "[service][rendered][security]") {
  Exchange exchange;
  auto snapshot = std::make_shared<Snapshot>();
  exchange.snapshot = snapshot;
  exchange.route = "search";
  exchange.request.method = "GET";
  exchange.request.target = "/search?q=a";
  exchange.request.headers = {{"Host", "localhost"}};
  std::set<std::string> keys{rendered_key(exchange)};
  std::size_t wanted = 1;
  const auto differs = [&](auto change) {
    Exchange other = exchange;
    change(other);
    keys.insert(rendered_key(other));
    CHECK(keys.size() == ++wanted);
  };
  KeyConfig raw;
  raw.roles = {Role::raw};
  auto next = std::make_shared<Snapshot>();
  next->generation = 1;
  differs([](Exchange& e) { e.request.method = "POST"; });
  differs([](Exchange& e) { e.request.target = "/search?q=b"; });
  differs([](Exchange& e) { e.request.body = "q=b"; });
  differs([](Exchange& e) { e.request.headers.push_back({"Content-Type", "application/json"}); });
  differs([](Exchange& e) { e.preferences.sites.blocked = {"a.example"}; });
  differs([](Exchange& e) { e.preferences.sites.raised = {"a.example"}; });
  differs([](Exchange& e) { e.request.headers[0].value = "other.example"; });
  differs([](Exchange& e) { e.is_https = true; });
  differs([&](Exchange& e) { e.key = &raw; });
  differs([&](Exchange& e) { e.snapshot = next; });
  // the parts that do not shape it are not in the key
  exchange.request.method = "HEAD";
  exchange.request.headers.push_back({"Accept", "text/html"});
  exchange.request.headers.push_back({"Cookie", "other=1"});
  keys.insert(rendered_key(exchange));
  CHECK(keys.size() == wanted);

  Exchange call;
  call.snapshot = snapshot;
  call.route = "mcp";
  call.request.method = "POST";
  call.request.target = "/mcp";
  call.request.headers = {{"Host", "localhost"}, {"Content-Type", "application/json"}};
  const auto body = [](const std::string& id, const std::string& query) {
    return R"({"jsonrpc":"2.0","id":)" + id +
           R"(,"method":"tools/call","params":{"name":"web_search","arguments":{"query":")" + query + "\"}}}";
  };
  call.request.body = body("1", "a");
  std::set<std::string> calls{rendered_key(call)};
  for (const char* name : {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Origin"}) {
    Exchange other = call;
    other.request.headers.push_back({name, "x"});
    calls.insert(rendered_key(other));
  }
  CHECK(calls.size() == 5);
  call.request.body = body("2", "a");
  CHECK(calls.contains(rendered_key(call)));
  CHECK(call.json->as_object().at("id") == 2);
  call.request.body = body("2", "b");
  CHECK_FALSE(calls.contains(rendered_key(call)));
  exchange.route = "home";
  CHECK(rendered_key(exchange).empty());
}

TEST_CASE("A set of sites covers the hosts that each of its sites covers", "[service][security]") {
  const SiteSet set({"*.a.example", "WWW.b.example", "", std::string(254, 'c') + ".example"});
  const auto covers = [&](const std::string& host) { return set.contains(PageAddress("http://" + host)); };
  for (const char* host : {"a.example", "x.a.example", "y.x.a.example", "b.example", "c.b.example"})
    CHECK(covers(host));
  for (const char* host : {"xa.example", "example", "", ".", "a.example.org"}) CHECK_FALSE(covers(host));
  const std::string longest = std::string(300, 'x') + ".a.example";
  CHECK(covers(longest));
  CHECK_FALSE(covers(std::string(254, 'c') + ".example"));
  const std::string name = std::string(60, 'd') + "." + std::string(192, 'e');  // 253 bytes
  CHECK(is_under_site("x." + name, name));
  CHECK_FALSE(SiteSet({}).contains(PageAddress("http://a.example/")));
}

TEST_CASE("A site may be a URL or a host with a path", "[service][search]") {
  for (const std::string site : {"https://A.example/", "a.example/", "http://www.a.example:8080",
                                 "*.a.example", ".example", ".a.example", "a.example.", " a.example ",
                                 "a.example/*", "https://*.a.example/*", "//a.example", "ada@a.example"}) {
    INFO(site);
    CHECK(is_under_site("a.example", site));
    CHECK(is_under_site("x.a.example/b/c", site));
  }
  for (const std::string site :
       {"a.example/in", "https://www.a.example/in/?x=/y#z", "a.example/in/*", "//a.example/in"}) {
    INFO(site);
    CHECK(is_under_site("a.example/in", site));
    CHECK(is_under_site("de.a.example/in/ada?q=/out", site));
    CHECK_FALSE(is_under_site("a.example/inn", site));
    CHECK_FALSE(is_under_site("a.example", site));
    CHECK_FALSE(is_under_site("a.example/?x=/in", site));
  }
  const std::string archived = "archive.example/web/https://a.example";
  CHECK(is_under_site(archived + "/b", archived));
  CHECK_FALSE(is_under_site("a.example", archived));
  for (const std::string site : {"::1", "[::1]", "http://[::1]:80/"})
    CHECK(is_under_site("[::1]:81/x", site));
  CHECK(is_under_site("[2001:db8::1]", "2001:db8::1"));
  CHECK_FALSE(is_under_site("[2001:db8::1]", "::1"));
  for (const std::string site : {"", ".", "*.", "http://", "[", "[]:1", ":1", "@"}) {
    INFO(site);
    CHECK_FALSE(is_under_site("a.example", site));
  }
  CHECK(is_under_site("xn--mller-kva.example", "https://M\u00fcller.example/"));
  CHECK(is_under_site("m\u00fcller.example", "xn--mller-kva.example"));
}
