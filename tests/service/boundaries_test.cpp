#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/answers/rendered_answers.h"
#include "service/base/addresses.h"
#include "service/editing/template_editing.h"
#include "service/fusing/fuse_request.h"
#include "service/fusing/fusing.h"
#include "service/learning/feedback.h"
#include "service/learning/search_log.h"
#include "service/requests/preferences.h"
#include "service/requests/search_requests.h"
#include "service/search/expansion.h"
#include "service/search/list_fusion.h"
#include "service/search/search_pipeline.h"
#include "service/search/shown_results.h"
#include "service/search/suggester.h"
#include "service/store/stored_search.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_server.h"

// Every limit at exactly its value and one beyond, and every part of a rendered answer's key.

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

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

bool reads(const std::string& body) {
  return read_native_search(parse_json(body, "body").value().as_object()).has_value();
}

bool is_feedback(const std::string& more) {
  return parse_feedback(parse_json(R"({"search_id":"x",)" + more + "}", "body").value()).has_value();
}

/// Texts like ["a0","a1",...].
std::string json_list(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += (i == 0 ? "\"a" : ",\"a") + std::to_string(i) + "\"";
  return "[" + out + "]";
}

bool fuses(const std::string& body) {
  return fuse_text(body, {}).has_value();
}

LoadedDomain domain_of_templates(std::size_t count) {
  LoadedDomain out;
  out.domain.name = "many";
  out.domain.slots.push_back({"Q", true, ""});
  for (std::size_t i = 0; i < count; ++i) {
    templates::SearchTemplate item;
    item.id = "t" + std::to_string(i);
    item.engines = {"one", "two"};
    item.query = "{Q}";
    out.domain.templates.push_back(std::move(item));
  }
  return out;
}

}  // namespace

TEST_CASE("Heads and targets end where they should", "[service][http][security]") {
  TestServer server;
  const std::string target = "/healthz?a=";
  CHECK(sent(server, head_of(target + std::string(8000 - target.size(), 'b'), "")) == 200);
  CHECK(sent(server, head_of(target + std::string(8001 - target.size(), 'b'), "")) == 414);
  CHECK(sent(server, head_of("/healthz", repeated("A: b\r\n", 99))) == 200);  // with Host
  CHECK(sent(server, head_of("/healthz", repeated("A: b\r\n", 100))) == 431);
  const std::size_t rest = head_of("/healthz", "A: \r\n").size();
  CHECK(sent(server, head_of("/healthz", "A: " + std::string(16384 - rest, 'b') + "\r\n")) == 200);
  CHECK(sent(server, head_of("/healthz", "A: " + std::string(16385 - rest, 'b') + "\r\n")) == 431);
  CHECK(sent(server, head_of("/healthz?" + repeated("a=b&", 199) + "a=b", "")) == 200);
  CHECK(sent(server, head_of("/healthz?" + repeated("a=b&", 200) + "a=b", "")) == 400);
}

TEST_CASE("Bodies end where they should, by their length and in chunks", "[service][http][security]") {
  TestServer server(TestServer::default_answer, "limits: {max_body_bytes: 1024}\n");
  const auto body = [](std::size_t bytes) { return R"({"query":"ada"})" + std::string(bytes - 15, ' '); };
  const std::string head =
      "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
      "application/json\r\n";
  for (const std::size_t bytes : {1024U, 1025U}) {
    const int expected = bytes == 1024 ? 200 : 413;
    CHECK(sent(server, head + "Content-Length: " + std::to_string(bytes) + "\r\n\r\n" + body(bytes)) ==
          expected);
    CHECK(sent(server, head + "Transfer-Encoding: chunked\r\n\r\n200\r\n" + body(bytes).substr(0, 512) +
                           "\r\n" + (bytes == 1024 ? "200" : "201") + "\r\n" + body(bytes).substr(512) +
                           "\r\n0\r\n\r\n") == expected);
  }
}

