#include "service/search/shown_results.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "service/search/list_fusion.h"
#include "service/search/result_conditions.h"
#include "service/search/search_answer.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

constexpr int kDepth = 10;  // of kTwoTemplates

/// An engine's first page has the results "NAME-1" to "NAME-10", the second page begins with "NAME-11", and
/// so on.
fetchers::FetchedList numbered_page(const ExpandedQuery& query, int page) {
  std::vector<std::string> hosts;
  for (int i = (page - 1) * kDepth + 1; i <= page * kDepth; ++i)
    hosts.push_back(query.engine + "-" + std::to_string(i) + ".example");
  return list_of(hosts);
}

fetchers::FetchedList first_page(const ExpandedQuery& query) {
  return numbered_page(query, 1);
}

JsonObject answer_of(TestServer& server, const std::string& parameters) {
  const auto value = parse_json(body_in(server.get("/search?q=ada&format=json&" + parameters)), "answer");
  REQUIRE(value.has_value());
  return value->as_object();
}

std::vector<std::string> urls_of(const JsonObject& answer) {
  std::vector<std::string> out;
  for (const Json& result : answer.at("results").as_array())
    out.emplace_back(result.as_object().at("url").as_string());
  return out;
}

}  // namespace

TEST_CASE("Later pages ask engines for more and show each result once", "[service][paging]") {
  TestServer server(first_page);
  server.fetcher().set_further([](const ExpandedQuery& query, int page) {
    return page <= 3 ? numbered_page(query, page) : fetchers::FetchedList();
  });
  // 10 of engine one and 10 of engine two in each window, three windows
  std::set<std::string> seen;
  for (int page = 1; page <= 8; ++page) {
    const auto urls = urls_of(answer_of(server, "limit=8&pageno=" + std::to_string(page)));
    CHECK(urls.size() == (page < 8 ? 8U : 4U));
    seen.insert(urls.begin(), urls.end());
  }
  CHECK(seen.size() == 60);
  CHECK(urls_of(answer_of(server, "limit=8&pageno=9")).empty());
  CHECK(server.fetcher().fetches() == 4);  // three windows with results and an empty one
}

TEST_CASE("All windows of a search share one deadline and none begins after it", "[service][paging]") {
  ManualClock clock;
  TestServer server(
      [&](const ExpandedQuery& query) {
        clock.advance(std::chrono::milliseconds(100));  // for each of a window's three lists
        return first_page(query);
      },
      "deadline: 1\n", kTwoTemplates, &clock);
  server.fetcher().set_further([&](const ExpandedQuery& query, int page) {
    clock.advance(std::chrono::milliseconds(200));
    return numbered_page(query, page);
  });
  const TimePoint begin = clock.now();
  CHECK(urls_of(answer_of(server, "limit=200")).size() == 60);
  // the second window ends after 0.9 s, the third after 1.5 s, and there is no time for a fourth
  CHECK(server.fetcher().ends() == std::vector<TimePoint>(3, begin + std::chrono::seconds(1)));
}

TEST_CASE("A page stays the same after later pages were requested", "[service][paging]") {
  TestServer early(first_page);
  TestServer late(first_page);
  for (TestServer* server : {&early, &late}) server->fetcher().set_further(numbered_page);
  const auto before = urls_of(answer_of(early, "limit=15&pageno=1"));
  answer_of(late, "limit=15&pageno=5");
  CHECK(urls_of(answer_of(late, "limit=15&pageno=1")) == before);
  // when both windows are fetched for one page, the second still comes below the first
  const auto together = urls_of(answer_of(late, "limit=40&pageno=1"));
  REQUIRE(together.size() == 40);
  CHECK(std::vector<std::string>(together.begin(), together.begin() + 15) == before);
}

