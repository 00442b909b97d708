#include "service/learning/judge_grades.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "service/learning/decisions.h"
#include "service/learning/judging.h"
#include "service/learning/judgment_transfer.h"
#include "service/learning/model_comparison.h"
#include "service/learning/store_training.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using test::document_key;
using test::kNewYear;
using test::sample_search;

namespace {

/// A store with searches of the queries q0, q1 ..., each with four documents.
struct JudgedStore {
  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  std::unique_ptr<Store> store = open_store(folder.path("store.db")).value();

  void judge(int query, const std::string& judge, const std::vector<int>& grades, UnixTime at = kNewYear) {
    StoredSearch search = sample_search("shoes", at);
    search.query = query_digest("s", "shoes", {{{"Q", std::to_string(query)}}});
    REQUIRE(store->searches.add({&search, 1}).has_value());
    for (std::size_t i = 0; i < grades.size(); ++i)
      REQUIRE(store->judgments
                  .set({"shoes", search.query, document_key(static_cast<int>(i)), judge, grades[i], search.id,
                        at})
                  .has_value());
  }
  StoreTrainingOptions options() const {
    StoreTrainingOptions out;
    out.domain = "shoes";
    out.now = kNewYear;
    out.are_held_out_used = true;
    return out;
  }
};

std::map<std::string, double> grades_in(const fusion::TrainingSet& set) {
  std::map<std::string, double> out;
  for (const fusion::QueryRange& query : set.queries)
    for (std::size_t row = query.begin; row < query.end; ++row)
      out[query.id.substr(7, 4) + std::string(set.documents[row]).substr(11)] = set.grades[row];
  return out;
}

}  // namespace

TEST_CASE("A model's judgments count only on request", "[service][judges]") {
  JudgedStore judged;
  judged.judge(0, "ann", {2, 0, 0, 0});
  judged.judge(0, "model:m", {0, 3, 0, 0}, kNewYear + 100);
  judged.judge(1, "model:m", {0, 0, 3, 1});
  judged.judge(2, "model:other", {3, 0, 0, 0});
  judged.judge(3, "model:m", {0, 0, 0, 0});
  Store& store = *judged.store;
  StoreTrainingReport report;
  StoreTrainingOptions options = judged.options();
  const auto people = training_set_from_store(store, options, &report);
  REQUIRE(people.has_value());
  CHECK(people->queries.size() == 1);
  CHECK(report.judged_queries == 1);
  CHECK(report.model_queries == 0);
  CHECK(people->queries[0].weight == 1.0);

  options.judges = {"m", 0.25, false, false};
  const auto both = training_set_from_store(store, options, &report);
  REQUIRE(both->queries.size() == 3);
  CHECK(report.judged_queries == 1);
  CHECK(report.model_queries == 2);
  CHECK(report.answerable_model_queries == 1);
  double weights = 0;
  double best = 0;
  for (const auto& query : both->queries) weights += query.weight;
  for (const double grade : both->grades) best += grade;
  CHECK(weights == 1.5);
  CHECK(best == 2 + 3 + 1);  // the query that ann judged has only her grades

  options.judges = {"m", 0.25, true, false};
  const auto only = training_set_from_store(store, options, &report);
  CHECK(only->queries.size() == 3);
  CHECK(report.judged_queries == 0);
  CHECK(report.model_queries == 3);
  CHECK(report.answerable_model_queries == 2);
  for (const auto& query : only->queries) CHECK(query.weight == 1.0);

  options.judges = {"unknown", 1, true, false};
  REQUIRE(training_set_from_store(store, options, &report).has_value());
  CHECK_FALSE(report.has_feedback());
}

TEST_CASE("What a model did not grade is no feedback, and what people did not is bad", "[service][judges]") {
  for (const auto& [judge, is_in_feedback] : {std::pair{"model:m", 0}, std::pair{"ann", 1}}) {
    JudgedStore judged;
    judged.judge(0, judge, {3, 0});
    StoreTrainingOptions options = judged.options();
    options.judges = {"m", 1.0, false, false};
    const auto set = training_set_from_store(*judged.store, options);
    REQUIRE(set.has_value());
    REQUIRE(set->in_feedback.size() == 4);
    for (std::size_t row = 0; row < 4; ++row) CHECK(set->in_feedback[row] == (row < 2 ? 1 : is_in_feedback));
  }
}

TEST_CASE("A model's judgments decide no order and measure no model", "[service][judges]") {
  JudgedStore judged;
  judged.judge(1, "model:m", {0, 0, 3, 1});
  CHECK(judged_by_people(*judged.store, "shoes")->empty());
  CHECK(*held_out_queries(*judged.store, "shoes", {}) == 0);
  CHECK(judgments_text(*judged.store, "shoes", {}, JudgmentFormat::qrels)->empty());
  CHECK(
      judgments_text(*judged.store, "shoes", {}, JudgmentFormat::qrels, "model:m")->find("example.org/2 3") !=
      std::string::npos);
  judged.judge(1, "ann", {0, 0, 4, 0}, kNewYear - 500);
  judged.judge(1, "bob", {0, 0, 4, 1}, kNewYear - 400);
  const auto all = *judged.store->judgments.queries("shoes");
  const auto people = of_people(all);
  REQUIRE(people.size() == 1);
  CHECK(people[0].judgments.size() == 8);
  CHECK(people[0].search != all[0].search);  // the search that people judged last
  const auto bobs = std::ranges::find(people[0].judgments, "bob", &StoredJudgment::judge);
  REQUIRE(bobs != people[0].judgments.end());
  CHECK(people[0].search == bobs->search);
  const auto state = judging_state(*judged.store, "shoes", "ann");
  REQUIRE(state->pairs.size() == 3);
  CHECK(state->pairs[1].second == "model:m");
  // 0 0 3 1 is read as 0 0 4 1 on a scale to 4, so it equals bob's
  CHECK(state->pairs[2].first == "bob");
  CHECK(state->pairs[2].agreement.kappa == 1.0);
  CHECK(state->queries.at(0).judges == 2);
}