TEST_CASE("What a search asks for ends where it should", "[service][search][security]") {
  CHECK(reads(R"({"query":")" + std::string(4096, 'a') + "\"}"));
  CHECK_FALSE(reads(R"({"query":")" + std::string(4097, 'a') + "\"}"));
  for (const auto& [name, low, high] : {std::tuple<std::string, int, int>{"limit", 1, 200},
                                        {"page", 1, 1000},
                                        {"depth", 1, 1000},
                                        {"deadline_ms", 1, 120000},
                                        {"safe_search", 0, 2}}) {
    INFO(name);
    const auto with = [&](int value) {
      return reads(R"({"query":"a",")" + name + "\":" + std::to_string(value) + "}");
    };
    CHECK(with(low));
    CHECK(with(high));
    CHECK_FALSE(with(low - 1));
    CHECK_FALSE(with(high + 1));
  }
  CHECK(reads(R"({"query":"a","engines":)" + json_list(64) + "}"));
  CHECK_FALSE(reads(R"({"query":"a","engines":)" + json_list(65) + "}"));
  CHECK(reads(R"({"query":"a","sites":{"block":)" + json_list(100) + "}}"));
  CHECK_FALSE(reads(R"({"query":"a","sites":{"block":)" + json_list(101) + "}}"));

  TestServer server;
  const auto searched = [&](const std::string& more) {
    return status_in(server.get("/search?format=json&" + more));
  };
  CHECK(searched("q=" + std::string(4096, 'a')) == 200);
  CHECK(searched("q=" + std::string(4097, 'a')) == 400);
  CHECK(searched("q=a&limit=200") == 200);
  CHECK(searched("q=a&limit=201") == 400);
  CHECK(searched("q=a&limit=0") == 400);
}

TEST_CASE("Lists are cut at their depth, and a depth of one's own is not exceeded", "[service][search]") {
  TestServer server([](const ExpandedQuery& query) {
    std::vector<std::string> hosts;
    for (int i = 0; i < 12; ++i) hosts.push_back(query.engine + std::to_string(i) + ".example");
    return list_of(hosts);
  });
  const auto results = [&](const std::string& more) {
    const std::string answer =
        server.post("/v1/search", "application/json", R"({"query":"ada","limit":200)" + more + "}");
    return parse_json(body_in(answer), "answer").value().at("results").as_array().size();
  };
  CHECK(results(R"(,"depth":10)") == 20);  // ten of each engine
  CHECK(server.fetcher().fetches() == 1);
  CHECK(results(R"(,"depth":3)") == 6);
  CHECK(server.fetcher().fetches() == 2);
}

TEST_CASE("What a request chooses reaches the engines", "[service][search]") {
  struct Noting final : fetchers::Fetcher {
    std::vector<fetchers::FetchedList> fetch(
        std::span<const ExpandedQuery> queries, const fetchers::FetchOptions& options,
        const std::function<void(const fetchers::FetchedList&)>&) override {
      asked = options.language + ' ' + options.time_range + ' ' + std::to_string(options.safe_search) + ' ' +
              std::to_string(options.depth) + ' ' + std::to_string(options.page) + ' ' +
              std::to_string(options.hops) + ' ' + std::to_string(options.forwarded.size());
      left = options.deadline.left();
      std::vector<fetchers::FetchedList> out(queries.size());
      for (std::size_t i = 0; i < out.size(); ++i) out[i].query = queries[i];
      return out;
    }
    std::string asked;
    Duration left{};
  };
  const auto fetcher = std::make_shared<Noting>();
  Snapshot snapshot;
  snapshot.engines.fetcher = fetcher;
  snapshot.config.deadline_seconds = 3;
  LoadedDomain domain = domain_of_templates(1);
  domain.domain.depth = 10;
  ManualClock clock;
  const auto asked = [&](auto choose) {
    SearchRequest request;
    request.text = "a";
    choose(request);
    search_prepared(prepare_search(snapshot, domain, request, clock).value(), clock, {});
    return fetcher->asked;
  };
  CHECK(asked([](SearchRequest&) {}) == "  0 10 1 0 0");
  CHECK(fetcher->left == std::chrono::seconds(3));
  CHECK(asked([](SearchRequest& r) { r.language = "de"; }) == "de  0 10 1 0 0");
  CHECK(asked([](SearchRequest& r) { r.time_range = "week"; }) == " week 0 10 1 0 0");
  CHECK(asked([](SearchRequest& r) { r.safe_search = 2; }) == "  2 10 1 0 0");
  CHECK(asked([](SearchRequest& r) { r.depth = 7; }) == "  0 7 1 0 0");
  CHECK(asked([](SearchRequest& r) { r.hops = 2; }) == "  0 10 1 2 0");
  CHECK(asked([](SearchRequest& r) { r.forwarded = {{"x-user", "ann"}}; }) == "  0 10 1 0 1");
  asked([](SearchRequest& r) { r.deadline_seconds = 0.5; });
  CHECK(fetcher->left == std::chrono::milliseconds(500));
  asked([](SearchRequest& r) { r.deadline_seconds = 121; });
  CHECK(fetcher->left == std::chrono::seconds(120));
}

