#include "service/api/rendered_answers.h"

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

struct Question {
  std::string target;
  std::string headers;
  std::string body;  ///< of a POST, empty for a GET
};

std::string ask(TestServer& server, const Question& question) {
  if (question.body.empty()) return server.get(question.target, question.headers);
  const bool is_json = question.body.front() == '{';
  return server.post(question.target, is_json ? "application/json" : "application/x-www-form-urlencoded",
                     question.body, question.headers);
}

/// The response without the parts that differ in every answer: search ids, the trace and the duration.
std::string without_ids(std::string text) {
  if (const std::size_t at = text.find("\"response_time\":"); at != std::string::npos)
    text.replace(at, text.find('}', at) - at, "TIME");
  if (const std::size_t at = text.find("Content-Length: "); at != std::string::npos)
    text.erase(at, text.find("\r\n", at) - at);
  constexpr std::size_t kDigits = 48;
  for (std::size_t at = 0; at + kDigits <= text.size(); ++at) {
    if (text.substr(at, kDigits).find_first_not_of("0123456789abcdef") != std::string::npos) continue;
    text.replace(at, kDigits, "ID");
  }
  const std::size_t trace = text.find("traceparent: ");
  return text.erase(trace, text.find("\r\n", trace) - trace);
}

std::string call_of(const std::string& id, const std::string& arguments) {
  return R"({"jsonrpc":"2.0","method":"tools/call","id":)" + id +
         R"(,"params":{"name":"web_search","arguments":)" + arguments + "}}";
}

std::string rendered_search_id(const std::string& response) {
  return std::string(
      parse_json(body_in(response), "answer").value().at("fusion").at("search_id").as_string());
}

bool counts(TestServer& server, const std::string& line) {
  return server.get("/metrics").find(line) != std::string::npos;
}

}  // namespace

TEST_CASE("A rendered answer equals a fresh one for every kind of request", "[service][rendered]") {
  std::vector<Question> questions;
  for (const char* format : {"html", "json", "csv", "rss"})
    for (const char* more : {"", "&limit=1", "&pageno=2&limit=1", "&explain=1", "&domain=pages"})
      for (const char* headers : {"", "Cookie: preferences=sites=!b.example\r\n",
                                  "Cookie: preferences=sites=-a.example; other=1\r\n"})
        questions.push_back({std::string("/search?q=ada&format=") + format + more, headers, ""});
  for (const char* body :
       {R"({"query":"ada"})", R"({"query":"ada","limit":1})", R"({"query":"ada","explain":true})"})
    questions.push_back({"/v1/search", "", body});
  for (const char* body : {R"({"query":"ada"})", R"({"query":"ada","max_results":1})"})
    questions.push_back({"/search", "", body});
  for (const char* arguments : {R"({"query":"ada"})", R"({"query":"ada","limit":1,"explain":true})"})
    questions.push_back({"/mcp", "", call_of("7", arguments)});
  for (const char* body : {"q=ada&format=json", "q=ada&format=csv&limit=2"})
    questions.push_back({"/search", "", body});
  TestServer server(TestServer::default_answer, "store: metafuse.db\ncache: {seconds: 600}\n");
  std::vector<std::string> first;
  for (const Question& question : questions) first.push_back(without_ids(ask(server, question)));
  for (int again = 0; again < 3; ++again)
    for (std::size_t i = 0; i < questions.size(); ++i) {
      INFO(questions[i].target << ' ' << questions[i].headers << ' ' << questions[i].body);
      CHECK(without_ids(ask(server, questions[i])) == first[i]);
    }
  CHECK(server.app().rendered().size() == questions.size());
  CHECK(counts(server, "metafuse_cache_lookups_total{outcome=\"rendered\"} " +
                           std::to_string(3 * questions.size() - 1)));
  CHECK(server.fetcher().fetches() == 1);
}

TEST_CASE("Every rendered answer has a search id of its own that takes clicks", "[service][rendered]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\n");
  std::set<std::string> ids;
  for (int i = 0; i < 6; ++i) ids.insert(rendered_search_id(server.get("/search?q=ada&format=json")));
  CHECK(ids.size() == 6);
  CHECK(server.app().rendered().size() == 1);
  for (const std::string& id : ids)
    CHECK(status_in(server.post("/v1/feedback", "application/json",
                                R"({"search_id":")" + id + R"(","kind":"click","position":1})")) == 200);
}