TEST_CASE("A result that another engine delivers in a later window keeps its place and is shown once",
          "[service][paging]") {
  TestServer alone(first_page);
  TestServer shared(first_page);
  alone.fetcher().set_further([](const ExpandedQuery&, int) { return fetchers::FetchedList(); });
  // in its second window engine two has what engine one had in its first
  shared.fetcher().set_further([](const ExpandedQuery& query, int page) {
    if (page > 2) return fetchers::FetchedList();
    return query.engine == "two" ? numbered_page({query.template_id, "one", query.text}, 1)
                                 : numbered_page(query, page);
  });
  const auto first = urls_of(answer_of(alone, "limit=200"));
  const auto both = urls_of(answer_of(shared, "limit=200"));
  REQUIRE(first.size() == 20);
  REQUIRE(both.size() == 30);
  CHECK(std::set<std::string>(both.begin(), both.end()).size() == 30);
  CHECK(std::vector<std::string>(both.begin(), both.begin() + 20) == first);
}

TEST_CASE("The first page asks the engines once and engines with short lists are not asked again",
          "[service][paging]") {
  TestServer full(first_page);
  answer_of(full, "limit=10");
  CHECK(full.fetcher().fetches() == 1);
  TestServer shorter;  // three results per list
  CHECK(urls_of(answer_of(shorter, "limit=2&pageno=2")).size() == 2);
  CHECK(urls_of(answer_of(shorter, "limit=30&pageno=2")).empty());
  CHECK(shorter.fetcher().fetches() == 1);
}

TEST_CASE("Results of blocked sites are replaced by results from later windows", "[service][paging]") {
  TestServer server(first_page);
  server.fetcher().set_further([](const ExpandedQuery& query, int page) {
    return page <= 2 ? numbered_page(query, page) : fetchers::FetchedList();
  });
  std::string cookie = "Cookie: preferences=sites=";
  for (int i = 1; i <= 8; ++i) cookie += (i > 1 ? "|!one-" : "!one-") + std::to_string(i) + ".example";
  const auto urls = [&](const std::string& parameters) {
    const auto value =
        parse_json(body_in(server.get("/search?q=ada&format=json&" + parameters, cookie + "\r\n")), "answer");
    REQUIRE(value.has_value());
    return urls_of(value->as_object());
  };
  CHECK(urls("limit=12").size() == 12);
  CHECK(server.fetcher().fetches() == 1);  // 20 results, 8 of them blocked
  CHECK(urls("limit=15").size() == 15);
  CHECK(server.fetcher().fetches() == 2);
  CHECK(urls("limit=40").size() == 32);  // all that there is
}

TEST_CASE("A list that fails in a later window keeps its results and is named", "[service][paging]") {
  TestServer server(first_page);
  server.fetcher().set_further([](const ExpandedQuery& query, int page) {
    fetchers::FetchedList list = numbered_page(query, page);
    if (query.engine == "two") list = {{}, {}, fetchers::Failure::timeout, "no answer in 3 s", {}};
    return list;
  });
  const JsonObject answer = answer_of(server, "limit=15&pageno=2");
  CHECK(urls_of(answer).size() == 15);  // 20 of the first window, 10 of engine one's second
  CHECK(answer.at("unresponsive_engines").as_array().size() == 1);
}

TEST_CASE("The page after one that a failed engine cut short goes on where that one ended",
          "[service][paging]") {
  TestServer server(first_page);
  int failures = 1;
  server.fetcher().set_further([&](const ExpandedQuery& query, int page) {
    if (page == 2 && query.engine == "two" && failures-- > 0)
      return fetchers::FetchedList{{}, {}, fetchers::Failure::timeout, "no answer in 3 s", {}};
    return numbered_page(query, page);
  });
  const auto page = [&](int number) {
    return urls_of(answer_of(server, "limit=15&pageno=" + std::to_string(number)));
  };
  std::vector<std::string> read;
  for (int number = 1; number <= 4; ++number)
    for (std::string& url : page(number)) read.push_back(std::move(url));
  // ten of engine two, and whatever engine one has, without a gap
  CHECK(std::set<std::string>(read.begin(), read.end()).size() == read.size());
  REQUIRE(read.size() > 40);
  for (std::size_t i = 1; i + 10 <= read.size(); ++i)
    CHECK(std::ranges::count(read, "http://one-" + std::to_string(i) + ".example/") == 1);
  // the page that was cut short asks again
  CHECK(answer_of(server, "limit=15&pageno=2").at("unresponsive_engines").as_array().empty());
}

