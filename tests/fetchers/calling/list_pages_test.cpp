// The pages of a list, tested with scripted answers: which are requested, how they are joined, and what
// becomes of those that fail or come too late.

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/calling/list_task.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;
using std::chrono::seconds;

namespace {

/// Answers one page at once. Others take longer than any deadline of the test, and are held.
class OnePageTransport final : public Transport {
 public:
  OnePageTransport(std::string answered, HoldingTransport::Held& held, ManualClock& clock)
      : answered_(std::move(answered)), held_(held), clock_(clock) {}
  void send(EngineRequest request, Done done) override {
    if (request.url.ends_with(answered_)) return done(answer_of(kOneResult));
    held_.emplace_back(std::move(request), std::move(done));
    clock_.advance(seconds(60));
  }

 private:
  std::string answered_;
  HoldingTransport::Held& held_;
  ManualClock& clock_;
};

/// One search of an engine with pages, of which one is answered before the deadline.
struct PagedSearch {
  HoldingTransport::Held held;
  ManualClock clock;
  std::shared_ptr<Fetcher> fetcher;

  PagedSearch(const std::string& paging, const std::string& answered) {
    FetcherOptions options;
    options.clock = &clock;
    options.run_late = run_at_once;
    options.wrap_transport = [this, answered](std::unique_ptr<Transport>) {
      return std::make_unique<OnePageTransport>(answered, held, clock);
    };
    fetcher = fetcher_of(block("e", "http://e.example/?q={query}&p={pageno}", paging), options);
  }
  FetchedList ask() const {
    const ExpandedQuery query{"t", "e", "x"};
    return fetcher->fetch({&query, 1}, {.depth = 20, .deadline = Deadline(clock, seconds(1))}, {}).front();
  }
};

}  // namespace

TEST_CASE("When a further page comes too late the first one is the list", "[fetchers][deadline][paging]") {
  const PagedSearch search("paging: true", "p=1");
  const FetchedList list = search.ask();
  CHECK(list.failure == Failure::none);
  CHECK(list.list.hits.size() == 1);
  CHECK(list.message.find("no further page within") != std::string::npos);
  CHECK(list.requests == 2);
  // the whole list serves the next search, which sends nothing
  REQUIRE(search.held.size() == 1);
  search.held[0].second(answer_of(R"({"results":[{"url":"http://a.example/2","title":"Two"}]})"));
  const FetchedList whole = search.ask();
  CHECK(whole.list.hits.size() == 2);
  CHECK(whole.requests == 0);
}

TEST_CASE("A page behind one that comes too late is no list", "[fetchers][deadline][paging]") {
  const PagedSearch search("paging: true, results_per_page: 10", "p=2");
  const FetchedList list = search.ask();
  CHECK(search.held.size() == 1);
  CHECK(list.failure == Failure::timeout);
  CHECK(list.requests == 2);
  CHECK(list.list.hits.empty());
}

TEST_CASE("No further page is requested once there are enough results", "[fetchers][paging]") {
  const std::string paged = block("e", "http://e.example/?q={query}&p={pageno}", "paging: true");
  for (const auto& [each, requests] :
       std::vector<std::pair<int, std::size_t>>{{10, 3}, {14, 3}, {15, 2}, {30, 1}}) {
    INFO(each);
    Script script{[each = each](const EngineRequest& request) {
                    std::string results;
                    for (int i = 0; i < each; ++i)
                      results += (i == 0 ? "" : ",") + (R"({"url":"http://a.example/)" +
                                                        request.url.substr(request.url.find("p=")) +
                                                        std::to_string(i) + R"(","title":"t"})");
                    return answer_of(R"({"results":[)" + results + "]}");
                  },
                  {}};
    CHECK(ask_alone(paged, script, 30).list.hits.size() == 30);
    CHECK(script.requests.size() == requests);
  }
}

TEST_CASE("No result is lost between two windows of a list", "[fetchers][paging]") {
  // an engine with 70 results, so many to a page as it likes; windows of so many results
  for (const auto& [keys, each, depth] :
       std::vector<std::tuple<std::string, int, int>>{{"paging: true, results_per_page: 10", 10, 25},
                                                      {"paging: true", 10, 25},
                                                      {"paging: true", 50, 30},
                                                      {"paging: true", 14, 20}}) {
    INFO(keys << ", " << each << " to a page, windows of " << depth);
    Script script{[each = each](const EngineRequest& request) {
                    const int page = std::stoi(request.url.substr(request.url.find("p=") + 2));
                    std::string results;
                    for (int i = (page - 1) * each; i < std::min(page * each, 70); ++i)
                      results += (results.empty() ? "" : ",") +
                                 (R"({"url":"http://a.example/)" + std::to_string(i) + R"(","title":"t"})");
                    return answer_of(R"({"results":[)" + results + "]}");
                  },
                  {}};
    const auto fetcher =
        fetcher_of(block("e", "http://e.example/?q={query}&p={pageno}", keys), scripted_options(script));
    std::vector<std::string> found, all;
    for (int i = 0; i < 70; ++i) all.push_back("http://a.example/" + std::to_string(i));
    const ExpandedQuery query{"t", "e", "x"};
    for (int window = 1; window <= 4; ++window) {
      const auto lists = fetcher->fetch(
          {&query, 1}, {.depth = depth, .deadline = Deadline(machine_clock(), seconds(5)), .page = window},
          {});
      for (const Hit& hit : lists.front().list.hits) found.push_back(hit.url);
    }
    CHECK(found == all);
  }
}

TEST_CASE("Suggestions are those of the first page that has some", "[fetchers][paging]") {
  const std::string paged = block("e", "http://e.example/?q={query}&p={pageno}",
                                  "paging: true, page_size: 1, suggestion_query: also");
  Script script{[](const EngineRequest& request) {
                  const std::string page = request.url.substr(request.url.find("p=") + 2);
                  return answer_of(R"({"results":[{"url":"http://a.example/)" + page +
                                   R"(","title":"t"}],"also":[)" +
                                   (page == "1" ? "" : "\"more " + page + '"') + "]}");
                },
                {}};
  const FetchedList list = ask_alone(paged, script, 30);
  CHECK(list.list.hits.size() == 3);
  CHECK(list.list.suggestions == std::vector<std::string>{"more 2"});
}