TEST_CASE("Names, languages and numbers of a request end where they should", "[service][search][security]") {
  const auto text = [](const std::string& name, std::size_t bytes) {
    return reads(R"({"query":"a",")" + name + "\":\"" + std::string(bytes, 'a') + "\"}");
  };
  CHECK(text("domain", 64));
  CHECK_FALSE(text("domain", 65));
  CHECK(text("language", 40));
  CHECK_FALSE(text("language", 41));
  const auto site = [](std::size_t bytes) {
    return reads(R"({"query":"a","sites":{"block":[")" + std::string(bytes, 'a') + "\"]}}");
  };
  CHECK(site(1000));
  CHECK_FALSE(site(1001));
  CHECK(reads(R"({"query":"a","limit":5.0})"));
  CHECK_FALSE(reads(R"({"query":"a","limit":5.5})"));
  CHECK_FALSE(reads(R"({"query":"a","limit":"5"})"));
  TestServer server;
  const auto status = [&](const std::string& more) {
    return status_in(server.get("/search?q=a&format=json&" + more));
  };
  CHECK(status("timeout_limit=120") == 200);
  CHECK(status("timeout_limit=120.1") == 400);
  CHECK(status("timeout_limit=-1") == 400);
  CHECK(status("pageno=1000") == 200);
  CHECK(status("pageno=1001") == 400);
  CHECK(status("pageno=0") == 400);
  CHECK(status("pageno=2x") == 400);
  CHECK(status("safesearch=3") == 400);
  CHECK(status("time_range=decade") == 400);
}

