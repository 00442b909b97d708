#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/training/registry.h"
#include "tests/support/random_training_set.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

Result<TrainingResult> train_with(const TrainingSet& set, std::map<std::string, std::string> options) {
  TrainingRequest request;
  request.train = &set;
  options["rounds"] = "8";
  request.options = std::move(options);
  return find_learner("rankboost")->train(request);
}

/// Two value features with values 0 to 9 and a list of ranks 1 to 9 over three queries.
TrainingSet three_features() {
  Random random(9);
  TrainingSet set;
  set.matrix = FeatureMatrix(
      {{"x", FeatureKind::value, 0}, {"y", FeatureKind::value, 0}, {"list", FeatureKind::rank, 0}}, 30);
  for (std::size_t row = 0; row < 30; ++row) {
    set.matrix.set(row, 0, static_cast<double>(random.below(10)));
    if (row % 7 != 0) set.matrix.set(row, 1, static_cast<double>(random.below(10)));
    if (row % 5 != 0) set.matrix.set(row, 2, -1.0 - static_cast<double>(random.below(9)));
    set.grades.push_back(static_cast<double>(random.below(3)));
    set.documents.push_back("d" + std::to_string(100 + row));
    set.in_feedback.push_back(1);
  }
  set.queries = {{"a", 0, 10, 1.0}, {"b", 10, 20, 1.0}, {"c", 20, 30, 1.0}};
  return set;
}

/// The same set as a learner sees it through the thresholds: feature x is replaced by the number of
/// thresholds that it exceeds, and the rank in the list by 1 plus the number of smaller thresholds.
TrainingSet as_seen(const TrainingSet& set, const std::vector<double>& of_x,
                    const std::vector<double>& of_list) {
  TrainingSet seen = set;
  for (std::size_t row = 0; row < 30; ++row) {
    double count = 0.0;
    for (const double theta : of_x) count += set.matrix.value(row, 0) > theta ? 1.0 : 0.0;
    seen.matrix.set(row, 0, count);
    if (set.matrix.is_unranked(row, 2)) continue;
    double passed = 1.0;
    for (const double k : of_list) passed += -set.matrix.value(row, 2) <= k ? 0.0 : 1.0;
    seen.matrix.set(row, 2, -passed);
  }
  return seen;
}

}  // namespace

TEST_CASE("Given thresholds have the same effect as features discretised at them", "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = three_features();
  const std::string file = folder.write("thresholds", "# of x and of the list\nx 2.5 6 6.5 40\n\nlist 1 4\n");
  for (const char* learner : {"3.cum", "2", "3"}) {
    const auto given = train_with(set, {{"thresholds", file}, {"weak-learner", learner}});
    REQUIRE(given.has_value());
    const TrainingSet seen = as_seen(set, {2.5, 6.0, 40.0}, {1.0, 4.0});
    const auto expected = train_with(seen, {{"weak-learner", learner}});
    REQUIRE(expected.has_value());
    const auto scores = given->model.ranker->score(set.matrix);
    const auto wanted = expected->model.ranker->score(seen.matrix);
    for (std::size_t row = 0; row < scores.size(); ++row)
      CHECK(scores[row] == Approx(wanted[row]).margin(1e-12));
    CHECK(given->model.training.at("thresholds").at("x").as_array().size() == 4);
  }
}

TEST_CASE("Giving every value as a threshold equals the default", "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = three_features();
  const std::string file =
      folder.write("all", "x 0 1 2 3 4 5 6 7 8 9\ny 0 1 2 3 4 5 6 7 8 9\nlist 1 2 3 4 5 6 7 8 9\n");
  CHECK(to_text(train_with(set, {{"thresholds", file}})->model.ranker->body()) ==
        to_text(train_with(set, {})->model.ranker->body()));
}

TEST_CASE("Invalid thresholds are refused with file and line", "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = three_features();
  const auto refusal = [&](const std::string& text) {
    const auto trained = train_with(set, {{"thresholds", folder.write("t", text)}});
    REQUIRE_FALSE(trained.has_value());
    CHECK(trained.error().code == Code::bad_data);
    return trained.error().text;
  };
  CHECK(refusal("x 1\nx 2\n").find("t:2") != std::string::npos);
  CHECK(refusal("x one\n").find("t:1") != std::string::npos);
  CHECK(refusal("x nan\n").find("t:1") != std::string::npos);
  CHECK(refusal("# nothing\n").find("contains no lines") != std::string::npos);
  CHECK(refusal("z 1\n").find("no feature \"z\"") != std::string::npos);
  CHECK(refusal("list 0\n").find("whole numbers of at least 1") != std::string::npos);
  CHECK(train_with(set, {{"thresholds", folder.path("missing")}}).error().code == Code::no_input);
  const std::string good = folder.write("good", "x 1\n");
  CHECK(train_with(set, {{"thresholds", good}, {"weak-ranking", "value"}}).error().code == Code::usage);
}
