// `auth:` of definitions: tokens (fetched, kept, renewed and never written to a file), and headers that are
// passed on from the reader.

#include "fetchers/engines/http/authorization.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "fetchers/calling/earlier_fetchers.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/http/access_tokens.h"
#include "fetchers/engines/http/ready_access.h"
#include "fetchers/recording/har_archive.h"
#include "tests/fetchers/engines/http/authorized_engine.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using metafuse::test::answer_of;
using metafuse::test::fetcher_with;
using metafuse::test::file_with;
using metafuse::test::header_of;
using metafuse::test::kAnswer;
using metafuse::test::kKeys;
using metafuse::test::Script;
using metafuse::test::scripted_options;
using metafuse::test::search_once;

namespace {

const std::string kOauth =
    "type: oauth2, token_url: \"https://login.example/token\", client_id: me, client_secret: \"${SECRET}\", "
    "scope: \"a b\"";

/// A token server that counts its requests, and an engine that accepts only the newest token.
struct TokenServer {
  int handed_out = 0;
  int refused = 0;

  HttpAnswer operator()(const EngineRequest& request) {
    if (request.url == "https://login.example/token") {
      const std::string number = std::to_string(++handed_out);
      return answer_of(R"({"access_token":"tok-)" + number +
                       R"(","token_type":"bearer","expires_in":100,"refresh_token":"next-)" + number + "\"}");
    }
    const bool is_known = header_of(request, "Authorization") == "Bearer tok-" + std::to_string(handed_out);
    if (!is_known) ++refused;
    return is_known ? answer_of(kAnswer) : answer_of("who are you", 401);
  }
};

}  // namespace

TEST_CASE("A token is fetched once and renewed before it expires or when it is refused", "[fetchers][auth]") {
  TokenServer server;
  Script script{[&](const EngineRequest& request) { return server(request); }, {}};
  test::ManualClock clock;
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  const auto fetcher = fetcher_with(kOauth, options);
  CHECK(search_once(*fetcher, clock).list.hits.size() == 1);
  REQUIRE(script.requests.size() == 2);
  CHECK(script.requests[0].body ==
        "grant_type=client_credentials&scope=a+b&client_id=me&client_secret=s3cret-SECRET");
  CHECK(script.requests[1].own_origin == "api.example:443");
  CHECK(search_once(*fetcher, clock).list.hits.size() == 1);
  CHECK(server.handed_out == 1);
  clock.advance(std::chrono::seconds(81));  // of 100: a new token is fetched in the background of the search
  search_once(*fetcher, clock);
  CHECK(server.handed_out == 2);
  clock.advance(std::chrono::seconds(1));
  CHECK(search_once(*fetcher, clock).list.hits.size() == 1);
  CHECK(server.handed_out == 2);
  const int refused_before = server.refused;
  ++server.handed_out;  // the server accepts only tok-3: the refused search renews the token and asks again
  CHECK(search_once(*fetcher, clock).list.hits.size() == 1);
  CHECK(server.handed_out == 4);
  CHECK(server.refused == refused_before + 1);
}

TEST_CASE("A refused token is renewed only once per search", "[fetchers][auth]") {
  int tokens = 0;
  bool hands_out = true;
  Script script{[&](const EngineRequest& request) {
                  if (request.url != "https://login.example/token") return answer_of("who are you", 401);
                  if (!hands_out) return answer_of(R"({"error":"invalid_client"})", 400);
                  return answer_of(R"({"access_token":"t)" + std::to_string(++tokens) + "\"}");
                },
                {}};
  test::ManualClock clock;
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  options.uses_breaker = false;
  const auto fetcher = fetcher_with(kOauth, options);
  const FetchedList refused = search_once(*fetcher, clock);
  CHECK(refused.failure == Failure::http_status);
  CHECK(refused.message.find("401") != std::string::npos);
  CHECK(tokens == 2);
  CHECK(script.requests.size() == 4);
  CHECK(header_of(script.requests[1], "Authorization") == "Bearer t1");
  CHECK(header_of(script.requests[3], "Authorization") == "Bearer t2");
  hands_out = false;
  CHECK(search_once(*fetcher, clock).failure == Failure::not_allowed);
  CHECK(tokens == 2);
}

