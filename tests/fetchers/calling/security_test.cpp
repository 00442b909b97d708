// What an attacker must not be able to do: read an engine's credentials, reach our network, or make an engine
// unavailable to others.

#include <chrono>
#include <string>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fetchers/answers/answer_text.h"
#include "fetchers/calling/embedded_search.h"
#include "fetchers/engines/command/command_engine.h"
#include "fetchers/http/address_guard.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/chaos_server.h"
#include "tests/support/manual_clock.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const std::string kCredentials =
    "headers: {X-Secret: hush, X-Empty: '', Accept: application/json, Accept-Language: de}, username: ann, "
    "password: word";

FetchedList ask(Fetcher& fetcher, const std::string& engine, const std::string& text,
                Duration wait = seconds(5)) {
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", engine, text};
  return fetcher.fetch({&query, 1}, {.deadline = Deadline(clock, wait)}, {}).front();
}

/// Asks an engine together with a good one, so that the breaker is allowed to block the first.
FetchedList ask_beside_good(Fetcher& fetcher, const std::string& engine, const std::string& text,
                            Duration wait = seconds(5)) {
  const Clock& clock = machine_clock();
  const std::vector<ExpandedQuery> queries = {{"t", engine, text}, {"t", "good", text}};
  return fetcher.fetch(queries, {.deadline = Deadline(clock, wait)}, {}).front();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The reach of the same address in its binary form.
Reach reach_of_socket(const std::string& address) {
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  const bool is_v6 = address.find(':') != std::string::npos;
  storage.ss_family = is_v6 ? AF_INET6 : AF_INET;
  const int read = is_v6 ? ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr)
                         : ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr);
  REQUIRE(read == 1);
  return reach_of(reinterpret_cast<const sockaddr&>(storage));
}

}  // namespace

TEST_CASE("Credentials and headers are not sent along with a redirect to another origin",
          "[fetchers][security]") {
  const ChaosServer own, other;
  const auto fetcher =
      fetcher_of(block("e", "http://" + own.origin() + "/redirect-to?u={query}", kCredentials),
                 {.allow_private = {other.origin()}});
  CHECK(ask(*fetcher, "e", "http://" + other.origin() + "/ok?q=x").list.hits.size() == 3);
  CHECK(has(own.last_request(), "X-Secret: hush"));
  CHECK(has(own.last_request(), "Authorization: Basic"));
  CHECK(has(own.last_request(), "\r\nX-Empty:"));
  REQUIRE(other.requests() == 1);
  CHECK_FALSE(has(other.last_request(), "X-Secret"));
  CHECK_FALSE(has(other.last_request(), "Authorization"));
  // the headers that every client sends are not secret
  for (const char* line :
       {"Accept: application/json\r\n", "User-Agent: metafuse/0.1\r\n", "Accept-Language: de\r\n"})
    CHECK(has(other.last_request(), line));
  // At the definition's own origin they are sent again.
  CHECK(ask(*fetcher, "e", "http://" + own.origin() + "/ok?q=x").list.hits.size() == 3);
  CHECK(has(own.last_request(), "GET /ok?q=x"));
  CHECK(has(own.last_request(), "X-Secret: hush"));
}

TEST_CASE("A description document cannot send credentials to another origin", "[fetchers][security]") {
  const ChaosServer own, other;
  const auto described = [&](const ChaosServer& target) {
    return fetcher_of("  - {name: e, engine: opensearch_description, description_url: \"http://" +
                          own.origin() + "/description?" + target.origin() + "\", " + kCredentials + "}\n",
                      {.allow_private = {other.origin()}});
  };
  ask(*described(other), "e", "x");
  CHECK(has(own.last_request(), "X-Secret: hush"));
  REQUIRE(other.requests() == 1);
  CHECK(has(other.last_request(), "GET /ok?q=x"));
  CHECK_FALSE(has(other.last_request(), "X-Secret"));
  CHECK_FALSE(has(other.last_request(), "Authorization"));
  ask(*described(own), "e", "x");
  CHECK(has(own.last_request(), "GET /ok?q=x"));
  CHECK(has(own.last_request(), "X-Secret: hush"));
}

