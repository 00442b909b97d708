// Engines that pass on the reader's own token: their results belong to that reader alone.

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "service/base/addresses.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

TEST_CASE("Answers fetched with a reader's token are cached for that reader alone", "[service][identity]") {
  TestServer server(TestServer::default_answer, "", kTwoTemplates, nullptr, {"x-user-token"});
  const auto ask = [&](const std::string& token) {
    const std::string header = token.empty() ? "" : "X-User-Token: " + token + "\r\n";
    return server.get("/search?q=ada&format=json", header).find("\"results\"") != std::string::npos;
  };
  const auto fetches_by = [&](const std::string& token) {
    const int before = server.fetcher().fetches();
    CHECK(ask(token));
    return server.fetcher().fetches() - before;
  };
  CHECK(fetches_by("ann") > 0);
  CHECK(server.fetcher().forwarded() ==
        std::vector<std::pair<std::string, std::string>>{{"x-user-token", "ann"}});
  CHECK(fetches_by("ann") == 0);
  CHECK(fetches_by("bob") > 0);
  CHECK(fetches_by("") > 0);
  CHECK(server.fetcher().forwarded().empty());
  for (int i = 0; i < 3; ++i) {  // often enough to be kept as a rendered answer
    CHECK(fetches_by("ann") == 0);
    CHECK(fetches_by("bob") == 0);
  }
  CHECK(fetches_by("cleo") > 0);
}

TEST_CASE("Answers fetched with a reader's token are never used for suggestions",
          "[service][identity][security]") {
  const auto answer = [](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    list.list.suggestions = {"seen of " + query.text};
    return list;
  };
  TestServer server(answer, "trusted_proxies: [127.0.0.1]\n", kTwoTemplates, nullptr, {"x-user-token"});
  for (int i = 1; i <= 5; ++i) {
    const std::string sender = "X-Forwarded-For: 10.0." + std::to_string(i) + ".1\r\n";
    server.get("/search?q=ada&format=json", sender + "X-User-Token: ann\r\n");
    server.get("/search?q=bob&format=json", sender);
  }
  const std::string suggested = server.get("/autocompleter?q=seen");
  CHECK(suggested.find("seen of bob") != std::string::npos);
  CHECK(suggested.find("seen of ada") == std::string::npos);
}

TEST_CASE("A search is asked for by the sender of its request", "[service][search][security]") {
  TestServer server(TestServer::default_answer,
                    "trusted_proxies: [127.0.0.1]\nkeys: [{name: team, sha256: " + sha256_hex("k") + "}]\n",
                    kTwoTemplates);
  server.get("/search?q=a&format=json", "X-Forwarded-For: 10.1.2.3\r\n");
  server.get("/search?q=b&format=json", "X-Forwarded-For: 10.9.2.3\r\n");
  server.get("/search?q=c&format=json", "X-Forwarded-For: 10.9.2.3\r\nAuthorization: Bearer k\r\n");
  const auto senders = server.fetcher().senders();
  REQUIRE(senders.size() == 3);
  CHECK(senders[0] == address_prefix("10.1.2.3"));
  CHECK(senders[1] == address_prefix("10.9.2.3"));
  CHECK(senders[2] == "key team");
}

TEST_CASE("Headers that no engine asks for are not passed on", "[service][identity]") {
  TestServer server;
  server.get("/search?q=ada&format=json", "X-User-Token: ann\r\nAuthorization: Bearer b\r\n");
  CHECK(server.fetcher().fetches() > 0);
  CHECK(server.fetcher().forwarded().empty());
}

TEST_CASE("A search that comes back through another server does not wait for itself",
          "[service][search][security]") {
  TestServer* asked = nullptr;
  std::atomic<bool> was_asked = false;
  std::string inner;
  TestServer server([&](const ExpandedQuery& query) {
    if (!was_asked.exchange(true)) inner = asked->get("/search?q=ada&format=json", "X-Metafuse-Hops: 2\r\n");
    return TestServer::default_answer(query);
  });
  asked = &server;
  CHECK(server.get("/search?q=ada&format=json").find("a.example") != std::string::npos);
  CHECK(status_in(inner) == 200);
  CHECK(inner.find("a.example") != std::string::npos);
  CHECK(server.fetcher().hops() == std::vector<int>{0, 2});
}
