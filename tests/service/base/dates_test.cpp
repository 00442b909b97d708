#include "service/base/dates.h"

#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "service/api/searxng.h"
#include "service/search/result_conditions.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

/// Pages with and without a date; the third has today's date.
fetchers::FetchedList dated_list(const ExpandedQuery&) {
  fetchers::FetchedList out = list_of({"old.example", "new.example", "today.example", "none.example"});
  out.list.hits[0].published = "2019-06-01";
  out.list.hits[1].published = "2024-02-29T23:30:00-01:00";
  out.list.hits[2].published = iso_day(std::time(nullptr));
  return out;
}

std::string hosts(TestServer& server, const std::string& more) {
  const std::string answer =
      body_in(server.post("/search", "application/json", R"({"query":"ada","max_results":20)" + more + "}"));
  std::string out;
  const Json body = parse_json(answer, "answer").value();
  for (const Json& result : body.at("results").as_array())
    out += std::string(result.at("url").as_string()).substr(7, 3) + ' ';
  return out;
}

}  // namespace

TEST_CASE("Dates follow the calendar and may have a time of day and a zone", "[service][dates]") {
  CHECK(moment_of("1970-01-02") == 86400);
  CHECK(moment_of("2024-02-29T12:30:15Z") == 1709209815);
  CHECK(moment_of("2024-02-29 12:30") == 1709209800);
  CHECK(moment_of("2024-02-29T12:30:15.25+05:30") == 1709209815 - 19800);
  CHECK(moment_of("2024-02-29T12:30:15-0800") == 1709209815 + 28800);
  CHECK(moment_of("2024-02-29T12:30:15+05") == 1709209815 - 18000);
  CHECK(moment_of("2024-02-29T99:99") == 1709164800);
  // each part up to its greatest value; a greater one is ignored
  CHECK(moment_of("2024-02-29T23:59:59Z") == 1709164800 + 86399);
  CHECK(moment_of("2024-02-29T23:59:60Z") == 1709164800 + 86340);
  CHECK(moment_of("2024-02-29T23:60:59Z") == 1709164800);
  CHECK(moment_of("2024-02-29T24:59:59Z") == 1709164800);
  CHECK(moment_of("2024-02-29T12:30:15+23:59") == 1709209815 - 86340);
  CHECK(moment_of("2024-02-29T12:30:15+24:00") == 1709209815);
  CHECK(moment_of("2024-02-29T12:30:15-00:60") == 1709209815);
  CHECK(moment_of("2024-12-31").has_value());
  CHECK_FALSE(moment_of("2024-12-32").has_value());
  for (const char* none : {"", "2024", "2024-02", "2023-02-29", "2024-13-01", "2024-00-10", "2024-1-01x",
                           "----------", "+024-01-01", "2024/01/01"})
    CHECK_FALSE(moment_of(none));
  CHECK(iso_day(1709209815) == "2024-02-29");
  CHECK(rfc822_text(1709209815) == "Thu, 29 Feb 2024 12:30:15 +0000");
}

TEST_CASE("RSS has the publication time of a result to the second where it is known", "[service][searxng]") {
  TestServer server(dated_list);
  const std::string feed = server.get("/search?q=ada&format=rss");
  CHECK(feed.find("<pubDate>Sat, 01 Jun 2019 00:00:00 +0000</pubDate>") != std::string::npos);
  CHECK(feed.find("<pubDate>Fri, 01 Mar 2024 00:30:00 +0000</pubDate>") != std::string::npos);
}

TEST_CASE("Tavily's date filters apply to engines that do not support them", "[service][tavily]") {
  TestServer server(dated_list);
  CHECK(hosts(server, "") == "old new tod non ");
  CHECK(hosts(server, R"(,"start_date":"2019-06-01","end_date":"2024-02-29")") == "old new ");
  CHECK(hosts(server, R"(,"start_date":"2019-06-02")") == "new tod ");
  CHECK(hosts(server, R"(,"time_range":"week")") == "tod non ");  // a result without a date may be recent
  CHECK(hosts(server, R"(,"time_range":"d")") == "tod non ");
  CHECK(hosts(server, R"(,"days":36500)") == "old new tod non ");
  CHECK(hosts(server, R"(,"days":2)") == "tod non ");
  for (const char* wrong :
       {R"("start_date":"2023-02-29")", R"("start_date":"----------")", R"("end_date":"2024-1-1")",
        R"("start_date":"2024-01-02","end_date":"2024-01-01")", R"("time_range":"decade")"}) {
    INFO(wrong);
    const std::string answer =
        server.post("/search", "application/json", R"({"query":"ada",)" + std::string(wrong) + "}");
    CHECK(status_in(answer) == 400);
    CHECK(body_in(answer).starts_with(R"({"detail":{"error":"Invalid )"));
  }
}

TEST_CASE("CSV keeps a negative score as a number but escapes text that begins like a formula",
          "[service][searxng]") {
  SearchAnswer answer;
  answer.results.emplace_back();
  answer.results[0].hit.title = "-1+1";
  answer.results[0].hit.url = "http://a.example/";
  answer.results[0].score = -1.5;
  ShownResults shown;
  shown.positions = {0};
  CHECK(searxng_csv(answer, shown).ends_with("\r\n'-1+1,http://a.example/,,a.example,,-1.5,result\r\n"));
}

TEST_CASE("Conditions on dates include their first and last day", "[service][dates]") {
  SearchAnswer answer;
  for (const char* day : {"2025-02-27", "2025-02-28", "2025-03-01", "2025-03-02T10:00:00Z", ""})
    answer.results.emplace_back().hit.published = day;
  const auto passing = [&](const ResultConditions& conditions) {
    return wanted_positions(answer, conditions, *moment_of("2025-03-02T12:00:00Z"));
  };
  using Positions = std::vector<std::size_t>;
  ResultConditions conditions;
  CHECK_FALSE(conditions.is_set());
  conditions.days = 2;
  CHECK(conditions.is_set());
  CHECK(passing(conditions) == Positions{1, 2, 3, 4});
  conditions.days = 1;
  CHECK(passing(conditions) == Positions{2, 3, 4});
  conditions = {};
  conditions.start_date = "2025-02-28";
  conditions.end_date = "2025-03-01";
  CHECK(passing(conditions) == Positions{1, 2});
  conditions = {};
  conditions.least_score = 0.5;
  answer.results[0].relative_score = 0.5;
  answer.results[1].relative_score = 0.49;
  answer.results[2].relevance = 0.6;
  answer.results[3].decided = Decided::pinned;
  CHECK(passing(conditions) == Positions{0, 2, 3});
  answer.hidden = 3;
  CHECK(passing(conditions) == Positions{0});
}