TEST_CASE("A description document is requested once and must have status 200", "[fetchers][security]") {
  const ChaosServer server;
  const auto described = [&](const std::string& path) {
    return fetcher_of("  - {name: e, engine: opensearch_description, description_url: \"http://" +
                      server.origin() + path + "\"}\n");
  };
  const auto fetcher = described("/description?" + server.origin());
  for (int i = 0; i < 3; ++i) ask(*fetcher, "e", "x" + std::to_string(i));
  CHECK(server.requests() == 4);
  for (const std::string status : {"201", "404", "499", "500"}) {
    const FetchedList list = ask(*described("/answers-" + status), "e", "x");
    CHECK(list.failure == Failure::http_status);
    CHECK(has(list.message, "description document: HTTP " + status));
  }
}

TEST_CASE("Three redirects are followed and a fourth is not", "[fetchers][security]") {
  const ChaosServer server;
  const auto fetcher = fetcher_of(block("e", "http://" + server.origin() + "/{query}?q=x"));
  CHECK(ask(*fetcher, "e", "hops-3").failure == Failure::none);
  CHECK(ask(*fetcher, "e", "hops-4").failure == Failure::bad_answer);
}

TEST_CASE("A redirect keeps or changes the method as its status requires", "[fetchers][security]") {
  const ChaosServer server;
  const auto asked = [&](const std::string& status, const std::string& more) {
    const auto fetcher =
        fetcher_of(block("e", "http://" + server.origin() + "/moved-" + status + "?q={query}", more));
    CHECK(ask(*fetcher, "e", "x").list.hits.size() == 3);
    const std::string request = server.last_request();
    REQUIRE(has(request, " /ok?q=moved "));
    return request.substr(0, request.find(' '));
  };
  for (const std::string status : {"301", "302", "303", "307", "308"}) {
    INFO(status);
    CHECK(asked(status, "") == "GET");
    CHECK(asked(status, "method: POST, request_body: 'x={query}'") == (status < "307" ? "GET" : "POST"));
  }
}

TEST_CASE("A posted body is not sent to another origin", "[fetchers][security]") {
  const ChaosServer own, other;
  const auto fetcher = fetcher_of(block("e", "http://" + own.origin() + "/forwarded-307?u={query}",
                                        "method: POST, request_body: 'hush=1&q={query}'"),
                                  {.allow_private = {other.origin()}});
  CHECK(ask(*fetcher, "e", "http://" + own.origin() + "/ok?q=x").list.hits.size() == 3);
  CHECK(has(own.last_request(), "POST /ok?q=x"));
  ask(*fetcher, "e", "http://" + other.origin() + "/ok?q=x");
  REQUIRE(other.requests() == 1);
  CHECK(has(other.last_request(), "GET /ok?q=x"));
  CHECK_FALSE(has(other.last_request(), "hush"));
}

TEST_CASE("At most two hundred header lines are read", "[fetchers][security]") {
  const ChaosServer server;
  CHECK(fetch_one(*fetcher_of(block("e", server.url("lines-200"))), "e").list.hits.size() == 3);
  CHECK(fetch_one(*fetcher_of(block("e", server.url("lines-201"))), "e").failure == Failure::too_large);
}

TEST_CASE("A head may have 64 KB and each hop has its own limit", "[fetchers][security]") {
  const ChaosServer server;
  const auto failure_of = [&](const std::string& fault) {
    return fetch_one(*fetcher_of(block("e", server.url(fault))), "e").failure;
  };
  CHECK(failure_of("head-65536") == Failure::none);
  CHECK(failure_of("head-65537") == Failure::too_large);
  CHECK(failure_of("wide-3") == Failure::none);  // 120 KB in total, and the bodies of the hops are not JSON
}

TEST_CASE("Proxies named by the environment are not used", "[fetchers][security]") {
  const ChaosServer server, proxy;
  const std::string address = "http://" + proxy.origin();
  for (const char* name : {"http_proxy", "all_proxy"}) REQUIRE(::setenv(name, address.c_str(), 1) == 0);
  const auto list = fetch_one(*fetcher_of(block("e", server.url("ok"))), "e");
  for (const char* name : {"http_proxy", "all_proxy"}) ::unsetenv(name);
  CHECK(list.failure == Failure::none);
  CHECK(proxy.requests() == 0);
  CHECK(server.requests() == 1);
}