TEST_CASE("A failed page ends the list and a failed first page fails the whole list", "[fetchers][paging]") {
  const std::string paged =
      block("e", "http://e.example/?q={query}&p={pageno}", "paging: true, page_size: 1");
  const auto fetched = [&](int failing, int depth) {
    Script script{
        [&](const EngineRequest& request) {
          const std::string page = request.url.substr(request.url.find("p=") + 2);
          if (page == std::to_string(failing)) return answer_of("oops", 500);
          return answer_of(R"({"results":[{"url":"http://a.example/)" + page + R"(","title":"t"}]})");
        },
        {}};
    const FetchedList list = ask_alone(paged, script, depth);
    return std::pair(list, script.requests.size());
  };
  CHECK(fetched(0, 30).first.list.hits.size() == 3);
  CHECK(fetched(0, 99).first.list.hits.size() == 5);
  const auto [first, requests] = fetched(1, 30);
  CHECK(first.failure == Failure::http_status);
  CHECK(first.list.hits.empty());
  CHECK(requests == 1);
  const auto [second, more] = fetched(2, 30);
  CHECK(second.failure == Failure::none);
  CHECK(second.message.find("page 2: HTTP 500") != std::string::npos);
  CHECK(second.list.hits.size() == 1);
  CHECK(second.lacks_pages);
  CHECK(more == 2);
}

TEST_CASE("Pages behind one that failed do not take its ranks", "[fetchers][paging]") {
  const std::string paged = block("e", "http://e.example/?q={query}&p={pageno}",
                                  "paging: true, page_size: 1, results_per_page: 10");
  Script script{[&](const EngineRequest& request) {
                  const std::string page = request.url.substr(request.url.find("p=") + 2);
                  if (page == "2") return answer_of("oops", 500);
                  return answer_of(R"({"results":[{"url":"http://a.example/)" + page + R"(","title":"t"}]})");
                },
                {}};
  const FetchedList list = ask_alone(paged, script, 30);
  CHECK(script.requests.size() == 3);
  CHECK(list.failure == Failure::none);
  REQUIRE(list.list.hits.size() == 1);
  CHECK(list.list.hits[0].url == "http://a.example/1");
  CHECK(list.lacks_pages);
  CHECK(list.message.find("page 2: HTTP 500") != std::string::npos);
  CHECK(list.blame == Blame::nobody);  // the first page shows that the engine works
  // of several that failed the first is named
  script.answer = [](const EngineRequest& request) {
    return request.url.ends_with("p=1") ? answer_of(kOneResult) : answer_of("oops", 500);
  };
  CHECK(ask_alone(paged, script, 30).message.find("page 2: HTTP 500") != std::string::npos);
  // what asks us to wait is obeyed
  script.answer = [](const EngineRequest& request) {
    return request.url.ends_with("p=2") ? status_answer(429, {{"retry-after", "7"}}) : answer_of(kOneResult);
  };
  const FetchedList limited = ask_alone(paged, script, 30);
  CHECK(limited.failure == Failure::none);
  CHECK(limited.blame == Blame::engine);
  CHECK(limited.retry_after == seconds(7));
}

TEST_CASE("A late list that lacks pages does not serve the next search", "[fetchers][deadline][paging]") {
  const PagedSearch search("paging: true, results_per_page: 10", "p=2");
  CHECK(search.ask().failure == Failure::timeout);
  REQUIRE(search.held.size() == 1);
  search.held[0].second(answer_of(kOneResult));
  CHECK(search.ask().requests == 0);  // this one is whole
  const PagedSearch other("paging: true, results_per_page: 10", "p=1");
  CHECK(other.ask().lacks_pages);
  REQUIRE(other.held.size() == 1);
  other.held[0].second(answer_of("oops", 500));
  CHECK(other.ask().requests == 2);
}