TEST_CASE("A longer first page asks again for what a shorter one was cut short of", "[service][paging]") {
  TestServer server(first_page);
  int failures = 1;
  server.fetcher().set_further([&](const ExpandedQuery& query, int page) {
    if (page == 2 && query.engine == "two" && failures-- > 0)
      return fetchers::FetchedList{{}, {}, fetchers::Failure::timeout, "no answer in 3 s", {}};
    return numbered_page(query, page);
  });
  CHECK(answer_of(server, "limit=30").at("unresponsive_engines").as_array().size() == 1);
  CHECK(answer_of(server, "limit=40").at("unresponsive_engines").as_array().empty());
}

TEST_CASE("Scores never rise within one answer even across windows", "[service][paging]") {
  TestServer server(first_page);
  server.fetcher().set_further(numbered_page);
  double above = 1.0;
  const JsonObject answer = answer_of(server, "limit=60&explain=1");
  for (const Json& result : answer.at("results").as_array()) {
    const double score = result.as_object().at("fusion").as_object().at("score").to_number<double>();
    CHECK(score <= above);
    CHECK(score >= 0.0);
    above = score;
  }
}

TEST_CASE("The page links to the next one as long as there may be more", "[service][paging]") {
  TestServer server(first_page);
  server.fetcher().set_further([](const ExpandedQuery& query, int page) {
    return page == 2 ? numbered_page(query, 2) : fetchers::FetchedList();
  });
  CHECK(server.get("/search?q=ada&limit=20").find("rel=\"next\"") != std::string::npos);
  CHECK(server.get("/search?q=ada&limit=20&pageno=2").find("rel=\"next\"") != std::string::npos);
  CHECK(server.get("/search?q=ada&limit=20&pageno=3").find("rel=\"next\"") == std::string::npos);
}

TEST_CASE("A raised or lowered site moves past exactly as many results as the preference says",
          "[service][sites]") {
  service::SearchAnswer answer;
  const auto at = [](std::size_t i) { return "http://h" + std::to_string(i) + ".example/"; };
  constexpr std::size_t kResults = 60;
  for (std::size_t i = 0; i < kResults; ++i) {
    service::FusedResult& result = answer.results.emplace_back();
    result.hit.url = at(i);
  }
  const auto place_of = [&](const service::SitePreferences& preferences, std::size_t result) {
    const auto shown = service::shown_results(answer, 1, 100, preferences);
    return static_cast<std::size_t>(std::find(shown.positions.begin(), shown.positions.end(), result) -
                                    shown.positions.begin());
  };
  service::SitePreferences raised, lowered;
  raised.raised = {"h30.example"};
  lowered.lowered = {"h30.example"};
  const std::size_t up = 30 - place_of(raised, 30);
  const std::size_t down = place_of(lowered, 30) - 30;
  CHECK(up == static_cast<std::size_t>(service::kPreferenceRanks));
  CHECK(down == up);
  raised.raised = {"h1.example"};
  CHECK(place_of(raised, 1) == 0);
  service::SitePreferences blocked;
  blocked.blocked = {"h0.example"};
  CHECK(service::shown_results(answer, 1, 100, blocked).total == kResults - 1);
  CHECK(service::shown_results(answer, 59, 1, blocked).positions.size() == 1);
  CHECK(service::shown_results(answer, 60, 1, blocked).positions.empty());
}