TEST_CASE("Exactly the statuses from 200 to 299 are answers", "[fetchers][security]") {
  const ChaosServer server;
  for (const std::string status : {"200", "201", "299"}) {
    INFO(status);
    CHECK(fetch_one(*fetcher_of(block("e", server.url("answers-" + status))), "e").list.hits.size() == 3);
  }
  for (const std::string status : {"300", "400", "404", "499", "500", "501", "599"}) {
    INFO(status);
    CHECK(fetch_one(*fetcher_of(block("e", server.url("answers-" + status))), "e").failure ==
          Failure::http_status);
  }
}

TEST_CASE("An answer of exactly max_bytes is read and a larger one is not", "[fetchers][security]") {
  const ChaosServer server;
  for (const std::string fault : {"ok", "ok-chunked", "ok-gzip"}) {
    INFO(fault);
    auto engines = engines_of(block("fits", server.url(fault)) + block("larger", server.url(fault)));
    engines[0].max_bytes = chaos_results().size();
    engines[1].max_bytes = chaos_results().size() - 1;
    const auto fetcher = make_fetcher(engines);
    REQUIRE(fetcher.has_value());
    CHECK(ask(**fetcher, "fits", "x").list.hits.size() == 3);
    CHECK(ask(**fetcher, "larger", "x").failure == Failure::too_large);
  }
}

TEST_CASE("Refused queries do not make an engine unavailable to others", "[fetchers][security][breaker]") {
  const ChaosServer server;
  const auto fetcher =
      fetcher_of(block("e", "http://" + server.origin() + "/{query}?q=x") + block("good", server.url("ok")));
  for (const std::string refused : {"nothing-here-404", "json-error", "captcha-200", "redirect-nowhere"})
    for (int i = 0; i < 7; ++i) {
      INFO(refused);
      const FetchedList list = ask_beside_good(*fetcher, "e", refused);
      CHECK(list.has_failed());
      CHECK(list.failure != Failure::breaker_open);
    }
  CHECK(ask_beside_good(*fetcher, "e", "ok").list.hits.size() == 3);
}

TEST_CASE("Failures of the engine itself open its breaker", "[fetchers][security][breaker]") {
  const ChaosServer server;
  for (const std::string fault : {"status-500", "status-429", "refuse", "hang-after-request"}) {
    INFO(fault);
    const auto fetcher =
        fetcher_of(block("e", server.url(fault), "", "0.05") + block("good", server.url("ok")));
    FetchedList list;
    for (int i = 0; i < 6; ++i) list = ask_beside_good(*fetcher, "e", "x");
    CHECK(list.failure == Failure::breaker_open);
  }
}

TEST_CASE("A Retry-After header is read without the blanks around its value",
          "[fetchers][security][breaker]") {
  const ChaosServer server;
  const auto fetcher =
      fetcher_of(block("e", server.url("status-429-retry-after")) + block("good", server.url("ok")));
  CHECK(ask_beside_good(*fetcher, "e", "x").failure == Failure::rate_limited);
  CHECK(ask_beside_good(*fetcher, "e", "x").failure == Failure::breaker_open);
}

TEST_CASE("Connecting and the first byte have separate time limits", "[fetchers][security][deadline]") {
  const ChaosServer server;
  const auto asked = [&](const std::string& fault, const std::string& limits, const std::string& timeout) {
    const bool is_tls = fault.starts_with("tls-");
    return ask(
        *fetcher_of(block("e", server.url(fault), limits + (is_tls ? ", " + server.trust() : ""), timeout)),
        "e", "x", seconds(100));
  };
  const FetchedList first = asked("hang-after-request", "first_byte_timeout: 0.05", "60");
  CHECK(first.failure == Failure::timeout);
  CHECK(first.elapsed < seconds(30));
  const FetchedList connecting = asked("tls-deaf", "connect_timeout: 0.05", "60");
  CHECK(connecting.failure == Failure::timeout);
  CHECK(connecting.elapsed < seconds(30));
  // these limits do not apply to later parts of the transfer
  CHECK(asked("hang-in-body", "first_byte_timeout: 0.05, connect_timeout: 0.05", "0.5").elapsed >=
        milliseconds(400));
  CHECK(asked("hang-after-request", "connect_timeout: 0.05", "0.5").elapsed >= milliseconds(400));
}

