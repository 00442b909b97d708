#include "lab/learners/baselines/baselines.h"

#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/learners/similarity/similarity.h"
#include "fusion/model/model_file.h"
#include "lab/learners/rankboost_plus/pair_rows.h"
#include "lab/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::lab::baselines;

namespace {

constexpr double kUnranked = -99.0;

/// One query with one row per document: its grade (below 0: not in feedback), then its features.
TrainingSet set_of(const std::vector<std::vector<double>>& rows) {
  TrainingSet set;
  std::vector<Feature> features;
  for (std::size_t f = 1; f < rows[0].size(); ++f)
    features.push_back({"f" + std::to_string(f), FeatureKind::value, 0});
  set.matrix = FeatureMatrix(features, rows.size());
  set.queries = {{"q", 0, rows.size(), 1.0}};
  for (std::size_t x = 0; x < rows.size(); ++x) {
    set.grades.push_back(std::max(0.0, rows[x][0]));
    set.in_feedback.push_back(rows[x][0] >= 0.0 ? 1 : 0);
    set.documents.push_back({});
    for (std::size_t f = 1; f < rows[x].size(); ++f)
      if (rows[x][f] != kUnranked) set.matrix.set(x, f - 1, rows[x][f]);
  }
  return set;
}

}  // namespace

// Feature 1 rates 3, 1 and does not rate the middle document. The defaults 1 and 3 tie it with another
// document (loss 1/6); 2, which only feature 2 uses, puts it in between (loss 0). Feature 2 alone loses 1/3.
TEST_CASE("Nearest neighbour chooses the default with the least loss from the rating scale",
          "[fusion][baselines]") {
  const TrainingSet set = set_of({{3, 3, 2}, {2, kUnranked, 3}, {1, 1, 1}});
  const auto ranker = nearest_neighbour(set, {});
  REQUIRE(ranker.has_value());
  REQUIRE(ranker->terms().size() == 1);
  CHECK(ranker->terms()[0] == LinearTerm{0, 1.0, 2.0});
  const auto by_mean = nearest_neighbour(set, {1, true});
  CHECK(by_mean->terms()[0] == LinearTerm{0, 1.0, 2.0});
  const auto both = nearest_neighbour(set, {2, false});
  REQUIRE(both->terms().size() == 2);
  CHECK(both->terms()[1].feature == 1);
  CHECK(both->terms()[1].weight == 0.5);
}

// The feature ranks every document of the feedback, so its default is its mean over all documents that it
// ranks: (3+1+5)/3.
TEST_CASE("A neighbour that ranks all feedback has its mean as default", "[fusion][baselines]") {
  const auto ranker = nearest_neighbour(set_of({{3, 3}, {1, 1}, {-1, 5}, {-1, kUnranked}}), {});
  CHECK(ranker->terms()[0].unranked == Approx(3.0));
}

// Two equal features: the shortest solution splits the weight. Grades 2, 4 on values 1, 2: w1 + w2 = 2.
TEST_CASE("Regression finds the shortest solution when features are identical", "[fusion][baselines]") {
  const auto ranker = regression(set_of({{2, 1, 1}, {4, 2, 2}}), {});
  REQUIRE(ranker.has_value());
  CHECK(ranker->terms()[0].weight == Approx(1.0));
  CHECK(ranker->terms()[1].weight == Approx(1.0));
}

// The value for unranked documents is the feature's mean over all documents, including those outside the
// feedback: (1 + 3 + 5) / 3 = 3.
TEST_CASE("Regression gives unranked documents the mean of the feature", "[fusion][baselines]") {
  const TrainingSet set = set_of({{1, 1}, {3, kUnranked}, {-1, 3}, {-1, 5}});
  const auto ranker = regression(set, {});
  CHECK(ranker->terms()[0].unranked == Approx(3.0));
  CHECK(ranker->terms()[0].weight == Approx((1.0 * 1 + 3.0 * 3) / (1.0 + 9.0)));
  const auto normalised = regression(set, {true});
  const double at_mean = normalised->score(set.matrix)[1];
  CHECK(at_mean == Approx(0.0).margin(1e-12));
}