TEST_CASE("A token that an engine repeats is hidden, also the one that replaced a refused one",
          "[fetchers][auth][security]") {
  int tokens = 0;
  std::string body;
  int status = 200;
  Script script{[&](const EngineRequest& request) {
                  if (request.url == "https://login.example/token")
                    return answer_of(R"({"access_token":"bearer-)" + std::to_string(++tokens) + "\"}");
                  if (header_of(request, "Authorization") == "Bearer bearer-1")
                    return answer_of("not bearer-1", 401);
                  return answer_of(body, status);
                },
                {}};
  const Clock& clock = machine_clock();
  FetcherOptions options = scripted_options(script);
  options.uses_breaker = false;
  const auto fetcher = fetcher_with(kOauth, options);
  body = R"({"r":[{"u":"https://a.example/?by=bearer-2","t":"for bearer-1, then bearer-2"}]})";
  const FetchedList list = search_once(*fetcher, clock);
  REQUIRE(list.list.hits.size() == 1);
  CHECK(list.list.hits[0].url == "https://a.example/?by=REDACTED");
  CHECK(list.list.hits[0].title == "for REDACTED, then REDACTED");
  body = R"({"error":"bearer-2 may not do this"})";
  CHECK(search_once(*fetcher, clock).message == "e: the engine says: REDACTED may not do this");
  status = 403;
  CHECK(search_once(*fetcher, clock).message.find("REDACTED may not") != std::string::npos);
  std::string recorded = "by bearer-2";  // the second request, whose token is the newer one
  redact(recorded, script.requests[3].secrets);
  CHECK(recorded == "by REDACTED");
}

TEST_CASE("A refresh token is used and replaced by the next one that the server sends", "[fetchers][auth]") {
  TokenServer server;
  Script script{[&](const EngineRequest& request) { return server(request); }, {}};
  test::ManualClock clock;
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  const auto fetcher = fetcher_with(
      "type: oauth2, token_url: \"https://login.example/token\", client_id: me, refresh_token: \"${FIRST}\"",
      options);
  search_once(*fetcher, clock);
  clock.advance(std::chrono::seconds(200));
  search_once(*fetcher, clock);
  CHECK(script.requests[0].body == "grant_type=refresh_token&refresh_token=s3cret-FIRST&client_id=me");
  CHECK(script.requests[2].body == "grant_type=refresh_token&refresh_token=next-1&client_id=me");
}

TEST_CASE("Tokens outlive a reload of the engine's definition", "[fetchers][auth]") {
  TokenServer server;
  Script script{[&](const EngineRequest& request) { return server(request); }, {}};
  test::ManualClock clock;
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  options.earlier = std::make_shared<EarlierFetchers>();
  const std::string refresh =
      "type: oauth2, token_url: \"https://login.example/token\", client_id: me, refresh_token: \"${FIRST}\"";
  auto before = fetcher_with(refresh, options);
  search_once(*before, clock);
  const auto after = fetcher_with(refresh, options);
  before.reset();
  search_once(*after, clock);
  CHECK(server.handed_out == 1);
  clock.advance(std::chrono::seconds(200));
  search_once(*after, clock);
  CHECK(script.requests[3].body == "grant_type=refresh_token&refresh_token=next-1&client_id=me");
  const auto other = fetcher_with(refresh + ", scope: a", options);
  search_once(*other, clock);
  CHECK(script.requests[5].body ==
        "grant_type=refresh_token&refresh_token=s3cret-FIRST&scope=a&client_id=me");
}

TEST_CASE("A token is asked for again if the fetcher that waited for it is gone", "[fetchers][auth]") {
  test::HoldingTransport::Held held;
  test::ManualClock clock;
  FetcherOptions options;
  options.clock = &clock;
  options.run_late = test::run_at_once;
  options.earlier = std::make_shared<EarlierFetchers>();
  options.wrap_transport = [&](std::unique_ptr<Transport>) {
    return std::make_unique<test::HoldingTransport>(held);
  };
  const auto search = [&](Fetcher& fetcher) {
    const ExpandedQuery query{"t", "e", "x"};
    fetcher.fetch({&query, 1}, {.deadline = Deadline(clock, Duration(0))}, {});
  };
  auto before = fetcher_with(kOauth, options);
  search(*before);
  const auto after = fetcher_with(kOauth, options);
  search(*after);
  REQUIRE(held.size() == 1);  // the first request may still be answered
  before.reset();
  held.clear();
  search(*after);
  REQUIRE(held.size() == 1);
  CHECK(held[0].first.url == "https://login.example/token");
  const auto answer = held[0].second;
  answer(answer_of(R"({"access_token":"tok","expires_in":100})"));
  REQUIRE(held.size() == 2);  // nothing for the searches that waited for the first request
  CHECK(header_of(held[1].first, "Authorization") == "Bearer tok");
}

