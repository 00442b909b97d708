#include "fetchers/http/address_guard.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/url.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/http/engine_request.h"
#include "tests/support/chaos_server.h"
#include "tests/support/manual_clock.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

/// Spellings of addresses that an engine must not reach if its definition names another host. PORT stands for
/// the port of our own server.
const std::vector<std::string> kSpellings = {"127.0.0.1:PORT",
                                             "127.1:PORT",
                                             "127.0.1:PORT",
                                             "2130706433:PORT",
                                             "0x7f000001:PORT",
                                             "0x7f.1:PORT",
                                             "0x7f.0.0.1:PORT",
                                             "0177.0.0.1:PORT",
                                             "0177.1:PORT",
                                             "017700000001:PORT",
                                             "127.000.000.001:PORT",
                                             "127.0.0.1.:PORT",
                                             "127.0.0.2:PORT",
                                             "127.255.255.254:PORT",
                                             "127.127.127.127:PORT",
                                             "0:PORT",
                                             "0.0.0.0:PORT",
                                             "0.0.0.1:PORT",
                                             "0x0:PORT",
                                             "00000000:PORT",
                                             "localhost:PORT",
                                             "LOCALHOST:PORT",
                                             "LocalHost.:PORT",
                                             "localhost.localdomain:PORT",
                                             "ip6-localhost:PORT",
                                             "[::1]:PORT",
                                             "[0:0:0:0:0:0:0:1]:PORT",
                                             "[0000:0000:0000:0000:0000:0000:0000:0001]:PORT",
                                             "[::]:PORT",
                                             "[0::0]:PORT",
                                             "[::ffff:127.0.0.1]:PORT",
                                             "[::ffff:7f00:1]:PORT",
                                             "[0:0:0:0:0:ffff:127.0.0.1]:PORT",
                                             "[::FFFF:7F00:0001]:PORT",
                                             "[::127.0.0.1]:PORT",
                                             "[::7f00:1]:PORT",
                                             "[64:ff9b::127.0.0.1]:PORT",
                                             "[64:ff9b::7f00:1]:PORT",
                                             "[64:ff9b:1::1]:PORT",
                                             "[2002:7f00:1::]:PORT",
                                             "[2002:0a00:1::1]:PORT",
                                             "[2001:0:7f00:1::]:PORT",
                                             "[fe80::1]:PORT",
                                             "[fe80::1%25lo]:PORT",
                                             "[fc00::1]:PORT",
                                             "[fd00:ec2::254]",
                                             "[fec0::1]:PORT",
                                             "[ff02::1]:PORT",
                                             "[2001:db8::1]:PORT",
                                             "[::ffff:169.254.169.254]",
                                             "[::ffff:10.0.0.1]:PORT",
                                             "169.254.169.254",
                                             "169.254.1.1:PORT",
                                             "2852039166",
                                             "0xA9FEA9FE",
                                             "0251.0376.0251.0376",
                                             "10.0.0.1:PORT",
                                             "10.1:PORT",
                                             "167772161:PORT",
                                             "172.16.0.1:PORT",
                                             "172.31.255.255:PORT",
                                             "192.168.0.1:PORT",
                                             "192.168.1:PORT",
                                             "3232235521:PORT",
                                             "100.64.0.1:PORT",
                                             "192.0.0.8:PORT",
                                             "192.0.2.1:PORT",
                                             "198.18.0.1:PORT",
                                             "198.51.100.1:PORT",
                                             "203.0.113.1:PORT",
                                             "224.0.0.1:PORT",
                                             "239.255.255.250:PORT",
                                             "240.0.0.1:PORT",
                                             "255.255.255.255:PORT",
                                             "127.0.0.1%2e:PORT",
                                             "127。0。0。1:PORT",
                                             "①②⑦.⓪.⓪.①:PORT",
                                             "user@127.0.0.1:PORT",
                                             "example.org@127.0.0.1:PORT",
                                             "127.0.0.1:PORT#@example.org",
                                             "127.0.0.1:0PORT"};

std::string with_port(std::string text, std::uint16_t port) {
  const std::size_t at = text.find("PORT");
  if (at != std::string::npos) text.replace(at, 4, std::to_string(port));
  return text;
}

