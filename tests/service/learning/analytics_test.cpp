#include "service/learning/analytics.h"

#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "service/base/dates.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

constexpr UnixTime kNoon = kNewYear + 20 * kSecondsPerDay + kSecondsPerDay / 2;

struct FiguresStore {
  TemporaryFolder folder;
  std::unique_ptr<Store> store = open_store(folder.path("store.db")).value();

  /// Stores a search that was shown `times` times, `days_ago` days before noon of the last day.
  StoredSearch add(const std::string& query, int days_ago, std::uint64_t times, bool has_results = true) {
    StoredSearch search = sample_search("shoes", kNoon - days_ago * kSecondsPerDay);
    search.slots.slots = {{"QUERY", query}};
    search.query = query_digest("secret", "shoes", search.slots);
    search.times = times;
    if (!has_results) {
      search.shown.clear();
      search.documents.clear();
      for (StoredList& list : search.lists) list.documents.clear();
    }
    REQUIRE(store->searches.add({&search, 1}).has_value());
    return search;
  }

  void click(const StoredSearch& search, std::uint32_t position, int seconds_later, char view = '0') {
    const Click click{search.id + std::string(16, view), position, "shoes", Team::none,
                      search.at + seconds_later,         "prefix", "",      1};
    REQUIRE(store->clicks.add(click, {}).has_value());
  }

  Analytics figures(int days = 10) const { return analytics_of(*store, {"shoes", kNoon, days}).value(); }
};

std::string analytics_config(const std::string& more = "") {
  return "store: metafuse.db\nkeys:\n  - {name: root, roles: [admin], sha256: " + sha256_hex("root-key") +
         "}\n  - {name: ann, roles: [judge], sha256: " + sha256_hex("ann-key") + "}\n" + more;
}
const std::string kRoot = "Authorization: Bearer root-key\r\n";

JsonObject figures_over_http(TestServer& server) {
  const std::string answer = server.get("/v1/analytics/pages", kRoot);
  INFO(answer);
  REQUIRE(status_in(answer) == 200);
  return parse_json(body_in(answer), "answer").value().as_object();
}

}  // namespace

TEST_CASE("Searches and searches without results and clicks are counted per day", "[service][analytics]") {
  FiguresStore figures;
  const StoredSearch red = figures.add("red", 0, 3);
  figures.add("blue", 2, 2, false);
  figures.add("old", 30, 5);
  figures.add("judged", 1, 0);  // a judge's search
  figures.click(red, 0, 4);
  const Analytics out = figures.figures();
  REQUIRE(out.days.size() == 10);
  CHECK(out.searches() == 5);
  CHECK(out.empty_searches() == 2);
  CHECK(out.clicks() == 1);
  CHECK(out.days[9].searches == 3);
  CHECK(out.days[9].clicks == 1);
  CHECK(out.days[8].searches == 0);
  CHECK(out.days[7].empty == 2);
  REQUIRE(out.top.size() == 2);
  CHECK(out.top[0].words == "red");
  CHECK(out.top[0].clicks == 1);
  REQUIRE(out.empty.size() == 1);
  CHECK(out.empty[0].words == "blue");
  CHECK(figures.figures(31).searches() == 10);
}

// Position 1 was shown in 3 + 1 searches and clicked twice, position 4 was clicked once. Both searches have 4
// documents, so all positions were shown equally often.
TEST_CASE("The click rate of a position is its clicks divided by its impressions", "[service][analytics]") {
  FiguresStore figures;
  const StoredSearch red = figures.add("red", 0, 3);
  const StoredSearch blue = figures.add("blue", 1, 1);
  figures.click(red, 0, 4, '0');
  figures.click(red, 0, 9, '1');
  figures.click(blue, 3, 7);
  const Analytics out = figures.figures();
  REQUIRE(out.positions.size() == 4);
  CHECK(out.positions[0].shown == 4);
  CHECK(out.positions[0].click_rate() == Approx(0.5));
  CHECK(out.positions[1].clicks == 0);
  CHECK(out.positions[3].click_rate() == Approx(0.25));
  // the time to the first click is known only for the search that was shown once
  CHECK(out.first_click_seconds == std::vector<std::int64_t>{7});
  CHECK(out.median_first_click() == 7);
}

// Document 0 is only in e1's list, document 1 in those of e1 and e2; e3 failed in both searches.
TEST_CASE("A click is divided equally among the engines that returned its document", "[service][analytics]") {
  FiguresStore figures;
  const StoredSearch red = figures.add("red", 0, 1);
  figures.add("blue", 0, 1);
  figures.click(red, 0, 4);
  figures.click(red, 1, 5);
  figures.add("judged", 0, 0);  // only a judge saw its lists
  const Analytics out = figures.figures();
  REQUIRE(out.engines.size() == 3);
  CHECK(out.engines[0].engine == "e1");
  CHECK(out.engines[0].clicks == Approx(1.5));
  CHECK(out.engines[1].clicks == Approx(0.5));
  CHECK(out.engines[2].lists == 2);
  CHECK(out.engines[2].failed == 2);
  CHECK(out.engine_searches == 2);
}

TEST_CASE("A query is rising if it is asked more often than chance explains", "[service][analytics]") {
  QueryFigures query;
  query.later = 9;
  query.earlier = 1;
  CHECK(rise_of(query) == Approx(8 / std::sqrt(10.0)));
  FiguresStore figures;
  figures.add("steady", 8, 10);
  figures.add("steady", 1, 12);
  figures.add("rising", 8, 1);
  figures.add("rising", 1, 9);
  figures.add("once", 1, 1);
  const Analytics out = figures.figures();
  REQUIRE(out.rising.size() == 1);
  CHECK(out.rising[0].words == "rising");
  CHECK(out.rising[0].earlier == 1);
  CHECK(out.rising[0].later == 9);
}