TEST_CASE("A request for a token outlives the fetcher that sent it", "[fetchers][auth]") {
  /// Drops its requests when it ends, as the real one does.
  struct EndingTransport final : Transport {
    using Held = std::vector<std::pair<EngineRequest, Done>>;
    explicit EndingTransport(std::vector<std::weak_ptr<Held>>& all) { all.push_back(held); }
    void send(EngineRequest request, Done done) override {
      held->emplace_back(std::move(request), std::move(done));
    }
    std::shared_ptr<Held> held = std::make_shared<Held>();
  };
  std::vector<std::weak_ptr<EndingTransport::Held>> all;
  const auto requests_to = [&](const std::string& url) {
    std::vector<std::pair<EngineRequest, Transport::Done>> out;
    for (const auto& one : all)
      if (const auto held = one.lock())
        for (const auto& [request, done] : *held)
          if (request.url.starts_with(url)) out.emplace_back(request, done);
    return out;
  };
  test::ManualClock clock;
  FetcherOptions options;
  options.clock = &clock;
  options.run_late = test::run_at_once;
  options.earlier = std::make_shared<EarlierFetchers>();
  options.wrap_transport = [&](std::unique_ptr<Transport>) { return std::make_unique<EndingTransport>(all); };
  const auto search = [&](Fetcher& fetcher) {
    const ExpandedQuery query{"t", "e", "x"};
    fetcher.fetch({&query, 1}, {.deadline = Deadline(clock, Duration(0))}, {});
  };
  auto before = fetcher_with(kOauth, options);
  search(*before);
  const auto after = fetcher_with(kOauth, options);
  search(*after);
  before.reset();
  const auto asked = requests_to("https://login.example/token");
  REQUIRE(asked.size() == 1);
  asked.front().second(answer_of(R"({"access_token":"tok","expires_in":100})"));
  const auto sent = requests_to("https://api.example/");
  REQUIRE(sent.size() == 1);  // by the search that waited for the earlier fetcher's request
  CHECK(header_of(sent[0].first, "Authorization") == "Bearer tok");
}

TEST_CASE("A token server that refuses is left alone for longer each time", "[fetchers][auth]") {
  StringPairs headers;
  std::string token = R"({"error":"invalid_client"})";
  int asked = 0;
  Script script{[&](const EngineRequest& request) {
                  if (request.url != "https://login.example/token") return answer_of(kAnswer);
                  ++asked;
                  return test::status_answer(asked < 4 ? 400 : 200, headers, token);
                },
                {}};
  test::ManualClock clock;
  FetcherOptions options = scripted_options(script);
  options.clock = &clock;
  options.uses_breaker = false;
  const auto fetcher = fetcher_with(kOauth, options);
  const auto asked_after = [&](Duration pause) {
    clock.advance(pause);
    CHECK(search_once(*fetcher, clock).message == "no token: HTTP 400 invalid_client");
    return asked;
  };
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  CHECK(asked_after(Duration(0)) == 1);
  CHECK(asked_after(milliseconds(1900)) == 1);
  CHECK(asked_after(milliseconds(200)) == 2);
  CHECK(asked_after(seconds(3)) == 2);
  headers = {{"retry-after", "60"}};
  CHECK(asked_after(seconds(2)) == 3);
  CHECK(asked_after(seconds(59)) == 3);
  clock.advance(seconds(2));
  token = R"({"access_token":"tok"})";
  CHECK(search_once(*fetcher, clock).list.hits.size() == 1);
}

TEST_CASE("Whoever waits for a token hears that its request was dropped", "[fetchers][auth]") {
  const test::ManualClock clock;
  const auto keeper = std::make_shared<TokenKeeper>(Authorization(), "e", "");
  int asked = 0;
  std::function<void(HttpAnswer)> answer;
  std::vector<std::string> heard;
  const auto get = [&] {
    TokenKeeper::get(
        keeper, clock, 0,
        [&](const EngineRequest&, std::function<void(HttpAnswer)> done) {
          ++asked;
          answer = std::move(done);
        },
        [&](const std::optional<std::string>& token, const std::string& why) {
          heard.push_back(token.value_or(why));
        });
  };
  get();
  get();
  CHECK(asked == 1);
  CHECK(heard.empty());
  answer = nullptr;
  REQUIRE(heard.size() == 2);
  CHECK(heard[1] == "no token: not_allowed: the configuration was replaced meanwhile");
  get();
  REQUIRE(asked == 2);
  answer(answer_of(R"({"access_token":"tok"})"));
  CHECK(heard.back() == "tok");
}