TEST_CASE("Regression is the shortest least squares solution", "[fusion][baselines]") {
  Random random(4);
  std::vector<std::vector<double>> rows;
  for (int x = 0; x < 6; ++x) {
    rows.push_back({static_cast<double>(random.below(5))});
    for (int f = 0; f < 9; ++f) rows.back().push_back(static_cast<double>(random.below(5)));
  }
  const TrainingSet set = set_of(rows);
  const auto ranker = regression(set, {});
  REQUIRE(ranker.has_value());
  const std::vector<double> scores = ranker->score(set.matrix);
  for (std::size_t x = 0; x < 6; ++x)
    CHECK(scores[x] == Approx(set.grades[x]).margin(1e-8));  // 9 unknowns, 6 rows
  // The shortest solution is a combination of the rows: C' lambda = w has an exact solution.
  std::vector<double> w(9, 0.0);
  for (const LinearTerm& term : ranker->terms()) w[term.feature] = term.weight;
  std::vector<double> residual = w;
  std::vector<std::vector<double>> basis;
  for (const auto& row : rows) {
    std::vector<double> v(row.begin() + 1, row.end());
    for (const auto& b : basis) {
      double along = 0.0;
      for (std::size_t f = 0; f < 9; ++f) along += v[f] * b[f];
      for (std::size_t f = 0; f < 9; ++f) v[f] -= along * b[f];
    }
    double length = 0.0;
    for (const double value : v) length += value * value;
    if (length < 1e-9) continue;
    for (double& value : v) value /= std::sqrt(length);
    basis.push_back(v);
  }
  for (const auto& b : basis) {
    double along = 0.0;
    for (std::size_t f = 0; f < 9; ++f) along += residual[f] * b[f];
    for (std::size_t f = 0; f < 9; ++f) residual[f] -= along * b[f];
  }
  for (const double value : residual) CHECK(value == Approx(0.0).margin(1e-8));
}

// Target (4, 2), mean 3. Feature 1 rates (2, 1) and a third document 2: cosine 10 / (sqrt(20) * 3), mean 5/3.
// Feature 2 shares no document. So the third document is predicted 3 + (2 - 5/3), the fourth 3.
TEST_CASE("Vector similarity predicts by its formula", "[fusion][baselines]") {
  const TrainingSet set = set_of({{4, 2, kUnranked}, {2, 1, kUnranked}, {-1, 2, 5}, {-1, kUnranked, 1}});
  const auto ranker = similarity::vector_similarity(set);
  REQUIRE(ranker.has_value());
  REQUIRE(ranker->terms().size() == 1);
  const std::vector<double> scores = ranker->score(set.matrix);
  CHECK(scores[2] == Approx(3.0 + 1.0 / 3.0));
  CHECK(scores[3] == Approx(3.0));
  const TrainingSet two = set_of({{4, 2, 1}, {2, 1, 3}});
  const double first = 10.0 / (std::sqrt(5.0) * std::sqrt(20.0));
  const double second = 10.0 / (std::sqrt(10.0) * std::sqrt(20.0));
  const auto both = similarity::vector_similarity(two);
  CHECK(both->terms()[0].weight == Approx(first / (first + second)));
  CHECK(both->score(two.matrix)[0] ==
        Approx(3.0 + (first * (2 - 1.5) + second * (1 - 2.0)) / (first + second)));
}

TEST_CASE("Vector similarity rates a rank as depth + 1 - rank", "[fusion][baselines]") {
  // One list of depth 3, ranks 1, 2, 3 as values -1, -2, -3: ratings 3, 2, 1, mean value -2. Grades 2, 1, 0.
  // The only cosine is positive, so its share is 1: mean grade 1 plus value + 2.
  TrainingSet set = set_of({{2, -1}, {1, -2}, {0, -3}});
  set.matrix = FeatureMatrix({{"list", FeatureKind::rank, 3}}, 3);
  for (std::size_t x = 0; x < 3; ++x) set.matrix.set(x, 0, -1.0 - static_cast<double>(x));
  const auto ranker = similarity::vector_similarity(set);
  REQUIRE(ranker.has_value());
  REQUIRE(ranker->terms().size() == 1);
  CHECK(ranker->terms()[0].weight == Approx(1.0));
  CHECK(ranker->score(set.matrix)[0] == Approx(2.0));
  CHECK(ranker->score(set.matrix)[2] == Approx(0.0).margin(1e-12));
  // Two lists without a given depth: a goes to rank 2, b to rank 4. Grades 1 and 0.
  // a: ratings 2, 1; cosine 2 / sqrt 5. b: ratings 1, 4; cosine 1 / sqrt 17.
  TrainingSet two = set_of({{1, 0, 0}, {0, 0, 0}});
  two.matrix = FeatureMatrix({{"a", FeatureKind::rank, 0}, {"b", FeatureKind::rank, 0}}, 2);
  two.matrix.set(0, 0, -1.0);
  two.matrix.set(1, 0, -2.0);
  two.matrix.set(0, 1, -4.0);
  two.matrix.set(1, 1, -1.0);
  const auto both = similarity::vector_similarity(two);
  REQUIRE(both.has_value());
  const double a = 2.0 / std::sqrt(5.0);
  const double b = 1.0 / std::sqrt(17.0);
  CHECK(both->terms()[0].weight == Approx(a / (a + b)));
  CHECK(both->terms()[1].weight == Approx(b / (a + b)));
}

