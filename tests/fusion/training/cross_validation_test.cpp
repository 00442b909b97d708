#include "fusion/training/cross_validation.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fusion/input/training_set_builder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

const std::vector<Feature> kLists = {{"plain@one", FeatureKind::rank, 0},
                                     {"title@two", FeatureKind::rank, 0}};

/// Queries whose list "plain@one" has five documents; the one at the given rank is relevant, none for 0.
/// "title@two" holds only the relevant document and one that is not, in this order.
TrainingSet with_answers_at(const std::vector<int>& ranks, double grade = 1.0) {
  TrainingSetBuilder builder;
  for (std::size_t q = 0; q < ranks.size(); ++q)
    for (int rank = 1; rank <= 5; ++rank) {
      std::vector<Cell> cells{{0, -static_cast<double>(rank)}};
      if (rank == ranks[q]) cells.push_back({1, -1.0});
      if (rank == ranks[q] % 5 + 1 && ranks[q] > 0) cells.push_back({1, -2.0});
      builder.add({std::string(1, static_cast<char>('a' + q)), "d" + std::to_string(rank),
                   rank == ranks[q] ? grade : 0.0, true, cells});
    }
  return builder.finish(kLists, {}).value();
}

/// Orders documents as the first list does.
class FirstList final : public Ranker {
 public:
  std::vector<double> score(const FeatureMatrix& documents) const override {
    std::vector<double> out;
    for (std::size_t row = 0; row < documents.document_count(); ++row) out.push_back(documents.value(row, 0));
    return out;
  }
  JsonObject body() const override { return {}; }
  std::string describe(const std::vector<Feature>&) const override { return {}; }
};

/// A learner that notes the queries that it is given, and always answers as the first list does.
struct NotingLearner {
  std::vector<std::set<std::string>> seen;
  Learner learner;

  NotingLearner() {
    learner.name = "first-list";
    learner.train = [this](const TrainingRequest& request) -> Result<TrainingResult> {
      std::set<std::string> ids;
      for (const QueryRange& query : request.train->queries) ids.insert(query.id);
      seen.push_back(ids);
      TrainingResult out;
      out.model.learner = "first-list";
      out.model.features = request.train->matrix.features();
      out.model.ranker = std::make_shared<FirstList>();
      return out;
    };
  }
};

CrossValidationOptions options_for(const NotingLearner& noting, int depth) {
  CrossValidationOptions options;
  options.learner = &noting.learner;
  options.depth = depth;
  return options;
}

}  // namespace

TEST_CASE("A query is ranked by a model that was trained on the other folds", "[fusion][cross_validation]") {
  const TrainingSet set = with_answers_at({1, 2, 3, 4, 5});
  NotingLearner noting;
  const auto result = cross_validate(set, {3, {0, 2, 1, 0, 2}}, options_for(noting, 30));
  REQUIRE(result.has_value());
  using Ids = std::set<std::string>;
  CHECK(noting.seen == std::vector<Ids>{{"b", "c", "e"}, {"a", "b", "d", "e"}, {"a", "c", "d"}});
  CHECK(result->queries == std::vector<std::string>{"a", "b", "c", "d", "e"});
  CHECK(result->fold_of == std::vector<std::size_t>{0, 2, 1, 0, 2});
  CHECK(result->learner.best_rank == std::vector<int>{1, 2, 3, 4, 5});
  CHECK(result->features.at(0).best_rank == std::vector<int>{1, 2, 3, 4, 5});
  CHECK(result->features.at(1).best_rank == std::vector<int>{1, 1, 1, 1, 1});
  CHECK(result->learner.top(3) == 3);
  CHECK(result->learner.average_rank() == 3.0);
  const std::string table = to_table(*result);
  CHECK(table.find("5 queries held out in 3 folds; 0 more have no relevant") != std::string::npos);
}

