#include "service/judges/judge_report.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using test::document_key;
using test::kNewYear;

namespace {

/// Queries with ten documents of which two are relevant; the list "good" has them first, "bad" last.
struct ReportStore {
  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  std::unique_ptr<Store> store = open_store(folder.path("store.db")).value();

  /// in: model - the model's grade of a relevant document, and of another
  void add(int number, std::pair<int, int> model, int wrong) {
    StoredSearch search = test::sample_search();
    search.query = query_digest("s", "shoes", {{{"Q", std::to_string(number)}}});
    search.documents.clear();
    StoredList good{"a@good", 10, false, {}};
    StoredList bad{"b@bad", 10, false, {}};
    for (std::uint32_t i = 0; i < 10; ++i) {
      search.documents.push_back(document_key(number * 10 + static_cast<int>(i)));
      good.documents.push_back(i);
      bad.documents.push_back(9 - i);
    }
    search.lists = {good, bad};
    search.shown = {{0, Team::none}};
    REQUIRE(store->searches.add({&search, 1}).has_value());
    for (int i = 0; i < 10; ++i) {
      const bool is_relevant = i < 2;
      const bool is_seen_so = i == wrong ? !is_relevant : is_relevant;
      const std::string& key = search.documents[static_cast<std::size_t>(i)];
      const StoredJudgment judgments[] = {
          {"shoes", search.query, key, "ann", is_relevant ? 3 : 0, search.id, kNewYear},
          {"shoes", search.query, key, "model:m", is_seen_so ? model.first : model.second, search.id,
           kNewYear}};
      REQUIRE(store->judgments.set(judgments).has_value());
    }
  }
  JudgeReport report(bool is_learned = false) const {
    auto reports = judge_reports(*store, {.domain = "shoes", .is_learned = is_learned});
    REQUIRE(reports.has_value());
    REQUIRE(reports->size() == 1);
    return reports->front();
  }
};

}  // namespace

TEST_CASE("A model that grades as people do agrees wholly and teaches the same", "[service][judges]") {
  ReportStore judged;
  for (int i = 0; i < 12; ++i) judged.add(i, {3, 0}, -1);
  const auto report = judged.report(true);
  CHECK(report.judge == "model:m");
  CHECK(report.queries == 12);
  CHECK(report.agreement.documents == 120);
  CHECK(report.agreement.weighted_kappa == 1.0);
  CHECK(report.interval == std::pair(1.0, 1.0));
  CHECK(report.wanted == 0);
  CHECK(report.tau == 1.0);
  REQUIRE(report.methods.size() == 3);
  CHECK(report.methods.front().name == "a@good");
  REQUIRE(report.learned.has_value());
  CHECK(report.learned->from_model == Approx(report.learned->from_people));
  CHECK(report.learned->from_model > report.learned->untrained);
  CHECK(report_text(report, true).find("[1.00, 1.00]") != std::string::npos);
  CHECK(report_json(report).at("tau") == Json(1.0));
}

TEST_CASE("A model that errs has a wide interval and says how many judgments are wanted",
          "[service][judges]") {
  ReportStore judged;
  for (int i = 0; i < 12; ++i) judged.add(i, {3, 0}, i % 3 == 0 ? 0 : i % 3 == 1 ? 5 : -1);
  const auto report = judged.report();
  CHECK(report.agreement.weighted_kappa < 0.9);
  REQUIRE(report.interval.has_value());
  CHECK(report.interval->first < report.agreement.weighted_kappa);
  CHECK(report.interval->second > report.agreement.weighted_kappa);
  // the width falls with the square root of the queries, of which there are twelve
  const double ratio = (report.interval->second - report.interval->first) / kWantedWidth;
  CHECK(report.wanted == static_cast<std::size_t>(std::ceil(12 * (ratio * ratio - 1))));
  CHECK_FALSE(report.learned.has_value());
  const std::string text = report_text(report, true);
  CHECK(text.find("further queries judged by people would narrow") != std::string::npos);
}

TEST_CASE("A model that grades the wrong way round turns the methods round", "[service][judges]") {
  ReportStore judged;
  for (int i = 0; i < 12; ++i) judged.add(i, {0, 3}, -1);
  const auto report = judged.report();
  CHECK(report.agreement.weighted_kappa < 0);
  CHECK(report.tau < 1);
  CHECK_FALSE(report.reading.is_informative());
  CHECK(report_text(report, true).find("do not train from them") != std::string::npos);
}

TEST_CASE("A model without common judgments says so", "[service][judges]") {
  ReportStore judged;
  const auto search = test::sample_search();
  REQUIRE(
      judged.store->judgments.set({"shoes", search.query, document_key(1), "model:m", 2, search.id, kNewYear})
          .has_value());
  CHECK(report_text(judged.report(), false).find("no common document") != std::string::npos);
}

TEST_CASE("Fewer than ten queries say too little of others for an interval", "[service][judges]") {
  ReportStore store;
  for (int i = 1; i <= 9; ++i) store.add(i, {3, 0}, -1);
  CHECK_FALSE(store.report().interval.has_value());
  const std::string text = report_text(store.report(), true);
  CHECK(text.find("no interval from fewer than 10 queries") != std::string::npos);
  CHECK(text.find("people must judge documents of 1 more queries") != std::string::npos);
  CHECK(report_json(store.report()).at("interval").is_null());
  CHECK(report_json(store.report()).at("wanted_queries").is_null());
  store.add(10, {3, 0}, -1);
  CHECK(store.report().interval == std::pair(1.0, 1.0));
}

TEST_CASE("Models learn from at least ten queries and at most so many as asked for", "[service][judges]") {
  ReportStore store;
  for (int i = 1; i <= 11; ++i) store.add(i, {3, 0}, -1);
  const auto learned = [&](std::size_t most) {
    const auto reports =
        judge_reports(*store.store, {.domain = "shoes", .is_learned = true, .most_queries = most});
    REQUIRE(reports.has_value());
    return reports->front().learned ? reports->front().learned->queries : 0;
  };
  CHECK(learned(11) == 11);
  CHECK(learned(10) == 10);
  CHECK(learned(9) == 0);
}