TEST_CASE("A search is explained where it is asked for", "[service][search][searxng]") {
  const auto explains = [](const Fields& more) {
    Fields fields = {{"q", "a"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return read_parameters(fields, Snapshot()).value().wants_explanation;
  };
  CHECK_FALSE(explains({}));
  CHECK_FALSE(explains({{"explain", ""}}));
  CHECK_FALSE(explains({{"explain", "0"}}));
  CHECK_FALSE(explains({{"explain", "false"}}));
  CHECK(explains({{"explain", "1"}}));
  CHECK(explains({{"explain", "true"}}));
}

TEST_CASE("Preferences are taken as far as they can be", "[service][security]") {
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
  // 8 KB of a cookie
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

TEST_CASE("A host is what stands behind the last at sign and before the port", "[service][security]") {
  CHECK(host_of("http://A.example:80/x?y#z") == "a.example");
  CHECK(host_of("http://a@b.example/") == "b.example");
  CHECK(host_of("http://a@b@c.example/") == "c.example");
  CHECK(host_of("http://a.example/@b.example") == "a.example");
  CHECK(host_of("http://a.example?@b.example") == "a.example");
  CHECK(host_of("http://a.example#@b.example") == "a.example");
  CHECK(host_of("http://a:b@[2001:DB8::1]:80/") == "2001:db8::1");
  CHECK(host_of("a.example/").empty());
}

TEST_CASE("A site names itself and what lies below it", "[service][security]") {
  for (const std::string site : {"a.example", "A.Example", "www.a.example", "*.a.example"}) {
    INFO(site);
    CHECK(is_under_site("a.example", site));
    CHECK(is_under_site("x.a.example", site));
    CHECK_FALSE(is_under_site("xa.example", site));
    CHECK_FALSE(is_under_site("example", site));
  }
  for (const std::string nothing : {"", "*.", "www."}) CHECK_FALSE(is_under_site("a.example", nothing));
}

TEST_CASE("A count of hops that is damaged counts as too many", "[service][search][security]") {
  TestServer server;
  for (const char* hops : {"0", "1", "99", "100", "-1", "x", "1x"})
    server.get("/search?q=a" + std::string(hops) + "&format=json",
               "X-Metafuse-Hops: " + std::string(hops) + "\r\n");
  server.get("/search?q=ada&format=json");
  CHECK(server.fetcher().hops() == std::vector<int>{0, 1, 99, 99, 99, 99, 99, 0});
}

TEST_CASE("A completion begins where a word does, in the latest order, once", "[service][search]") {
  Suggester suggester(3);
  suggester.learn("a", {"unseen things", "seen once"});
  suggester.learn("b", {"seen once", "Have Seen"});
  CHECK(suggester.complete("SEEN") == std::vector<std::string>{"Have Seen", "seen once"});
  CHECK(suggester.complete("seen", [](const std::string& domain) { return domain == "a"; }) ==
        std::vector<std::string>{"seen once"});
  CHECK(suggester.complete("unseen").empty());  // the oldest of four
  suggester.learn("a", {"unseen and seen"});
  CHECK(suggester.complete("seen").front() == "unseen and seen");  // by its last word
  CHECK(suggester.complete("seen", {}, 2).size() == 2);
  suggester.learn("a", {"unseen alone"});
  CHECK(suggester.complete("seen").front() == "unseen and seen");  // inside a word is not enough
  CHECK(suggester.complete("unseen al").size() == 1);
  suggester.learn("a", {"", std::string(201, 'x'), std::string(200, 'y')});
  CHECK(suggester.complete("x").empty());
  CHECK(suggester.complete("y").size() == 1);
}

TEST_CASE("A search log that is full drops what comes, and says so", "[service][store]") {
  TestServer server(TestServer::default_answer, "store: state.db\n");
  SearchLog log(*server.app().records().store, {0, 0});
  CHECK_FALSE(log.add(std::make_shared<const StoredSearch>()));
  CHECK(log.dropped() == 1);
  SearchLog other(*server.app().records().store, {1, 0});
  CHECK(other.add(std::make_shared<const StoredSearch>()));
}

TEST_CASE("What is stored of a search says which lists failed, in order of their ranks", "[service][store]") {
  LoadedDomain domain = domain_of_templates(1);
  domain.domain.depth = 10;
  std::vector<fetchers::FetchedList> lists = {list_of({"b.example", "a.example"}), fetchers::FetchedList()};
  lists[0].query = {"t0", "one", "x"};
  lists[1].query = {"t0", "two", "x"};
  lists[1].failure = fetchers::Failure::timeout;
  SearchAnswer answer;
  answer.domain = "many";
  answer.query = "x";
  fuse_lists(domain, lists, answer);
  const StoredSearch stored = stored_search(answer, {}, {"secret", false, "Q"}, 5);
  REQUIRE(stored.lists.size() == 2);
  CHECK_FALSE(stored.lists[0].has_failed);
  CHECK(stored.lists[1].has_failed);
  CHECK(stored.documents == std::vector<std::string>{"b.example", "a.example"});
  CHECK(stored.lists[0].documents == std::vector<std::uint32_t>{0, 1});
  CHECK(stored.slots.slots == std::map<std::string, std::string>{{"Q", "x"}});
  CHECK(stored.at == 5);
  const StoredSearch hidden = stored_search(answer, {}, {"secret", true, "Q"}, 5);
  CHECK(hidden.slots.slots.empty());
  CHECK(hidden.query == stored.query);
  for (const std::string& document : hidden.documents) CHECK(document.find("example") == std::string::npos);
}

TEST_CASE("Sixteen variants and sixty-four expanded queries are the most", "[service][search][security]") {
  Snapshot snapshot;
  SearchRequest request;
  request.text = "a";
  CHECK(expand_request(snapshot, domain_of_templates(32), request).value().size() == 64);
  CHECK(expand_request(snapshot, domain_of_templates(33), request).has_error());
  request.engines = {"two"};
  CHECK(expand_request(snapshot, domain_of_templates(33), request).value().size() == 33);
  request.engines.clear();
  const LoadedDomain few = domain_of_templates(1);
  request.variants.assign(16, {"t0", "b", false});
  CHECK(expand_request(snapshot, few, request).value().size() == 34);
  request.variants.assign(17, {"t0", "b", false});
  CHECK(expand_request(snapshot, few, request).has_error());
}

TEST_CASE("A batch of calls has at most twenty", "[service][mcp][security]") {
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

TEST_CASE("Feedback names a place, a grade and an address within bounds", "[service][feedback][security]") {
  CHECK(is_feedback(R"("position":1)"));
  CHECK(is_feedback(R"("position":100000)"));
  CHECK_FALSE(is_feedback(R"("position":0)"));
  CHECK_FALSE(is_feedback(R"("position":100001)"));
  CHECK(is_feedback(R"("position":1,"kind":"judgment","grade":0)"));
  CHECK(is_feedback(R"("position":1,"kind":"judgment","grade":10)"));
  CHECK_FALSE(is_feedback(R"("position":1,"kind":"judgment","grade":11)"));
  CHECK_FALSE(is_feedback(R"("position":1,"kind":"judgment","grade":-1)"));
  CHECK(is_feedback(R"("url":")" + std::string(8192, 'a') + "\""));
  CHECK_FALSE(is_feedback(R"("url":")" + std::string(8193, 'a') + "\""));
}

TEST_CASE("Lists to fuse, their results and batches of them have their most", "[service][fusing][security]") {
  const auto lists = [](std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i)
      out += (i == 0 ? "" : ",") + (R"({"name":"l)" + std::to_string(i) + R"(","results":["a"]})");
    return R"({"lists":[)" + out + "]}";
  };
  CHECK(fuses(lists(64)));
  CHECK_FALSE(fuses(lists(65)));
  const auto results = [](std::size_t count) {
    return R"({"lists":[{"name":"l","results":)" + json_list(count) + "}]}";
  };
  CHECK(fuses(results(1000)));
  CHECK_FALSE(fuses(results(1001)));
  const auto id = [](std::size_t bytes) {
    return R"({"lists":[{"name":"l","results":[")" + std::string(bytes, 'a') + "\"]}]}";
  };
  CHECK(fuses(id(1024)));
  CHECK_FALSE(fuses(id(1025)));
  CHECK_FALSE(fuses(id(0)));
  const auto requests = [](std::size_t count) {
    return R"({"requests":[)" + repeated("{},", count - 1) + "{}]}";
  };
  CHECK(fuses(requests(1000)));
  CHECK_FALSE(fuses(requests(1001)));
}