TEST_CASE("A probe that the engine answers closes its breaker even if it refuses the query",
          "[fetchers][security][breaker]") {
  const ChaosServer server;
  ManualClock clock;
  const auto fetcher =
      fetcher_of(block("e", "http://" + server.origin() + "/{query}?q=x") + block("good", server.url("ok")),
                 {.clock = &clock});
  for (int i = 0; i < 5; ++i) ask_beside_good(*fetcher, "e", "status-500");
  CHECK(ask_beside_good(*fetcher, "e", "ok").failure == Failure::breaker_open);
  clock.advance(seconds(2));
  // no search waits for the probe
  CHECK(ask_beside_good(*fetcher, "e", "nothing-here-404").failure == Failure::breaker_open);
  bool is_back = false;
  for (int i = 0; i < 2000 && !is_back; ++i)
    is_back = ask_beside_good(*fetcher, "e", "ok").list.hits.size() == 3;
  CHECK(is_back);
}

TEST_CASE("A client's short deadline does not make an engine unavailable to others",
          "[fetchers][security][breaker]") {
  const ChaosServer server;
  const auto fetcher =
      fetcher_of(block("slow", server.url("ok-slow-start"), "", "5") + block("good", server.url("ok")));
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i);
    CHECK(ask_beside_good(*fetcher, "slow", "hasty" + number, Duration(1)).failure == Failure::timeout);
    CHECK(ask_beside_good(*fetcher, "slow", "patient" + number).failure == Failure::none);
  }
}

TEST_CASE("An engine is not asked if it cannot answer in time", "[fetchers][security]") {
  const ChaosServer server;
  const auto fetcher = fetcher_of(block("e", "http://" + server.origin() + "/ok?q={query}", "", "60"));
  for (int i = 0; i < 16; ++i)
    REQUIRE(ask(*fetcher, "e", std::to_string(i), seconds(60)).list.hits.size() == 3);
  for (int i = 0; i < 100; ++i)
    CHECK(ask(*fetcher, "e", "hurry" + std::to_string(i), std::chrono::microseconds(1)).failure ==
          Failure::timeout);
  CHECK(ask(*fetcher, "e", "calm", seconds(60)).list.hits.size() == 3);
  CHECK(server.requests() == 17);
}

TEST_CASE("Quick empty answers do not shorten the wait for real queries", "[fetchers][security]") {
  const ChaosServer server;
  const auto fetcher = fetcher_of(
      block("e", "http://" + server.origin() + "/{query}?q=x", "", "5") + block("good", server.url("ok")),
      {.learned_wait = {.floor = Duration(1), .ceiling = Duration(1)}});
  for (int i = 0; i < 64; ++i) CHECK(ask(*fetcher, "e", "ok-nothing").failure == Failure::none);
  CHECK(ask_beside_good(*fetcher, "e", "ok-slow-start").list.hits.size() == 3);
}

TEST_CASE("Without any result an engine is waited for until the deadline", "[fetchers][security]") {
  const ChaosServer server;
  const auto fetcher = fetcher_of(block("e", "http://" + server.origin() + "/{query}?q=x", "", "5"),
                                  {.learned_wait = {.floor = Duration(1), .ceiling = Duration(1)}});
  for (int i = 0; i < 20; ++i) CHECK(ask(*fetcher, "e", "ok").failure == Failure::none);
  CHECK(ask(*fetcher, "e", "ok-slow-start").list.hits.size() == 3);
}

TEST_CASE("A query that is too long for an engine is not sent to it", "[fetchers][security]") {
  const ChaosServer server;
  const auto fetcher =
      fetcher_of(block("e", server.url("ok")) + block("short", server.url("ok"), "max_query_bytes: 3"));
  CHECK(ask(*fetcher, "e", std::string(2000, 'x')).failure == Failure::none);
  CHECK(ask(*fetcher, "short", "abc").failure == Failure::none);
  const int before = server.requests();
  CHECK(ask(*fetcher, "e", std::string(2001, 'x')).failure == Failure::query_too_long);
  const FetchedList list = ask(*fetcher, "short", "abcd");
  CHECK(list.failure == Failure::query_too_long);
  CHECK(has(list.message, "max_query_bytes of 3"));
  CHECK(server.requests() == before);
}