/// Sends every request to one fixed URL.
class Scripted final : public Transport {
 public:
  Scripted(std::unique_ptr<Transport> inner, std::string url)
      : inner_(std::move(inner)), url_(std::move(url)) {}
  void send(EngineRequest request, Done done) override {
    request.url = url_;
    inner_->send(std::move(request), std::move(done));
  }

 private:
  std::unique_ptr<Transport> inner_;
  std::string url_;
};

FetchedList fetch(Fetcher& fetcher) {
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "e", "x"};
  return fetcher.fetch({&query, 1}, {.deadline = Deadline(clock, std::chrono::seconds(2))}, {}).front();
}

std::vector<Engine> engine(const std::string& search_url) {
  const auto file =
      parse_engine_file("engines:\n  - {name: e, engine: json_engine, search_url: \"" + search_url +
                            "\", results_query: results, url_query: url, title_query: title, timeout: 1}\n",
                        "e.yaml");
  if (!file) return {};
  return file->engines;
}

}  // namespace

TEST_CASE("No spelling of a private address is reached by an engine defined for another host",
          "[fetchers][ssrf]") {
  REQUIRE(kSpellings.size() >= 60);
  const test::ChaosServer victim;
  for (const std::string& spelling : kSpellings) {
    const std::string url = "http://" + with_port(spelling, victim.port()) + "/ok?q=x";
    INFO(url);
    FetcherOptions options;
    options.wrap_transport = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
      return std::make_unique<Scripted>(std::move(inner), url);
    };
    const auto fetcher = make_fetcher(engine("http://192.0.2.77:9/?q={query}"), options);
    REQUIRE(fetcher.has_value());
    const FetchedList list = fetch(**fetcher);
    CHECK(list.has_failed());
    CHECK(list.list.hits.empty());
  }
  CHECK(victim.requests() == 0);
}

TEST_CASE("No spelling of a private address is reached through a redirect", "[fetchers][ssrf]") {
  const test::ChaosServer victim;
  const test::ChaosServer server;
  for (const std::string& spelling : kSpellings) {
    const std::string url = "http://" + with_port(spelling, victim.port()) + "/ok?q=x";
    INFO(url);
    // The engine's own private address is allowed; the address that it redirects to is not.
    const auto fetcher = make_fetcher(engine("http://" + server.origin() + "/redirect-to?u=" + "{query}"));
    REQUIRE(fetcher.has_value());
    const Clock& clock = machine_clock();
    const ExpandedQuery query{"t", "e", url};
    const auto list =
        (*fetcher)->fetch({&query, 1}, {.deadline = Deadline(clock, std::chrono::seconds(2))}, {}).front();
    CHECK(list.has_failed());
  }
  CHECK(server.requests() == static_cast<int>(kSpellings.size()));
  CHECK(victim.requests() == 0);
}

TEST_CASE("No spelling of a private address is reached through a description document", "[fetchers][ssrf]") {
  const test::ChaosServer victim;
  const test::ChaosServer server;
  for (const std::string& spelling : kSpellings) {
    const std::string url = with_port(spelling, victim.port());
    INFO(url);
    const auto file = parse_engine_file(
        "engines:\n  - {name: e, engine: opensearch_description, description_url: \"http://" +
            server.origin() + "/description?" + url + "\"}\n",
        "e.yaml");
    if (!file) continue;  // a definition that no URL parser accepts is refused earlier
    const auto fetcher = make_fetcher(file->engines);
    REQUIRE(fetcher.has_value());
    CHECK(fetch(**fetcher).has_failed());
  }
  CHECK(server.requests() > 40);
  CHECK(victim.requests() == 0);
}

TEST_CASE("No query or language or time range can choose the host", "[fetchers][ssrf]") {
  for (const std::string search_url :
       {"http://e.example:81/{query}", "http://e.example:81?q={query}{time_range}",
        "http://e.example:81/x{query}", "http://{lang}.e.example:81/?q={query}",
        "http://e.example:81/?q=1&l={lang}#{query}"}) {
    const auto engines = engine(search_url);
    REQUIRE(engines.size() == 1);
    const auto ready = ready_access(engines.front(), SecretLookup());
    REQUIRE(ready.has_value());
    for (const std::string& spelling : kSpellings)
      for (const std::string& value :
           {"@" + with_port(spelling, 80), "//" + with_port(spelling, 80), "\\" + with_port(spelling, 80),
            "/../../" + with_port(spelling, 80), with_port(spelling, 80) + "/",
            "\r\nHost: " + with_port(spelling, 80)}) {
        const Clock& clock = machine_clock();
        const FetchOptions options{
            .deadline = Deadline(clock, Duration(0)), .language = value, .time_range = value};
        const EngineRequest request = build_request(engines.front(), *ready, value, options, 1);
        INFO(search_url << " with " << value << ": " << request.url);
        const auto parts = parts_of_url(request.url);
        REQUIRE(parts.has_value());
        const bool is_own = parts->origin() == "e.example:81" || parts->origin() == "all.e.example:81";
        CHECK(is_own);
        for (const auto& [name, header] : request.headers)
          CHECK(header.find_first_of("\r\n") == std::string::npos);
      }
  }
}