TEST_CASE("A previewed file has at most 64 KB and 64 templates", "[service][templates][security]") {
  const SteadyClock clock;
  Snapshot snapshot;
  snapshot.engines.names = {"one", "two"};
  LoadedDomain current;
  current.domain.name = "pages";
  const auto is_read = [&](const std::string& text) {
    return previewed_domain(snapshot, current, text, clock).has_value();
  };
  const std::string filled = kTwoTemplates + "#";
  CHECK(is_read(filled + std::string(65536 - filled.size(), 'x')));
  CHECK_FALSE(is_read(filled + std::string(65537 - filled.size(), 'x')));
  const auto many = [](std::size_t count) {
    std::string text = "version: 1\ndomain: pages\nslots: {Q: {required: true}}\ntemplates:\n";
    for (std::size_t i = 0; i < count; ++i)
      text += "  - {id: t" + std::to_string(i) + ", engine: one, query: '{Q}'}\n";
    return text;
  };
  CHECK(is_read(many(64)));
  CHECK_FALSE(is_read(many(65)));
}

TEST_CASE("A hundred sites are remembered, each a name that can be one", "[service][security]") {
  std::string cookie = "sites=";
  for (int i = 0; i < 101; ++i) cookie += (i == 0 ? "!s" : "|!s") + std::to_string(i) + ".example";
  const SitePreferences read = read_preferences_text(cookie).sites;
  CHECK(read.blocked.size() == 100);
  CHECK(read.blocked.back() == "s99.example");
  const std::string longest = std::string(245, 'a') + ".example";  // 253 bytes
  CHECK(read_preferences_text("sites=+" + longest).sites.raised.size() == 1);
  CHECK(read_preferences_text("sites=+a" + longest).sites.raised.empty());
  CHECK(read_preferences_text("sites=-nothing").sites.lowered.empty());
  CHECK(is_under_site("a.example", "a.example"));
  CHECK(is_under_site("b.a.example", "a.example"));
  CHECK_FALSE(is_under_site("ba.example", "a.example"));
  CHECK_FALSE(is_under_site("example", "a.example"));
}