TEST_CASE("Engines without HTTP keep their own timeout", "[fetchers][security]") {
  const Clock& clock = machine_clock();
  const TimePoint begin = clock.now();
  const auto fetcher =
      fetcher_of("  - {name: c, engine: command, command: [/bin/sleep, \"{{QUERY}}\"], timeout: 0.05}\n");
  CHECK(ask(*fetcher, "c", "30", seconds(60)).failure == Failure::timeout);
  CHECK(clock.now() - begin < seconds(20));
}

TEST_CASE("A command inherits no file descriptors", "[fetchers][security]") {
  const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD, 97);  // without FD_CLOEXEC
  REQUIRE(kept >= 97);
  const Clock& clock = machine_clock();
  CommandAccess access;
  access.arguments = {"/bin/sh", "-c", "echo \"$(ls /proc/$$/fd | tr '\\n' ' ')|x\"", "{{QUERY}}"};
  access.fields = {"content", "url"};
  access.delimiter = "|";
  access.url_prefix = "http://e.example/";
  const auto list = search_command(access, "q", 10, Deadline(clock, seconds(20)));
  ::close(kept);
  REQUIRE(list.has_value());
  REQUIRE(list->hits.size() == 1);
  CHECK(has(list->hits[0].snippet, "0 1 2"));
  CHECK_FALSE(has(list->hits[0].snippet, std::to_string(kept)));
}

TEST_CASE("An open connection of another engine does not give access to its private address",
          "[fetchers][security][ssrf]") {
  const ChaosServer inside, outside;
  const auto fetcher = fetcher_of(block("inside", inside.url("ok")) +
                                  block("outside", "http://" + outside.origin() + "/redirect-to?u={query}"));
  CHECK(ask(*fetcher, "inside", "x").list.hits.size() == 3);
  CHECK(ask(*fetcher, "outside", "http://" + inside.origin() + "/ok?q=x").failure == Failure::not_allowed);
  CHECK(ask(*fetcher, "inside", "y").list.hits.size() == 3);
  CHECK(inside.requests() == 2);
}

TEST_CASE("A public name that resolves to a private address later is refused", "[fetchers][security][ssrf]") {
  const auto is_private = [](const std::string& host, Reach reach) {
    return OwnHost::find(host, [reach](const std::string&) { return reach; })->is_private();
  };
  CHECK(is_private("search.example.org", Reach::us_only));
  CHECK_FALSE(is_private("search.example.org", Reach::everyone));
  CHECK_FALSE(is_private("search.example.org", Reach::nobody));
  for (const std::string local :
       {"localhost", "intranet", "a.localhost", "nas.local", "db.internal", "tv.home.arpa", "e.test",
        "pc.lan", "127.0.0.1", "10.1.2.3", "[::1]", "[fd00::1]"}) {
    INFO(local);
    CHECK(is_private(local, Reach::everyone));  // known without a lookup
  }
  for (const std::string other : {"local.example", "mylocal", "home.arpa.example", "a.testing", "a.plan"})
    CHECK(is_private(other, Reach::everyone) == (other == "mylocal"));  // "mylocal" has no dot
  for (const std::string number : {"8.8.8.8", "[2606:4700::1111]"})
    CHECK_FALSE(is_private(number, Reach::us_only));

  // The transport checks this: the same private server, whose name was public or private when it was loaded.
  const ChaosServer server;
  for (const Reach reach : {Reach::everyone, Reach::us_only}) {
    const auto fetcher =
        fetcher_of(block("e", server.url("ok")), {.wrap_transport = [&](std::unique_ptr<Transport> inner) {
                     struct Renamed final : Transport {
                       Renamed(std::unique_ptr<Transport> wrapped, Reach found)
                           : inner(std::move(wrapped)), reach(found) {}
                       void send(EngineRequest request, Done done) override {
                         request.own_host = OwnHost::find("search.example.org",
                                                          [this](const std::string&) { return reach; });
                         inner->send(std::move(request), std::move(done));
                       }
                       std::unique_ptr<Transport> inner;
                       Reach reach;
                     };
                     return std::unique_ptr<Transport>(std::make_unique<Renamed>(std::move(inner), reach));
                   }});
    CHECK(ask(*fetcher, "e", "x").failure ==
          (reach == Reach::us_only ? Failure::none : Failure::not_allowed));
  }
  CHECK(server.requests() == 1);
}