TEST_CASE("Of several judges' grades the lower median counts, and a grade below 0 is read as 0",
          "[service][judges]") {
  JudgedQuery people;
  const auto give = [](JudgedQuery& query, const std::string& judge, const std::string& document, int grade) {
    StoredJudgment judgment;
    judgment.judge = judge;
    judgment.document = document;
    judgment.grade = grade;
    query.judgments.push_back(judgment);
  };
  give(people, "ann", "x", 3);
  give(people, "bob", "x", 1);
  give(people, "ann", "y", -1);
  give(people, "bob", "z", 0);
  give(people, "ann", "z", 4);
  give(people, "eve", "z", 2);
  CHECK(grades_of(people) == std::map<std::string, int>{{"x", 1}, {"y", -1}, {"z", 2}});
  JudgedQuery model;
  give(model, "model:m", "y", 7);
  give(model, "model:m", "unseen", 2);
  const auto pairs = common_grades({people}, {model});
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].people == 0);
  CHECK(pairs[0].model == kBestModelGrade);
}

TEST_CASE("A model's grade is read on people's scale", "[service][judges]") {
  CHECK(on_scale(0, 4) == 0);
  CHECK(on_scale(1, 4) == 1);
  CHECK(on_scale(2, 4) == 3);
  CHECK(on_scale(3, 4) == 4);
  CHECK(on_scale(1, 1) == 0);
  CHECK(on_scale(2, 1) == 1);
  for (int grade = 0; grade <= kBestModelGrade; ++grade) CHECK(on_scale(grade, 3) == grade);
}

TEST_CASE("Common grades say how a model's grades are to be read", "[service][judges]") {
  const auto without = read_grades({});
  CHECK(without.best == 3);
  CHECK(without.learned == std::array<double, 4>{0, 1, 2, 3});  // believed
  // Binary grades of people. The model's 2 is as often right as wrong, and its 1 better than its 2.
  std::vector<GradePair> pairs;
  const auto add = [&](int model, int people, int count) {
    for (int i = 0; i < count; ++i) pairs.push_back({0, people, model});
  };
  add(0, 0, 20);
  add(1, 0, 2);
  add(1, 1, 8);
  add(2, 0, 5);
  add(2, 1, 5);
  add(3, 1, 10);
  const auto reading = read_grades(pairs);
  CHECK(reading.best == 1);
  CHECK(reading.counts[2] == std::vector<std::size_t>{5, 5});
  // by hand: (0 + .5 + 0) / 22; (0 + .5 + 8) / 12 and (1 + .5 + 5) / 12 pooled; (1 + .5 + 10) / 12
  CHECK(reading.expected[0] == Approx(0.5 / 22));
  CHECK(reading.expected[1] == Approx(15.0 / 24));
  CHECK(reading.expected[2] == Approx(15.0 / 24));
  CHECK(reading.expected[3] == Approx(11.5 / 12));
  CHECK(reading.learned[0] == 0);
  CHECK(reading.learned[3] == Approx(1));
  CHECK(reading.is_informative());
  pairs.clear();
  for (const int grade : {0, 1, 2, 3}) {
    add(grade, 0, 500);
    add(grade, 1, grade == 0 ? 530 : 498);
  }
  CHECK_FALSE(read_grades(pairs).is_informative());
}

TEST_CASE("Calibrated grades are what training takes and held-out queries say nothing", "[service][judges]") {
  JudgedStore judged;
  int query = 0;
  for (; query < 12; ++query) {
    judged.judge(query, "ann", {1, 0, 0, 0});
    judged.judge(query, "model:m", {3, 2, 1, 0});
  }
  judged.judge(query, "model:m", {1, 3, 0, 2});
  StoreTrainingReport report;
  StoreTrainingOptions options = judged.options();
  options.judges = {"m", 1.0, false, true};
  const auto set = training_set_from_store(*judged.store, options, &report);
  REQUIRE(set.has_value());
  CHECK(report.calibrated_by == 48);
  const auto digest = query_digest("s", "shoes", {{{"Q", std::to_string(query)}}}).substr(0, 4);
  const auto grades = grades_in(*set);
  CHECK(grades.at(digest + "/1") == Approx(1));  // its 3
  CHECK(grades.at(digest + "/3") < 0.15);        // its 2, which people never meant
  CHECK(grades.at(digest + "/2") == Approx(0));  // its 0
  options.are_held_out_used = false;
  REQUIRE(training_set_from_store(*judged.store, options, &report).has_value());
  CHECK(report.calibrated_by == 4 * report.judged_queries);
}