TEST_CASE("Nearest neighbour's default loses least of all values of the rating scale",
          "[fusion][baselines]") {
  Random random(41);
  for (int draw = 0; draw < 60; ++draw) {
    std::vector<std::vector<double>> rows;
    std::set<double> scale = {-1.0};
    for (int x = 0; x < 14; ++x) {
      rows.push_back({static_cast<double>(random.below(4))});
      for (int f = 0; f < 3; ++f) {
        rows.back().push_back(random.below(3) == 0 ? kUnranked : static_cast<double>(random.below(6)));
        if (rows.back().back() != kUnranked) scale.insert(rows.back().back());
      }
    }
    TrainingSet set = set_of(rows);
    if (draw % 2 == 0) set.pairs = {{0, 1, 0.5}, {1, 0, 2.0}, {2, 3, 1.0}};
    const auto ranker = nearest_neighbour(set, {});
    const auto pairs = metafuse::lab::rankboost_plus::pair_rows(set, std::size_t{1} << 20);
    if (!pairs) continue;
    REQUIRE(ranker.has_value());
    double least = 2.0;
    for (std::uint32_t f = 0; f < 3; ++f)
      for (const double unranked : scale) {
        const LinearRanker single(0.0, {{f, 1.0, unranked}}, 3);
        least =
            std::min(least, metafuse::lab::rankboost_plus::rank_losses(*pairs, single.score(set.matrix)).r2);
      }
    const double own = metafuse::lab::rankboost_plus::rank_losses(*pairs, ranker->score(set.matrix)).r2;
    CHECK(own <= least + 1e-9);
  }
}

TEST_CASE("The best single feature puts unranked documents last", "[fusion][baselines]") {
  const TrainingSet set = set_of({{1, kUnranked, -1}, {0, -1, -2}, {0, -2, kUnranked}});
  const auto ranker = best_feature(set);
  REQUIRE(ranker->terms().size() == 1);
  CHECK(ranker->terms()[0].feature == 1);
  CHECK(ranker->terms()[0].unranked < -2.0);
}

TEST_CASE("Every baseline survives its model file and has a defined outcome on bad input",
          "[fusion][baselines]") {
  const TrainingSet good = set_of({{3, 3, 2, 1}, {2, kUnranked, 3, 1}, {1, 1, 1, 1}, {-1, 2, 2, 1}});
  const TrainingSet equal = set_of({{3, 3, 2, 1}, {3, 1, 1, 1}});
  const TrainingSet empty = set_of({{-1, 3, 2, 1}, {-1, 1, 1, 1}});
  const TrainingSet unranked =
      set_of({{1, kUnranked, kUnranked, kUnranked}, {0, kUnranked, kUnranked, kUnranked}});
  const TrainingSet constant = set_of({{1, 0, 0, 0}, {0, 0, 0, 0}});
  for (const char* name :
       {"nearest-neighbour", "regression", "vector-similarity", "best-feature", "random-guessing"}) {
    INFO(name);
    const Learner* learner = metafuse::lab::find_learner(name);
    REQUIRE(learner != nullptr);
    TrainingRequest request;
    request.train = &good;
    const auto result = learner->train(request);
    REQUIRE(result.has_value());
    const std::string text = model_text(result->model);
    const auto again = parse_model(text, "m.json");
    REQUIRE(again.has_value());
    CHECK(model_text(*again) == text);
    CHECK(again->ranker->score(good.matrix) == result->model.ranker->score(good.matrix));
    const std::vector<double> parts = again->ranker->contributions(good.matrix, 1);
    double sum = 0.0;
    for (const double part : parts) sum += part;
    CHECK(sum == Approx(again->ranker->score(good.matrix)[1]).margin(1e-12));
    const bool is_random = std::string(name) == "random-guessing";
    for (const TrainingSet* set : {&equal, &empty}) {
      request.train = set;
      CHECK(learner->train(request).has_value() == is_random);
    }
    for (const TrainingSet* set : {&unranked, &constant}) {
      request.train = set;
      const auto outcome = learner->train(request);
      REQUIRE(outcome.has_value());
      for (const double score : outcome->model.ranker->score(set->matrix)) CHECK(std::isfinite(score));
    }
  }
}

TEST_CASE("Baseline options out of range and broken models are refused by name", "[fusion][baselines]") {
  const TrainingSet good = set_of({{3, 3}, {1, 1}});
  TrainingRequest request;
  request.train = &good;
  request.options = {{"neighbours", "0"}};
  CHECK(metafuse::lab::find_learner("nearest-neighbour")->train(request).error().code == Code::usage);
  request.options = {{"normalised", "perhaps"}};
  CHECK(metafuse::lab::find_learner("regression")->train(request).error().text.find("--normalised") !=
        std::string::npos);
  const std::vector<Feature> features = {{"f", FeatureKind::value, 0}};
  for (const char* body :
       {R"({"terms":[]})", R"({"offset":0})",
        R"({"offset":0,"terms":[{"feature":1,"weight":1,"default":0}]})",
        R"({"offset":0,"terms":[{"feature":0,"default":0}]})", R"({"offset":0,"terms":[3]})"}) {
    const auto json = parse_json(body, "m");
    REQUIRE(json.has_value());
    CHECK(!read_linear_ranker(json->as_object(), features).has_value());
  }
}