TEST_CASE("A fetcher that ends while it waits for a token is destroyed", "[fetchers][auth]") {
  test::HoldingTransport::Held held;
  test::ManualClock clock;
  FetcherOptions options;
  options.clock = &clock;
  const auto alive = std::make_shared<int>();
  options.unix_time = [alive] { return std::int64_t{0}; };
  options.wrap_transport = [&](std::unique_ptr<Transport>) {
    return std::make_unique<test::HoldingTransport>(held);
  };
  auto fetcher = fetcher_with(kOauth, options);
  options = {};
  const ExpandedQuery query{"t", "e", "x"};
  fetcher->fetch({&query, 1}, {.deadline = Deadline(clock, Duration(0))}, {});
  REQUIRE(held.size() == 1);
  fetcher.reset();
  held.clear();
  CHECK(alive.use_count() == 1);
}

TEST_CASE("Secrets may stand in the token server's address and in what is asserted", "[fetchers][auth]") {
  Script script{[](const EngineRequest&) { return answer_of("{}"); }, {}};
  const Clock& clock = machine_clock();
  const auto file = file_with(
      "type: oauth2, token_url: \"https://login.example/${TENANT}/token\", client_id: me, client_secret: x, "
      "key_id: \"${ID}\", subject: \"${WHO}\"");
  if (!file) FAIL(file.error().text);
  const auto ready =
      ready_access(file->engines.front(), [](std::string_view name) { return "a b/" + std::string(name); });
  REQUIRE(ready.has_value());
  CHECK(ready->access.auth.token_url == "https://login.example/a%20b%2FTENANT/token");
  CHECK(ready->access.auth.key_id == "a b/ID");
  CHECK(ready->access.auth.subject == "a b/WHO");
  const std::string tenant =
      "type: oauth2, token_url: \"https://login.example/${TENANT}\", client_id: me, client_secret: x";
  search_once(*fetcher_with(tenant, scripted_options(script)), clock);
  CHECK(script.requests.at(0).url == "https://login.example/s3cret-TENANT");
  CHECK(script.requests.at(0).record_url == "https://login.example/REDACTED");
}

TEST_CASE("Tokens and the secrets used to fetch them are never written to a file",
          "[fetchers][auth][security]") {
  const test::TemporaryFolder folder;
  TokenServer server;
  Script script{[&](const EngineRequest& request) { return server(request); }, {}};
  const Clock& clock = machine_clock();
  auto writer = HarWriter::open(folder.path("archive.har"));
  REQUIRE(writer.has_value());
  FetcherOptions options = scripted_options(script);
  options.wrap_transport = [&](std::unique_ptr<Transport>) {
    return make_recording_transport(std::make_unique<test::ScriptedTransport>(script), **writer);
  };
  CHECK(search_once(*fetcher_with(kOauth, options), clock).list.hits.size() == 1);
  REQUIRE((*writer)->close().has_value());
  const auto recorded = read_text(folder.path("archive.har"), 1 << 20);
  REQUIRE(recorded.has_value());
  CHECK(recorded->find("api.example") != std::string::npos);
  for (const char* secret : {"tok-1", "next-1", "s3cret", "login.example"})
    CHECK(recorded->find(secret) == std::string::npos);
  // A replay needs no token.
  FetcherOptions replay;
  replay.recording = FetcherOptions::Recording::replay;
  replay.recording_file = folder.path("archive.har");
  CHECK(search_once(*fetcher_with(kOauth, replay), clock).list.hits.size() == 1);
  // An error message of a token server may repeat what was sent.
  script.answer = [](const EngineRequest& request) {
    return answer_of(R"({"error":"invalid_client","error_description":")" + request.body + "\"}", 401);
  };
  const FetchedList failed = search_once(*fetcher_with(kOauth, scripted_options(script)), clock);
  CHECK(failed.failure == Failure::not_allowed);
  CHECK(failed.message == "no token: HTTP 401 invalid_client");
}

TEST_CASE("A reader's headers are passed on if the definition says so and the lists stay private",
          "[fetchers][auth][security]") {
  Script script{[](const EngineRequest&) { return answer_of(kAnswer); }, {}};
  const Clock& clock = machine_clock();
  const auto fetcher = fetcher_with("type: forward, headers: [X-User-Token]", scripted_options(script));
  CHECK(search_once(*fetcher, clock).failure == Failure::not_allowed);
  CHECK(script.requests.empty());
  CHECK(search_once(*fetcher, clock, "x", {{"x-user-token", "ann"}, {"cookie", "c"}}).list.hits.size() == 1);
  REQUIRE(script.requests.size() == 1);
  CHECK(header_of(script.requests[0], "x-user-token") == "ann");
  CHECK(header_of(script.requests[0], "cookie").empty());
}