TEST_CASE("An answer below the depth counts like one that is missing", "[fusion][cross_validation]") {
  const TrainingSet set = with_answers_at({2, 3, 4, 5});
  NotingLearner noting;
  auto options = options_for(noting, 3);
  options.baselines = rank_baselines();
  const auto result = cross_validate(set, {2, {0, 1, 0, 1}}, options);
  REQUIRE(result.has_value());
  CHECK(result->learner.best_rank == std::vector<int>{2, 3, 4, 4});
  CHECK(result->learner.top(3) == 2);
  CHECK(result->features.at(0).best_rank == std::vector<int>{2, 3, 4, 4});
  REQUIRE(result->baselines.size() == 4);
  for (const MethodRanks& baseline : result->baselines)
    CHECK(baseline.best_rank == std::vector<int>{1, 1, 1, 2});
}

TEST_CASE("Queries without a relevant document are counted and left out", "[fusion][cross_validation]") {
  const TrainingSet set = with_answers_at({1, 0, 3, 0, 5});
  NotingLearner noting;
  const auto result = cross_validate(set, {2, {0, 0, 1, 1, 0}}, options_for(noting, 30));
  REQUIRE(result.has_value());
  CHECK(result->unanswerable == 2);
  CHECK(result->queries == std::vector<std::string>{"a", "c", "e"});
  CHECK(result->fold_of == std::vector<std::size_t>{0, 1, 0});
  CHECK(result->learner.best_rank == std::vector<int>{1, 3, 5});
  TrainingSet strict = with_answers_at({1, 2}, 1.0);
  strict.feedback.relevance_level = 2.0;
  CHECK(cross_validate(strict, {2, {0, 1}}, options_for(noting, 30)).error().code == Code::bad_data);
  strict = with_answers_at({1, 2}, 2.0);
  strict.feedback.relevance_level = 2.0;
  CHECK(cross_validate(strict, {2, {0, 1}}, options_for(noting, 30))->unanswerable == 0);
}

TEST_CASE("A fold that cannot be trained is named", "[fusion][cross_validation]") {
  NotingLearner noting;
  noting.learner.train = [](const TrainingRequest& request) -> Result<TrainingResult> {
    if (request.train->queries.size() == 1) return fail(Code::bad_data, "too little");
    TrainingResult out;
    out.model.ranker = std::make_shared<FirstList>();
    return out;
  };
  const TrainingSet set = with_answers_at({1, 2, 3});
  const auto result = cross_validate(set, {2, {0, 1, 1}}, options_for(noting, 30));
  REQUIRE(result.has_error());
  CHECK(result.error().text == "fold 2: too little");
}

TEST_CASE("The table shows the best feature of each column", "[fusion][cross_validation]") {
  CrossValidation result;
  result.depth = 30;
  result.learner = {"mine", {1, 2}};
  result.baselines = {{"rrf", {3, 2}}};
  result.features = {{"a", {1, 31}}, {"b", {4, 4}}};
  result.queries = {"p", "q"};
  result.folds = 2;
  const auto row = [&](const std::string& name) {
    const std::string table = to_table(result);
    std::string out = table.substr(table.find('\n' + name) + 1);
    out = out.substr(name.size(), out.find('\n') - name.size());
    std::string squeezed;
    for (const char c : out)
      if (c != ' ' || !squeezed.ends_with(' ')) squeezed += c;
    return squeezed;
  };
  CHECK(row("mine") == " 1 2 2 2 2 2 1.50");
  CHECK(row("rrf") == " 0 1 2 2 2 2 2.50");
  CHECK(row("best feature a column") == " 1 1 2 2 2 2 4.00");
  result.choices = {Json(JsonObject{}), Json(JsonObject{})};
  CHECK(to_table(result).find("mine against rrf: the answer is higher in 1 queries and lower in 0; mean rank "
                              "lower by 1.00") != std::string::npos);
  CHECK(MethodRanks{}.average_rank() == 0.0);
}
