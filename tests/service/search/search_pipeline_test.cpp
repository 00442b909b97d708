// Search requests, fusion, feedback and stored searches at exactly each of their limits and one beyond it.

#include "service/search/search_pipeline.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "service/api/fusing.h"
#include "service/learning/feedback.h"
#include "service/learning/search_log.h"
#include "service/learning/store_training.h"
#include "service/search/list_fusion.h"
#include "service/search/search_requests.h"
#include "service/search/shown_results.h"
#include "service/search/suggester.h"
#include "service/search/template_editing.h"
#include "service/store/stored_search.h"
#include "tests/support/manual_clock.h"
#include "tests/support/sample_search.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

bool reads(const std::string& body) {
  return read_native_search(parse_json(body, "body").value().as_object()).has_value();
}

bool is_feedback(const std::string& more) {
  return parse_feedback(parse_json(R"({"search_id":"x",)" + more + "}", "body").value()).has_value();
}

/// A JSON list of `count` texts: ["a0","a1",...].
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

TEST_CASE("A search request is accepted up to exactly its limits", "[service][search][security]") {
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

TEST_CASE("Lists are cut at the domain's depth or at the depth of the request", "[service][search]") {
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

TEST_CASE("The choices of a request are passed to the engines", "[service][search]") {
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

TEST_CASE("Names and languages and numbers of a request are limited exactly", "[service][search][security]") {
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

TEST_CASE("A search is explained only if the request asks for it", "[service][search][searxng]") {
  const auto explains = [](const Fields& more) {
    Fields fields = {{"q", "a"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return read_parameters(fields, Snapshot(), nullptr).value().wants_explanation;
  };
  CHECK_FALSE(explains({}));
  CHECK_FALSE(explains({{"explain", ""}}));
  CHECK_FALSE(explains({{"explain", "0"}}));
  CHECK_FALSE(explains({{"explain", "false"}}));
  CHECK(explains({{"explain", "1"}}));
  CHECK(explains({{"explain", "true"}}));
}

TEST_CASE("Completions match at word starts and are unique with the latest first", "[service][search]") {
  Suggester suggester(3);
  const auto learn = [&](const std::string& domain, const std::vector<std::string>& texts) {
    for (const char* sender : {"1", "2", "3", "4", "5"}) suggester.learn(domain, texts, sender);
  };
  learn("a", {"unseen things"});
  learn("a", {"seen once"});
  learn("b", {"seen once"});
  learn("b", {"Have Seen"});
  CHECK(suggester.complete("SEEN") == std::vector<std::string>{"Have Seen", "seen once"});
  CHECK(suggester.complete("seen", [](const std::string& domain) { return domain == "a"; }) ==
        std::vector<std::string>{"seen once"});
  CHECK(suggester.complete("unseen").empty());  // it was the oldest of four and was dropped
  learn("a", {"unseen and seen"});
  CHECK(suggester.complete("seen").front() == "unseen and seen");  // matched at its last word
  CHECK(suggester.complete("seen", {}, 2).size() == 2);
  learn("a", {"unseen alone"});
  CHECK(suggester.complete("seen").front() == "unseen and seen");  // a match inside a word does not count
  CHECK(suggester.complete("unseen al").size() == 1);
  learn("a", {"", std::string(201, 'x'), std::string(200, 'y')});
  CHECK(suggester.complete("x").empty());
  CHECK(suggester.complete("y").size() == 1);
}

TEST_CASE("A suggestion is offered once five senders' searches brought it", "[service][search][security]") {
  Suggester suggester;
  for (const char* sender : {"1", "2", "3", "4", "4", "4"}) suggester.learn("a", {"anna's divorce"}, sender);
  CHECK(suggester.complete("anna").empty());
  for (const char* sender : {"1", "2", "3", "4"}) suggester.learn("b", {"anna's divorce"}, sender);
  CHECK(suggester.complete("anna").empty());  // in another domain it is another suggestion
  suggester.learn("a", {"anna's divorce"}, "5");
  CHECK(suggester.complete("anna").size() == 1);
}

TEST_CASE("Searches that may not be stored teach no suggestions", "[service][search][privacy][security]") {
  const auto answer = [](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    list.list.suggestions = {query.text.find("ada") != std::string::npos ? "ada related" : "bob related"};
    return list;
  };
  TestServer server(answer, "trusted_proxies: [127.0.0.1]\ncache: {entries: 0}\n");
  for (int i = 1; i <= 6; ++i) {
    const std::string sender = "X-Forwarded-For: 10.0." + std::to_string(i) + ".1\r\n";
    server.get("/search?q=ada&format=json", sender);
    for (const char* header : {"DNT: 1\r\n", "Sec-GPC: 1\r\n"})
      server.get("/search?q=bob&format=json", sender + header);
    const bool is_known = server.get("/autocompleter?q=ada").find("ada related") != std::string::npos;
    CHECK(is_known == (i >= 5));
  }
  CHECK(server.get("/autocompleter?q=bob").find("bob related") == std::string::npos);
}

TEST_CASE("A sender's searches take at most a share of the store's bytes per day",
          "[service][store][security]") {
  TestServer server(TestServer::default_answer, "store: state.db\n");
  StoredSearch one = sample_search();
  const auto add = [&](SearchLog& log, int number, const std::string& sender) {
    one.id = std::string(31, 'a') + static_cast<char>('a' + number);
    return log.add(std::make_shared<const StoredSearch>(one), sender);
  };
  SearchLog unlimited(*server.app().records().store, {});
  for (int i = 0; i < 20; ++i) CHECK(add(unlimited, i, "x"));
  SearchLog log(*server.app().records().store, {.max_bytes = 5'000 * SearchLog::kSharesOfDay});
  int kept = 0;
  while (kept < 26 && add(log, kept, "x")) ++kept;
  CHECK(kept > 0);
  CHECK(kept < 26);
  CHECK(add(log, 0, "x"));   // it is stored already
  CHECK(add(log, 25, "y"));  // another sender has a share of its own
  CHECK(add(log, 24, ""));   // nobody's share
  one.at += 24 * 3600;
  CHECK(add(log, 23, "x"));  // another day
}

TEST_CASE("Searches with a key are stored beyond an unknown sender's share", "[service][store][security]") {
  TestServer server(TestServer::default_answer,
                    "store: state.db\nstore_max_bytes: 40000\nkeys: [{name: app, roles: [search], sha256: " +
                        sha256_hex("app-key") + "}]\n");
  const auto stored = [&](const std::string& headers) {
    int count = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string name = "\"search_id\":\"";
      const std::string answer = server.get("/search?format=json&q=word" + std::to_string(i), headers);
      const std::size_t at = answer.find(name);
      count += at != std::string::npos && answer[at + name.size()] != '"' ? 1 : 0;
    }
    return count;
  };
  const int without_key = stored("");
  CHECK(without_key > 0);
  CHECK(without_key < 20);
  CHECK(stored("Authorization: Bearer app-key\r\n") == 20);
}

TEST_CASE("A full search log drops new searches and counts them", "[service][store]") {
  TestServer server(TestServer::default_answer, "store: state.db\n");
  SearchLog log(*server.app().records().store, {0, 0});
  CHECK_FALSE(log.add(std::make_shared<const StoredSearch>()));
  CHECK(log.dropped() == 1);
  SearchLog other(*server.app().records().store, {1, 0});
  CHECK(other.add(std::make_shared<const StoredSearch>()));
}

TEST_CASE("A stored search marks failed lists and keeps results in rank order", "[service][store]") {
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

TEST_CASE("A stored search has the ranks that were served, also of what its conditions left out",
          "[service][store]") {
  LoadedDomain domain = domain_of_templates(1);
  domain.domain.depth = 3;
  std::vector<fetchers::FetchedList> lists = {list_of({"a.example", "b.example", "c.example", "d.example"}),
                                              list_of({"b.example", "c.example", "e.example"})};
  lists[0].query = {"t0", "one", "x"};
  lists[0].in_window = {2, 2};  // its first window was not full
  lists[1].query = {"t0", "two", "x"};
  lists[1].in_window = {3, 0};
  SearchAnswer answer;
  answer.query = "x -site:b.example";
  answer.typed = templates::parse_typed_query(answer.query);
  answer.windows = 2;
  fuse_lists(domain, lists, answer);
  REQUIRE(answer.left_out == 1);
  answer.results.front().alike.emplace_back(answer.results.back().hit);  // as folding does
  answer.results.pop_back();
  const StoredSearch stored = stored_search(answer, std::vector<std::size_t>{1}, {"secret", false, "Q"}, 5);
  CHECK(stored.lists[0].ranks == std::vector<std::uint32_t>{1, 2, 4, 5});
  CHECK(stored.lists[1].ranks.empty());
  CHECK(stored.documents.size() == 5);
  CHECK(stored.set_aside == std::vector<std::uint32_t>{3, 4});
  CHECK(stored.documents[stored.shown[0].document] == answer.results[1].hit.key);
  const auto& served = answer.state->ranking.instances;
  const auto instances = stored_instances(stored, rank_features(stored));
  CHECK(instances.documents == served.documents);
  CHECK(instances.ranks == served.ranks);
}

TEST_CASE("A search has at most sixteen variants and sixty-four expanded queries",
          "[service][search][security]") {
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

TEST_CASE("The position and grade and URL of feedback are limited", "[service][feedback][security]") {
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

TEST_CASE("The lists and results and batches of a request to fuse are limited",
          "[service][fusing][security]") {
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
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += i == 0 ? "{}" : ",{}";
    return R"({"requests":[)" + out + "]}";
  };
  CHECK(fuses(requests(1000)));
  CHECK_FALSE(fuses(requests(1001)));
}

TEST_CASE("A previewed file has at most 64 KB and 64 templates", "[service][templates][security]") {
  const Clock& clock = machine_clock();
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

TEST_CASE("A stored search is cut to exactly its limits", "[service][store][security]") {
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
  CHECK(cut.lists[0].ranks.empty());
  CHECK(cut.lists[1].ranks == std::vector<std::uint32_t>{2});
  cut = whole;
  cut.lists[1].ranks = {1, 12};
  cut.set_aside = {2, 4};
  fit_to_limits(cut, {4, 2, 5, 2, 5});
  CHECK(cut.lists[1].ranks == std::vector<std::uint32_t>{12});
  CHECK(cut.set_aside == std::vector<std::uint32_t>{2});
  CHECK(cut.shown.size() == 4);
  cut = whole;
  fit_to_limits(cut, {5, 1, 4, 1, 4});
  CHECK(cut.lists.size() == 1);
  CHECK(cut.shown.size() == 4);
  CHECK(cut.slots.slots.size() == 1);
  CHECK(cut.slots.slots.at("A") == "1234");
}

TEST_CASE("A stored search keeps what was shown, however many documents its lists hold", "[service][store]") {
  LoadedDomain domain = domain_of_templates(1);
  domain.domain.depth = 5000;
  std::vector<std::string> hosts;
  for (int i = 0; i < 5000; ++i) hosts.push_back(std::to_string(i) + ".example");
  fetchers::FetchedList list = list_of(hosts);
  list.query = {"t0", "one", "x"};
  SearchAnswer answer;
  answer.query = "x";
  fuse_lists(domain, {list}, answer);
  const StoredSearch stored =
      stored_search(answer, std::vector<std::size_t>{4999, 0}, {"secret", false, "Q"}, 5);
  CHECK(stored.documents.size() == SearchLimits().documents);
  REQUIRE(stored.shown.size() == 2);
  CHECK(stored.documents[stored.shown[0].document] == "4999.example");
  CHECK(stored.documents[stored.shown[1].document] == "0.example");
  CHECK(stored.lists[0].documents.size() == stored.documents.size());
}

TEST_CASE("Further queries and synonyms are asked as far as sixty-four expanded queries allow",
          "[service][search]") {
  const Snapshot snapshot;
  const LoadedDomain domain = domain_of_templates(16);  // 32 lists
  SearchRequest request;
  request.text = "a";
  request.alternatives = {"b"};
  CHECK(expand_request(snapshot, domain, request).value().size() == 64);
  request.synonyms = {"c"};
  CHECK(expand_request(snapshot, domain, request).value().size() == 64);
  request.alternatives = {"b", "c"};
  const auto fitting = expand_request(snapshot, domain, request).value();
  CHECK(fitting.size() == 64);
  CHECK(std::ranges::none_of(fitting, [](const ExpandedQuery& query) { return query.text == "c"; }));
  const LoadedDomain fourteen = domain_of_templates(7);
  request.alternatives = {"b", "c", "d", "e"};
  CHECK(expand_request(snapshot, fourteen, request).value().size() == 56);
  request.alternatives = {"b", "c"};
  request.engines = {"two"};
  CHECK(expand_request(snapshot, domain, request).value().size() == 48);  // "c" is asked once
}