TEST_CASE("A stored search is cut to its limits and no further", "[service][store][security]") {
  const auto search = [] {
    StoredSearch out;
    for (int i = 0; i < 5; ++i) out.documents.push_back("d" + std::to_string(i));
    out.lists = {{"a", 10, false, {0, 1, 2, 3, 4}}, {"b", 10, false, {4, 3}}};
    for (std::uint32_t i = 0; i < 5; ++i) out.shown.push_back({i, Team::none});
    out.slots.slots = {{"A", "12345"}, {"B", "1"}};
    return out;
  };
  const StoredSearch whole = search();
  StoredSearch cut = whole;
  fit_to_limits(cut, {5, 2, 5, 2, 5});
  CHECK(cut == whole);
  fit_to_limits(cut, {4, 2, 5, 2, 5});
  CHECK(cut.documents.size() == 4);
  CHECK(cut.lists[0].documents == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(cut.lists[1].documents == std::vector<std::uint32_t>{3});
  CHECK(cut.shown.size() == 4);
  cut = whole;
  fit_to_limits(cut, {5, 1, 4, 1, 4});
  CHECK(cut.lists.size() == 1);
  CHECK(cut.shown.size() == 4);
  CHECK(cut.slots.slots.size() == 1);
  CHECK(cut.slots.slots.at("A") == "1234");
}

TEST_CASE("A cell that a spreadsheet would run begins with an apostrophe", "[service][searxng][security]") {
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

TEST_CASE("Every part of a request that shapes its answer is in the answer's key",
          "[service][rendered][security]") {
  Exchange exchange;
  auto snapshot = std::make_shared<Snapshot>();
  exchange.snapshot = snapshot;
  exchange.route = "search";
  exchange.request.method = "GET";
  exchange.request.target = "/search?q=a";
  exchange.request.headers = {{"Host", "localhost"}};
  std::set<std::string> keys{rendered_key(exchange)->text};
  std::size_t wanted = 1;
  const auto differs = [&](auto change) {
    Exchange other = exchange;
    change(other);
    keys.insert(rendered_key(other)->text);
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
  differs([](Exchange& e) { e.request.headers.push_back({"Cookie", "preferences=sites=!a.example"}); });
  differs([](Exchange& e) { e.request.headers.push_back({"Cookie", "preferences=sites=+a.example"}); });
  differs([](Exchange& e) { e.request.headers[0].value = "other.example"; });
  differs([](Exchange& e) { e.is_https = true; });
  differs([&](Exchange& e) { e.key = &raw; });
  differs([&](Exchange& e) { e.snapshot = next; });
  // and what does not shape it is not
  exchange.request.method = "HEAD";
  exchange.request.headers.push_back({"Accept", "text/html"});
  exchange.request.headers.push_back({"Cookie", "other=1"});
  keys.insert(rendered_key(exchange)->text);
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
  std::set<std::string> calls{rendered_key(call)->text};
  for (const char* name : {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Origin"}) {
    Exchange other = call;
    other.request.headers.push_back({name, "x"});
    calls.insert(rendered_key(other)->text);
  }
  CHECK(calls.size() == 5);
  call.request.body = body("2", "a");
  CHECK(calls.contains(rendered_key(call)->text));
  CHECK(rendered_key(call)->request_id == "2");
  call.request.body = body("2", "b");
  CHECK_FALSE(calls.contains(rendered_key(call)->text));
  exchange.route = "home";
  CHECK_FALSE(rendered_key(exchange));
}