TEST_CASE("The halves of a period that begins at midnight are equally long", "[service][analytics]") {
  FiguresStore figures;
  // asked once an hour since midnight two days ago
  for (int hour = 0; hour <= 60; ++hour) {
    StoredSearch search = sample_search("shoes", kNoon - hour * kSecondsPerHour);
    REQUIRE(figures.store->searches.add({&search, 1}).has_value());
  }
  for (const int days : {1, 2, 3}) {
    const Analytics out = figures.figures(days);
    REQUIRE(out.top.size() == 1);
    CHECK(out.top[0].searches == static_cast<std::uint64_t>(24 * days - 11));
    CHECK(out.top[0].later - out.top[0].earlier <= 1);
    CHECK(out.rising.empty());
  }
}

TEST_CASE("Where there are too many clicks, rates are those of the time whose clicks are counted",
          "[service][analytics]") {
  FiguresStore figures;
  const StoredSearch early = figures.add("red", 5, 4);
  const StoredSearch late = figures.add("red", 1, 4);
  for (const StoredSearch* search : {&early, &late})
    for (const char view : {'0', '1'}) figures.click(*search, 0, view == '0' ? 1 : 2, view);
  const Analytics all = figures.figures();
  CHECK(all.clicks_from == 0);
  CHECK(all.positions[0].click_rate() == Approx(0.5));
  CHECK(to_json(all).at("clicks_from").is_null());
  const Analytics some = analytics_of(*figures.store, {"shoes", kNoon, 10, 3}).value();
  CHECK(some.clicks_from == early.at + 3);
  CHECK(some.clicks() == 2);
  CHECK(some.searches() == 8);
  CHECK(some.positions[0].shown == 4);
  CHECK(some.positions[0].click_rate() == Approx(0.5));
  CHECK(to_json(some).at("clicks_from").as_string() == utc_text(some.clicks_from));
}

TEST_CASE("Figures are exported as JSON and CSV with cells that a spreadsheet cannot run",
          "[service][analytics]") {
  FiguresStore figures;
  figures.add("=1+1", 0, 2);
  figures.add("a, \"b\"", 0, 1);
  const Analytics out = figures.figures(1);
  CHECK(analytics_csv(out, "queries") ==
        "query,searches,without_results,clicks,first_half,second_half\r\n"
        "'=1+1,2,0,0,0,2\r\n\"a, \"\"b\"\"\",1,0,0,0,1\r\n");
  CHECK(analytics_csv(out, "days") == "day,searches,without_results,clicks\r\n2025-01-21,3,0,0\r\n");
  const JsonObject json = to_json(out);
  CHECK(json.at("queries").at(0).at("query").as_string() == "=1+1");
  CHECK(json.at("median_first_click_seconds").is_null());
}

TEST_CASE("Analytics over HTTP need an administrator and follow the privacy settings",
          "[service][analytics][security]") {
  TestServer server(
      [](const ExpandedQuery& query) {
        return query.text == "nothing" ? list_of({}) : TestServer::default_answer(query);
      },
      analytics_config());
  server.get("/search?q=ada&format=json");
  server.get("/search?q=nothing&format=json");
  server.get("/search?q=secret&format=json", "DNT: 1\r\n");
  server.get("/search?q=secret&format=json", "Sec-GPC: 1\r\n");
  server.post("/v1/judgments/pages/results", "application/json", R"({"query":"judged"})",
              "Authorization: Bearer ann-key\r\n");
  const JsonObject figures = figures_over_http(server);
  CHECK(figures.at("searches").as_int64() == 2);
  CHECK(figures.at("without_results").as_int64() == 1);
  CHECK(to_text(figures).find("secret") == std::string::npos);
  CHECK(status_in(server.get("/v1/analytics/pages")) == 401);
  CHECK(status_in(server.get("/v1/analytics/pages", "Authorization: Bearer ann-key\r\n")) == 403);
  CHECK(status_in(server.get("/v1/analytics/wat", kRoot)) == 404);
  for (const char* wrong : {"days=0", "days=400", "days=x", "format=xml", "table=wat"})
    CHECK(status_in(server.get(std::string("/v1/analytics/pages?") + wrong, kRoot)) == 400);
  const std::string csv = server.get("/v1/analytics/pages?format=csv&table=queries", kRoot);
  CHECK(csv.find("filename=\"pages-queries.csv\"") != std::string::npos);
  CHECK(body_in(csv).find("ada,1,0,0,") != std::string::npos);

  const std::string type = "application/x-www-form-urlencoded";
  const std::string page = server.post("/analytics/pages", type, "key=root-key&action=show&days=7");
  CHECK(status_in(page) == 200);
  CHECK(page.find("<svg") != std::string::npos);
  CHECK(page.find("<th scope=\"row\">ada") != std::string::npos);
  CHECK(status_in(server.post("/analytics/pages", type, "key=ann-key&action=show")) == 403);
  CHECK(body_in(server.get("/analytics/pages")).find("ada") == std::string::npos);

  TestServer hashed(TestServer::default_answer, analytics_config("privacy: {hash_queries: true}\n"));
  hashed.get("/search?q=ada&format=json");
  const JsonObject blind = figures_over_http(hashed);
  CHECK(blind.at("searches").as_int64() == 1);
  CHECK(blind.at("queries").at(0).at("query").is_null());
  CHECK(to_text(blind).find("ada") == std::string::npos);
  CHECK(hashed.post("/analytics/pages", type, "key=root-key&action=show").find("Queries are hashed") !=
        std::string::npos);
}