TEST_CASE("An answer that was rendered hours ago is stored in the hour in which it is sent again",
          "[service][rendered]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\ncache: {seconds: 86400}\n");
  service::Records& records = server.app().records();
  service::UnixTime now = 1'800'000'000;
  records.unix_time = [&] { return now; };
  const auto ask_again = [&] { return rendered_search_id(server.get("/search?q=ada&format=json")); };
  for (int i = 0; i < 3; ++i) ask_again();
  now += 7 * 3600;
  const std::string ids[] = {ask_again(), ask_again()};
  CHECK(counts(server, "metafuse_cache_lookups_total{outcome=\"rendered\"} 3"));
  CHECK(service::stored_id(ids[0]) == service::stored_id(ids[1]));
  CHECK(ids[0] != ids[1]);
  records.search_log->flush();
  const auto stored = records.store->searches.find(ids[0]).value();
  REQUIRE(stored.has_value());
  CHECK(stored->at == now);
  CHECK(stored->times == 2);
  for (const std::string& id : ids)
    CHECK(status_in(server.post("/v1/feedback", "application/json",
                                R"({"search_id":")" + id + R"(","kind":"click","position":1})")) == 200);
}

TEST_CASE("Equal tool calls share a rendered answer and each keeps its own id", "[service][rendered]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\n");
  std::set<std::string> bodies;
  std::set<std::string> searches;
  for (const char* id : {"1", "2", R"("three")", R"("\u0022,")", "-5", "18446744073709551615"}) {
    const std::string response =
        server.post("/mcp", "application/json", call_of(id, R"({"query":"ada","explain":true})"));
    const Json reply = parse_json(body_in(response), "reply").value();
    CHECK(reply.at("id") == parse_json(id, "id").value());
    searches.emplace(reply.at("result").at("structuredContent").at("search_id").as_string());
    bodies.insert(to_text(reply.at("result").at("content")));
  }
  CHECK(searches.size() == 6);
  CHECK(bodies.size() == 1);
  CHECK(server.app().rendered().size() == 1);
  CHECK(counts(server, "metafuse_cache_lookups_total{outcome=\"rendered\"} 4"));
  // a mistake in a call is reported each time
  CHECK(status_in(server.post("/mcp", "application/json", call_of("1.5", R"({"query":"ada"})"))) == 400);
  CHECK(status_in(server.post("/mcp", "application/json", call_of("1", R"({"query":"ada"})"),
                              "Origin: http://evil.example\r\n")) == 403);
}

TEST_CASE("A rendered answer in Tavily's dialect says how long it took", "[service][rendered]") {
  TestServer server;
  for (int i = 0; i < 4; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string response = server.post("/search", "application/json", R"({"query":"ada"})");
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    const Json reply = parse_json(body_in(response), "reply").value();
    const double told = reply.at("response_time").to_number<double>();
    CHECK(told >= 0);
    CHECK(told <= passed.count() + 0.001);  // it is rounded
    CHECK(reply.at("results").as_array().size() == 4);
  }
  CHECK(server.app().rendered().size() == 1);
}

TEST_CASE("Every answer to a search names the engines whose lists it lacks", "[service][rendered]") {
  TestServer server([](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    if (query.engine == "one") {
      list = {};
      list.failure = fetchers::Failure::refused;
    }
    return list;
  });
  const std::vector<Question> questions = {{"/search?q=ada&format=json", "", ""},
                                           {"/search?q=ada&format=csv", "", ""},
                                           {"/search?q=ada&format=rss", "", ""},
                                           {"/search?q=ada", "", ""},
                                           {"/search", "", R"({"query":"ada"})"},
                                           {"/v1/search", "", R"({"query":"ada"})"},
                                           {"/mcp", "", call_of("1", R"({"query":"ada"})")}};
  for (const Question& question : questions) {
    INFO(question.target << ' ' << question.body);
    CHECK(ask(server, question).find("\r\nX-Unresponsive-Engines: one\r\n") != std::string::npos);
  }
  TestServer whole;
  for (const Question& question : questions)
    CHECK(ask(whole, question).find("X-Unresponsive-Engines") == std::string::npos);
}