TEST_CASE("Addresses are classified by who can be behind them", "[fetchers][ssrf]") {
  for (const std::string text : {"8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1",
                                 "100.63.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1111", "2a00:1450::1",
                                 "64:ff9b::808:808", "::ffff:8.8.8.8", "2002:808:808::1"}) {
    INFO(text);
    CHECK(reach_of(text) == Reach::everyone);
  }
  for (const std::string text :
       {"127.0.0.1", "0.0.0.0", "10.0.0.1", "192.168.1.1", "172.16.5.4", "100.64.0.1", "::1", "::", "fc00::1",
        "fdff::1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001::1"}) {
    INFO(text);
    CHECK(reach_of(text) == Reach::us_only);
  }
  for (const std::string text : {"169.254.169.254", "224.0.0.1", "255.255.255.255", "fe80::1", "fe80::1%eth0",
                                 "ff02::1", "::ffff:169.254.169.254", "no address", ""}) {
    INFO(text);
    CHECK(reach_of(text) == Reach::nobody);
  }
}

TEST_CASE("A host whose name was not found is looked up again, but only for some minutes",
          "[fetchers][ssrf]") {
  test::ManualClock clock;
  std::atomic<int> looked_up = 0;
  std::atomic<bool> is_found = false;
  const auto found = [&] {
    return OwnHost::find(
        "search.corp.example",
        [&](const std::string&) -> std::optional<Reach> {
          ++looked_up;
          return is_found ? std::optional(Reach::us_only) : std::nullopt;
        },
        clock);
  };
  auto host = found();
  CHECK_FALSE(host->is_private());
  is_found = true;
  CHECK_FALSE(host->is_private());  // not at once
  CHECK(looked_up == 1);
  clock.advance(std::chrono::seconds(6));
  CHECK(host->is_private());
  CHECK(looked_up == 2);
  clock.advance(std::chrono::hours(1));
  CHECK(host->is_private());  // what was found stays
  is_found = false;
  host = found();
  CHECK_FALSE(host->is_private());
  is_found = true;
  clock.advance(std::chrono::hours(1));  // whoever has taken over the name by now cannot lead us anywhere
  CHECK_FALSE(host->is_private());
  CHECK(looked_up == 3);
}

TEST_CASE("The setting allow_private opens only the named host and port and never link-local",
          "[fetchers][ssrf]") {
  const auto guard = AddressGuard::make({"Intranet.example:8080", "[::1]:9200"});
  REQUIRE(guard.has_value());
  CHECK(guard->may_connect(Reach::us_only, "intranet.example:8080", ""));
  CHECK(guard->may_connect(Reach::us_only, "[::1]:9200", ""));
  CHECK_FALSE(guard->may_connect(Reach::us_only, "intranet.example:8081", ""));
  CHECK_FALSE(guard->may_connect(Reach::us_only, "other.example:8080", ""));
  CHECK(guard->may_connect(Reach::us_only, "own.example:80", "own.example:80"));
  CHECK_FALSE(guard->may_connect(Reach::us_only, "own.example:81", "own.example:80"));
  CHECK_FALSE(guard->may_connect(Reach::us_only, "", ""));
  CHECK(guard->may_connect(Reach::everyone, "other.example:8080", ""));
  CHECK_FALSE(guard->may_connect(Reach::nobody, "intranet.example:8080", "intranet.example:8080"));
  for (const std::string bad :
       {"", "host", ":80", "host:", "host:x", "http://host:80", "host:80/path", "u@host:80"}) {
    INFO(bad);
    CHECK_FALSE(AddressGuard::make({bad}).has_value());
  }
}
