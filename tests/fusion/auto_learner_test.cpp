#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Lists of ten documents each. List a is good: it ranks the two relevant documents first, with noise; the
/// other lists are orders drawn at random. With `is_hopeless` all lists are.
TrainingSet queries_with_a_good_list(int queries, bool is_hopeless, double grade = 1.0,
                                     std::uint32_t lists = 4, int first_relevant = 0) {
  Random random(11);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    std::vector<std::vector<double>> rank(lists);
    for (std::uint32_t f = 0; f < lists; ++f) {
      for (int d = 0; d < 10; ++d) rank[f].push_back(d + 1);
      random.shuffle(rank[f]);
      if (f > 0 || is_hopeless) continue;
      for (int d = 0; d < 10; ++d) rank[f][static_cast<std::size_t>(d)] = d + 1;
      if (q % 4 == 0) std::swap(rank[f][1], rank[f][4]);
    }
    for (int d = 0; d < 10; ++d) {
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < lists; ++f) cells.push_back({f, -rank[f][static_cast<std::size_t>(d)]});
      builder.add({"q" + std::to_string(1000 + q), "d" + std::to_string(d),
                   d >= first_relevant && d < first_relevant + 2 ? grade : 0.0, true, cells});
    }
  }
  std::vector<Feature> features;
  for (std::uint32_t f = 0; f < lists; ++f)
    features.push_back({std::string(1, static_cast<char>('a' + f)), FeatureKind::rank, 0});
  auto set = builder.finish(features, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

TrainingResult auto_result(const TrainingSet& set, unsigned threads = 1, const std::string& measure = {}) {
  TrainingRequest request;
  request.train = &set;
  request.threads = threads;
  request.measure_name = measure;
  auto result = find_learner("auto")->train(request);
  INFO((result ? std::string() : result.error().text));
  REQUIRE(result.has_value());
  return std::move(*result);
}

std::string chosen_of(const TrainingResult& result) {
  return std::string(result.model.training.at("auto").at("chosen").as_string());
}

Result<TrainingResult> reciprocal(const TrainingSet& set, std::map<std::string, std::string> options) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  return find_learner("reciprocal-ranks")->train(request);
}

}  // namespace

TEST_CASE("Reciprocal ranks without learning are RRF, and need no judgment", "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(3, false, 0.0);
  const auto result = reciprocal(set, {});
  REQUIRE(result.has_value());
  const auto scores = result->model.ranker->score(set.matrix);
  for (std::size_t row = 0; row < scores.size(); ++row) {
    double sum = 0.0;
    for (std::size_t f = 0; f < 4; ++f) sum += 1.0 / (60.0 - set.matrix.value(row, f));
    CHECK(scores[row] == Approx(sum));
    double parts = 0.0;
    for (const double part : result->model.ranker->contributions(set.matrix, row)) parts += part;
    CHECK(parts == Approx(scores[row]));
  }
}

TEST_CASE("The best list alone, tuned weights and a boosted prior favour the good list",
          "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(20, false);
  for (const char* weights : {"best", "tuned"}) {
    const auto result = reciprocal(set, {{"weights", weights}});
    REQUIRE(result.has_value());
    const auto& learned =
        dynamic_cast<const reciprocal_ranks::ReciprocalRanker&>(*result->model.ranker).weights();
    for (std::size_t f = 1; f < 4; ++f) CHECK(learned[0] > learned[f]);
  }
  const auto boosted = reciprocal(set, {{"rounds", "10"}});
  REQUIRE(boosted.has_value());
  const std::string text = model_text(boosted->model);
  const auto back = parse_model(text, "m.json");
  REQUIRE(back.has_value());
  CHECK(model_text(*back) == text);
  CHECK(back->ranker->score(set.matrix) == boosted->model.ranker->score(set.matrix));
}

TEST_CASE("A prior that weighs infinitely more than the pairs leaves the order of RRF",
          "[fusion][reciprocal_ranks]") {
  const TrainingSet set = queries_with_a_good_list(5, false);
  const auto plain = reciprocal(set, {})->model.ranker->score(set.matrix);
  const auto shrunk =
      reciprocal(set, {{"rounds", "10"}, {"prior-pairs", "1e12"}})->model.ranker->score(set.matrix);
  for (std::size_t a = 0; a < plain.size(); ++a)
    for (std::size_t b = 0; b < plain.size(); ++b)
      if (plain[a] > plain[b] + 1e-6) CHECK(shrunk[a] > shrunk[b]);
}

TEST_CASE("auto keeps RRF where nothing can be learned and leaves it where a list is better",
          "[fusion][auto]") {
  CHECK(chosen_of(auto_result(queries_with_a_good_list(12, true))) == "RRF");
  const TrainingSet set = queries_with_a_good_list(40, false);
  const TrainingResult result = auto_result(set);
  CHECK(chosen_of(result) != "RRF");
  const JsonObject& record = result.model.training.at("auto").as_object();
  CHECK(record.at("measured_queries").to_number<int>() == 40);
  double rrf = 0.0;
  double chosen = 0.0;
  for (const Json& row : record.at("among").as_array()) {
    if (row.at("name") == "RRF") rrf = row.at("value").to_number<double>();
    if (row.at("name") == record.at("chosen")) chosen = row.at("value").to_number<double>();
  }
  CHECK(chosen > rrf + 0.2);
  CHECK(result.summary.find("auto chose " + chosen_of(result)) != std::string::npos);
}

TEST_CASE("auto's model is the same for any number of threads and comes back from its file",
          "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(15, false);
  const std::string text = model_text(auto_result(set).model);
  CHECK(model_text(auto_result(set, 3).model) == text);
  const auto back = parse_model(text, "m.json");
  REQUIRE(back.has_value());
  CHECK(model_text(*back) == text);
}

TEST_CASE("auto works wherever RRF does: one query, no relevant document, one list", "[fusion][auto]") {
  CHECK(chosen_of(auto_result(queries_with_a_good_list(1, false))) == "RRF");
  CHECK(chosen_of(auto_result(queries_with_a_good_list(6, false, 0.0))) == "RRF");
  CHECK(chosen_of(auto_result(queries_with_a_good_list(6, false, 1.0, 1))) == "RRF");
  const TrainingSet none = queries_with_a_good_list(0, false);
  CHECK(chosen_of(auto_result(none)) == "RRF");
}

TEST_CASE("auto is measured by the measure that is asked for, and refuses one that does not exist",
          "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(6, false);
  const TrainingResult result = auto_result(set, 1, "ndcg_cut_5");
  CHECK(result.model.training.at("auto").at("measure") == "ndcg_cut_5");
  TrainingRequest request;
  request.train = &set;
  request.measure_name = "nothing";
  CHECK(find_learner("auto")->train(request).error().code == Code::usage);
}

TEST_CASE("auto with validation data is measured on that", "[fusion][auto]") {
  const TrainingSet set = queries_with_a_good_list(20, false);
  const TrainingSet other = queries_with_a_good_list(30, false, 1.0, 4, 8);
  TrainingRequest request;
  request.train = &set;
  request.validate = &other;
  const auto result = find_learner("auto")->train(request);
  REQUIRE(result.has_value());
  CHECK(result->model.training.at("auto").at("measured_queries").to_number<int>() == 30);
  CHECK(chosen_of(*result) == "RRF");  // the list that was good in training is the worst there
}
