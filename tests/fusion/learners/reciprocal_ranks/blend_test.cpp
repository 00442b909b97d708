#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Three lists of up to eight documents; the first one is ordered by relevance with some noise.
TrainingSet blend_set(int queries, FeatureKind kind = FeatureKind::rank) {
  Random random(5);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q)
    for (int d = 0; d < 12; ++d) {
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < 3; ++f) {
        const auto noise = static_cast<double>(random.below(f == 0 ? 4 : 12));
        const double rank = 1.0 + (f == 0 ? d / 2.0 + noise : noise);
        if (rank <= 8.0) cells.push_back({f, -std::floor(rank)});
      }
      builder.add({"q" + std::to_string(100 + q), "d" + std::to_string(d), d < 4 ? 1.0 : 0.0, true, cells});
    }
  auto set = builder.finish({{"a", kind, 0}, {"b", kind, 0}, {"c", kind, 0}}, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

Result<TrainingResult> trained_by(const char* learner, const TrainingSet& set,
                                  std::map<std::string, std::string> options = {}, unsigned threads = 1) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  request.threads = threads;
  return find_learner(learner)->train(request);
}

std::vector<double> scores_by(const char* learner, const TrainingSet& set,
                              std::map<std::string, std::string> options = {}) {
  const auto result = trained_by(learner, set, std::move(options));
  REQUIRE(result.has_value());
  return result->model.ranker->score(set.matrix);
}

/// The scores scaled to a standard deviation of 1 within queries; their means are kept.
std::vector<double> standardised(std::vector<double> scores, const TrainingSet& set) {
  double squares = 0.0;
  for (const QueryRange& query : set.queries) {
    double mean = 0.0;
    for (std::size_t row = query.begin; row < query.end; ++row)
      mean += scores[row] / static_cast<double>(query.end - query.begin);
    for (std::size_t row = query.begin; row < query.end; ++row)
      squares += (scores[row] - mean) * (scores[row] - mean);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(scores.size()));
  for (double& score : scores) score /= deviation;
  return scores;
}

}  // namespace

TEST_CASE("A blend is the sum of its parts after scaling each to a standard deviation of 1",
          "[fusion][blend]") {
  for (const int queries : {2, 10, 60}) {
    const TrainingSet set = blend_set(queries);
    const auto fused = standardised(scores_by("reciprocal-ranks", set, {{"rounds", "50"}}), set);
    auto learned = standardised(scores_by("rankboost", set, {{"rounds", "100"}}), set);
    const auto values =
        standardised(scores_by("rankboost", set, {{"rounds", "50"}, {"weak-ranking", "value"}}), set);
    for (std::size_t row = 0; row < learned.size(); ++row) learned[row] += values[row];
    learned = standardised(learned, set);
    const double n = queries;  // every query has a crucial pair
    const double share = n * n / (n * n + 8.0 * 8.0);
    const auto result = trained_by("rankboost-blend", set);
    REQUIRE(result.has_value());
    CHECK(result->model.training.at("share_of_learned").to_number<double>() == Approx(share));
    const auto scores = result->model.ranker->score(set.matrix);
    for (std::size_t row = 0; row < scores.size(); ++row) {
      CHECK(scores[row] == Approx((1.0 - share) * fused[row] + share * learned[row]));
      double sum = 0.0;
      for (const double part : result->model.ranker->contributions(set.matrix, row)) sum += part;
      CHECK(sum == Approx(scores[row]));
    }
  }
}

TEST_CASE("A blend survives its file and is the same for any number of threads", "[fusion][blend]") {
  const TrainingSet set = blend_set(12);
  const auto result = trained_by("rankboost-blend", set);
  REQUIRE(result.has_value());
  const std::string text = model_text(result->model);
  CHECK(model_text(trained_by("rankboost-blend", set, {}, 3)->model) == text);
  const auto back = parse_model(text, "m.json");
  REQUIRE(back.has_value());
  CHECK(model_text(*back) == text);
  CHECK(back->ranker->score(set.matrix) == result->model.ranker->score(set.matrix));
  CHECK(back->ranker->describe(back->features).find("weak rankings") != std::string::npos);
}

TEST_CASE("A damaged body of a blend is refused with the name of the damaged part", "[fusion][blend]") {
  const Model model = trained_by("rankboost-blend", blend_set(4))->model;
  const auto read = read_sum_ranker;
  for (const char* part : {"fused", "steps", "values"}) {
    JsonObject body = model.ranker->body();
    REQUIRE(read(body, model.features).has_value());
    body.erase(part);
    const auto missing = read(body, model.features);
    REQUIRE(missing.has_error());
    CHECK(missing.error().text.find("body." + std::string(part)) != std::string::npos);
    body[part] = JsonObject{{"k", -1}};
    CHECK(read(body, model.features).has_error());
    body[part] = 3;
    CHECK(read(body, model.features).has_error());
  }
}

TEST_CASE("A blend of features that are not ranks uses only what it has learned", "[fusion][blend]") {
  const auto result = trained_by("rankboost-blend", blend_set(3, FeatureKind::value));
  REQUIRE(result.has_value());
  CHECK(result->model.training.at("share_of_learned").to_number<double>() == 1.0);
}

TEST_CASE("A blend needs a crucial pair", "[fusion][blend]") {
  TrainingSet set = blend_set(3);
  for (double& grade : set.grades) grade = 1.0;
  const auto result = trained_by("rankboost-blend", set);
  REQUIRE(result.has_error());
  CHECK(result.error().code == Code::bad_data);
}
