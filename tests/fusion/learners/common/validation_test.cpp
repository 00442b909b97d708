#include "fusion/learners/common/validation.h"

#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "evaluation/measures/measure.h"
#include "evaluation/reports/run_evaluation.h"
#include "fusion/input/input_files.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// A list that finds some of what was judged: of query 1 one of three relevant documents, of query 2 none.
/// For query 3 nothing is relevant, query 4 has no list, and query 5 was not judged.
evaluation::Run list_of_five() {
  evaluation::Run run;
  run.name = "list";
  for (const char* topic : {"1", "2", "3", "5"})
    run.topics.push_back({topic, {{"a", 4.0}, {"b", 3.0}, {"c", 2.0}, {"d", 1.0}}});
  return run;
}

evaluation::Judgments judgments_of_five() {
  evaluation::Judgments out;
  out.queries = {{"1", {{"a", 0}, {"b", 2}, {"x", 3}, {"y", 1}, {"z", -1}}},
                 {"2", {{"c", 0}, {"x", 1}}},
                 {"3", {{"a", 0}, {"x", 0}}},
                 {"4", {{"a", 1}}}};
  return out;
}

TrainingSet set_of_five() {
  TrainingInputReport report;
  auto set = training_set_of({list_of_five()}, judgments_of_five(), {}, report);
  REQUIRE(set.has_value());
  return std::move(*set);
}

/// One query of two documents of these grades.
TrainingSet two_documents(double first, double second) {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, 2);
  set.queries = {{"q", 0, 2, 1.0}};
  set.grades = {first, second};
  set.in_feedback = {1, 1};
  for (const char* id : {"a", "b"}) set.documents.push_back(id);
  return set;
}

}  // namespace

TEST_CASE("A measure of lists is the one that evaluate gives", "[fusion][validation]") {
  const TrainingSet set = set_of_five();
  REQUIRE(set.queries.size() == 3);
  std::vector<double> scores;
  for (std::size_t row = 0; row < set.grades.size(); ++row) scores.push_back(set.matrix.value(row, 0));
  for (const char* name : {"map", "ndcg", "ndcg_cut_10", "P_10", "recall_10", "err_5", "avg_rank"}) {
    CAPTURE(name);
    const auto measures = evaluation::parse_measures(name);
    evaluation::EvaluationOptions options;
    options.rules.top_grade = 3;
    const auto evaluated = evaluation::evaluate_run(list_of_five(), judgments_of_five(), *measures, options);
    REQUIRE(evaluated.has_value());
    const auto measure = validation_measure(set, name);
    REQUIRE(measure.has_value());
    CHECK(measure->reported(measure->value(scores)) == Approx(evaluated->summary[0]));
    const auto queries = measured_queries(set, name);
    REQUIRE(queries->size() == 3);
    for (std::size_t i = 0; i < queries->size(); ++i) {
      const HeldOutQuery& query = queries->at(i);
      const double value = query.measure.value(std::span(scores).subspan(set.queries[i].begin, 4));
      CHECK(query.measure.reported(value) == Approx(evaluated->value(i, 0)));
    }
  }
}

TEST_CASE("Only queries with a relevant document in a list are answerable", "[fusion][validation]") {
  TrainingSet set = set_of_five();
  CHECK(are_answerable(set) == std::vector<bool>{true, false, false});
  CHECK(count_answerable(set) == 1);
  set.queries[0].is_judged = false;
  CHECK(count_answerable(set) == 0);
  CHECK(measured_queries(set, "map")->size() == 2);
  CHECK(validation_measure(set, "map").error().code == Code::bad_data);
}

TEST_CASE("Every judged query is measured in some fold", "[fusion][validation]") {
  TrainingSet set;
  for (int q = 0; q < 9; ++q) set.queries.push_back({"q" + std::to_string(q), 0, 0, 1.0});
  set.grades = {1.0};
  for (const std::size_t answerable : {0, 4, 8}) set.queries[answerable].end = 1;
  set.queries[7].is_judged = false;
  const auto fold_of = folds_to_measure(set, 3, 1);
  REQUIRE(fold_of.has_value());
  CHECK(fold_of->at(7) == 3);
  for (std::size_t fold = 0; fold < 3; ++fold) {
    CHECK((fold_of->at(0) == fold) + (fold_of->at(4) == fold) + (fold_of->at(8) == fold) == 1);
    CHECK(std::ranges::count(*fold_of, fold) >= 2);
  }
}

TEST_CASE("A relevance level between two grades is that of the grade above it", "[fusion][validation]") {
  TrainingSet set = two_documents(0.0, 1.0);
  const std::vector<double> scores = {2.0, 1.0};
  for (const double level : {0.5, 1.0}) {
    set.feedback.relevance_level = level;
    CHECK(validation_measure(set, "map")->value(scores) == 0.5);
  }
}

TEST_CASE("Grades with decimals are relevant where measures round them up to the level",
          "[fusion][validation]") {
  TrainingSet set = two_documents(0.4, 0.5);
  CHECK(validation_measure(set, "map")->value(std::vector{2.0, 1.0}) == 0.5);
  set.grades = {0.4, 0.3};
  CHECK(count_answerable(set) == 0);
}

TEST_CASE("The highest grade of a measured query is that of the whole set", "[fusion][validation]") {
  TrainingSet set = two_documents(1.0, 0.0);
  set.queries.push_back({"r", 2, 2, 1.0});
  set.queries[1].unlisted = {3.0};
  const auto queries = measured_queries(set, "err_5");
  REQUIRE(queries->size() == 2);
  // grade 1 of 3 stops a reader with (2^1 - 1) / 2^3
  CHECK(queries->front().measure.value(std::vector{2.0, 1.0}) == Approx(1.0 / 8));
}