TEST_CASE("Special address blocks have exact bounds and their neighbours are public",
          "[fetchers][security][ssrf]") {
  struct Block {
    std::string before, first, last, after;  // empty: the neighbour belongs to another block
    Reach reach;
  };
  // IANA's special-purpose registries.
  const std::vector<Block> blocks = {
      {"", "0.0.0.0", "0.255.255.255", "1.0.0.0", Reach::us_only},
      {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", Reach::us_only},
      {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", Reach::us_only},
      {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", Reach::us_only},
      {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", Reach::nobody},
      {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", Reach::us_only},
      {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", Reach::us_only},
      {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", Reach::us_only},
      {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", Reach::us_only},
      {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", Reach::us_only},
      {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", Reach::us_only},
      {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", Reach::us_only},
      {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", Reach::us_only},
      {"223.255.255.255", "224.0.0.0", "239.255.255.255", "", Reach::nobody},
      {"", "240.0.0.0", "255.255.255.255", "", Reach::nobody},
      {"", "::", "::1", "", Reach::us_only},
      {"", "::10.0.0.0", "::10.255.255.255", "::11.0.0.0", Reach::us_only},
      {"", "::169.254.0.0", "::169.254.255.255", "::169.255.0.0", Reach::nobody},
      {"::ffff:0:9.255.255.255", "::ffff:0:10.0.0.0", "::ffff:0:10.255.255.255", "::ffff:0:11.0.0.0",
       Reach::us_only},
      {"::ffff:0:169.253.255.255", "::ffff:0:169.254.0.0", "::ffff:0:169.254.255.255", "::ffff:0:169.255.0.0",
       Reach::nobody},
      {"::ffff:169.253.255.255", "::ffff:169.254.0.0", "::ffff:169.254.255.255", "::ffff:169.255.0.0",
       Reach::nobody},
      {"64:ff9b::169.253.255.255", "64:ff9b::169.254.0.0", "64:ff9b::169.254.255.255", "64:ff9b::169.255.0.0",
       Reach::nobody},
      {"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "",
       Reach::us_only},
      {"", "::ffff:10.0.0.0", "::ffff:10.255.255.255", "::ffff:11.0.0.0", Reach::us_only},
      {"64:ff9b::9.255.255.255", "64:ff9b::10.0.0.0", "64:ff9b::10.255.255.255", "64:ff9b::11.0.0.0",
       Reach::us_only},
      {"", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "", Reach::us_only},
      {"", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
       "2000::", Reach::us_only},
      {"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
       "2001:200::", Reach::us_only},
      {"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
       "2001:db9::", Reach::us_only},
      {"2002:9ff:ffff::", "2002:a00::", "2002:aff:ffff::", "2002:b00::", Reach::us_only},
      {"", "4000::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Reach::us_only},
      {"", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Reach::nobody},
      {"", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Reach::us_only},
      {"", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Reach::nobody},
  };
  for (const Block& block : blocks) {
    for (const std::string& inside : {block.first, block.last}) {
      INFO(inside);
      CHECK(reach_of(inside) == block.reach);
      CHECK(reach_of_socket(inside) == block.reach);
    }
    for (const std::string& outside : {block.before, block.after}) {
      INFO(outside);
      if (outside.empty()) continue;
      CHECK(reach_of(outside) == Reach::everyone);
      CHECK(reach_of_socket(outside) == Reach::everyone);
    }
  }
}

TEST_CASE("Text in another charset is converted completely at any length", "[fetchers][security][text]") {
  for (const std::size_t letters : {2047U, 2048U, 2049U, 5000U}) {
    std::string wanted;
    for (std::size_t i = 0; i < letters; ++i) wanted += "é";
    CHECK(as_utf8(std::string(letters, '\xE9'), "iso-8859-1") == wanted);
  }
}