TEST_CASE("Rendered answers need a key and count against quotas and rates", "[service][rendered]") {
  TestServer server(TestServer::default_answer,
                    "needs_key: true\nkeys:\n  - {name: small, sha256: " + sha256_hex("small-key") +
                        ", roles: [search], quota_per_day: 13}\n");
  const std::string key = "X-API-Key: small-key\r\n";
  const std::string target = "/search?q=ada&format=json";
  for (int i = 0; i < 4; ++i) CHECK(status_in(server.get(target, key)) == 200);  // three lists each
  CHECK(server.app().rendered().size() == 1);
  const std::string refused = server.get(target, key);
  CHECK(status_in(refused) == 429);
  CHECK(refused.find("Retry-After: ") != std::string::npos);
  CHECK(status_in(server.get(target)) == 401);
  TestServer limited(TestServer::default_answer, "limits: {requests_per_second: 0.001, burst: 4}\n");
  for (int i = 0; i < 4; ++i) CHECK(status_in(limited.get(target)) == 200);
  CHECK(status_in(limited.get(target)) == 429);
}

TEST_CASE("A reload discards rendered answers", "[service][rendered]") {
  TestServer server;
  for (int i = 0; i < 3; ++i) server.get("/search?q=ada&format=json");
  CHECK(server.app().rendered().size() == 1);
  REQUIRE(server.app().reloader().reload().has_value());
  CHECK(server.app().rendered().size() == 0);
  server.get("/search?q=ada&format=json");
  CHECK(server.fetcher().fetches() == 2);
}

TEST_CASE("Answers with failed engines are not kept rendered", "[service][rendered]") {
  TestServer server([](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    if (query.engine == "two") {
      list = {};
      list.failure = fetchers::Failure::timeout;
    }
    return list;
  });
  for (int i = 0; i < 3; ++i) CHECK(status_in(server.get("/search?q=ada&format=json")) == 200);
  CHECK(server.app().rendered().size() == 0);
}

TEST_CASE("Rendered answers expire on time and stay within a limit of bytes", "[service][rendered]") {
  ManualClock clock;
  service::RenderedAnswers kept(10'000, clock);
  const auto snapshot = std::make_shared<const service::Snapshot>();
  const auto asking = [&](const std::string& query) {
    service::Exchange exchange;
    exchange.snapshot = snapshot;
    exchange.route = "search";
    exchange.request.target = "/search?q=" + query;
    return exchange;
  };
  const auto is_kept = [&](const std::string& query) {
    service::Exchange exchange = asking(query);
    return kept.find(exchange) != nullptr;
  };
  const auto keep = [&](const std::string& query, std::size_t bytes, int seconds) {
    service::Exchange exchange = asking(query);
    CHECK(kept.find(exchange) == nullptr);
    service::HttpResponse response;
    response.body = std::string(bytes, 'x');
    service::Repeat repeat;
    repeat.until = clock.now() + std::chrono::seconds(seconds);
    response.repeat = std::make_shared<const service::Repeat>(std::move(repeat));
    CHECK(kept.finish(exchange, std::move(response)).body_bytes() == bytes);
  };
  keep("a", 4000, 10);
  keep("b", 4000, 20);
  CHECK(is_kept("a"));
  keep("c", 4000, 20);  // b was used least recently
  CHECK_FALSE(is_kept("b"));
  clock.advance(std::chrono::seconds(10));
  CHECK_FALSE(is_kept("a"));
  CHECK(is_kept("c"));
  keep("d", 20'000, 20);
  CHECK_FALSE(is_kept("d"));
  CHECK(kept.bytes() <= 10'000);
}

TEST_CASE("A body is split at its marks", "[service][rendered]") {
  using Parts = std::vector<std::string>;
  using Gaps = std::vector<std::size_t>;
  using service::Gap;
  const std::vector<service::GapMark> none;
  const std::vector<service::GapMark> marks = {{Gap::search_id, "x", "id"}, {Gap::seconds, "yy", "0.25"}};
  CHECK(service::frame_of("abc", none).parts == Parts{"abc"});
  CHECK(service::frame_of("abc", marks).parts == Parts{"abc"});
  const service::BodyFrame frame = service::frame_of("xabyyxc", marks);
  CHECK(frame.parts == Parts{"", "ab", "", "c"});
  CHECK(frame.gaps == Gaps{0, 2, 0});
  service::HttpResponse response;
  response.frame = std::make_shared<const service::BodyFrame>(frame);
  response.fillings = service::fillings_of(marks);
  CHECK(response.fillings == service::GapFillings{"id", "", "0.25"});
  CHECK(response.body_bytes() == std::string("idab0.25idc").size());
}