TEST_CASE("A blocked site is not shown among folded results either", "[service][sites]") {
  // a.example and copy.example have the same text
  TestServer server([](const ExpandedQuery& query) {
    if (query.engine == "two") return list_of({"c.example"});
    fetchers::FetchedList list = list_of({"a.example", "copy.example"});
    for (Hit& hit : list.list.hits) {
      hit.title = "Otters";
      hit.snippet = "The otter is a mammal that lives in rivers and lakes and eats fish";
    }
    return list;
  });
  const auto page = [&](const std::string& blocked) {
    return body_in(
        server.get("/search?q=ada", blocked.empty() ? "" : "Cookie: preferences=sites=!" + blocked + "\r\n"));
  };
  const auto shows = [](const std::string& text, const std::string& host) {
    return text.find("href=\"http://" + host) != std::string::npos;
  };
  CHECK(shows(page(""), "copy.example"));
  const std::string without_copy = page("copy.example");
  CHECK(shows(without_copy, "a.example"));
  CHECK_FALSE(shows(without_copy, "copy.example"));
  const std::string without_first = page("a.example");
  CHECK(shows(without_first, "copy.example"));
  CHECK_FALSE(shows(without_first, "http://a.example"));
}

TEST_CASE("A raised site moves within its window, so that no page shows a result twice", "[service][sites]") {
  TestServer server(first_page);
  server.fetcher().set_further([](const ExpandedQuery& query, int page) {
    return page <= 2 ? numbered_page(query, page) : fetchers::FetchedList();
  });
  const std::string cookie = "Cookie: preferences=sites=+two-18.example\r\n";
  std::vector<std::string> all;
  for (int page = 1; page <= 4; ++page) {
    const auto answer = parse_json(
        body_in(server.get("/search?q=ada&format=json&limit=10&pageno=" + std::to_string(page), cookie)),
        "answer");
    REQUIRE(answer.has_value());
    for (const std::string& url : urls_of(answer->as_object())) all.push_back(url);
  }
  CHECK(all.size() == 40);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == 40);
  const auto at = std::find(all.begin(), all.end(), "http://two-18.example/") - all.begin();
  CHECK(at == 27);  // ten ranks above its own
}

TEST_CASE("What takes the place of a blocked result comes up in its own window", "[service][sites]") {
  service::SearchAnswer answer;
  answer.windows = 2;
  answer.depth = 2;
  for (const char* host : {"a", "b", "c", "d"}) {
    service::FusedResult& result = answer.results.emplace_back();
    result.hit.url = "http://" + std::string(host) + ".example/";
    result.hit.key = host;
    result.window = answer.results.size() > 2 ? 1 : 0;
    result.relative_score = 1.0 / static_cast<double>(answer.results.size());
  }
  Hit copy;
  copy.url = "http://copy.example/";
  copy.key = "copy";
  answer.results[0].alike = {service::FoldedHit(copy, 1)};
  service::SitePreferences blocked;
  blocked.blocked = {"a.example"};
  const auto changed =
      service::without_blocked(std::make_shared<const service::SearchAnswer>(answer), blocked);
  std::vector<std::string> keys;
  for (const std::size_t at : service::seen_positions(*changed, blocked))
    keys.push_back(changed->results[at].hit.key);
  CHECK(keys == std::vector<std::string>{"b", "c", "d", "copy"});
  CHECK(changed->results.back().relative_score == Approx(0.25));
}

TEST_CASE("Conditions on sites match hosts in any form and paths", "[service][sites]") {
  service::SearchAnswer answer;
  for (const char* url :
       {"https://m\u00fcller.example/0", "http://xn--mller-kva.example/in/x", "http://other.example/in"})
    answer.results.emplace_back().hit.url = url;
  const auto passing = [&](const std::vector<std::string>& included,
                           const std::vector<std::string>& excluded) {
    service::ResultConditions conditions;
    conditions.included = included;
    conditions.excluded = excluded;
    return service::wanted_positions(answer, conditions, 0);
  };
  using Positions = std::vector<std::size_t>;
  CHECK(passing({"m\u00fcller.example"}, {}) == Positions{0, 1});
  CHECK(passing({"https://www.M\u00fcller.example/in/"}, {}) == Positions{1});
  CHECK(passing({}, {"xn--mller-kva.example"}) == Positions{2});
}
