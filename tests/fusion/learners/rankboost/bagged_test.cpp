#include <cmath>
#include <numeric>
#include <span>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/model/model_file.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

TrainingSet some_set() {
  Random random(3);
  TrainingSetBuilder builder;
  for (int q = 0; q < 40; ++q) {
    const std::string query = "q" + std::to_string(q);
    for (int d = 0; d < 12; ++d) {
      const double grade = static_cast<double>(random.below(3));
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < 4; ++f)
        if (random.below(4) > 0)
          cells.push_back({f, -std::floor(1.0 + 10.0 * random.uniform() / (1.0 + grade * f))});
      builder.add({query, "d" + std::to_string(d), grade, true, cells});
    }
  }
  const Feature rank{"", FeatureKind::rank, 30};
  std::vector<Feature> features(4, rank);
  for (std::size_t f = 0; f < features.size(); ++f)
    features[f].name = std::string(1, static_cast<char>('a' + f));
  auto set = builder.finish(features, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

Model trained(const TrainingSet& set, unsigned threads, const std::string& bags) {
  TrainingRequest request;
  request.train = &set;
  request.threads = threads;
  request.options = {{"rounds", "15"}, {"bags", bags}};
  auto result = find_learner("rankboost-bagged")->train(request);
  REQUIRE(result.has_value());
  return result->model;
}

}  // namespace

TEST_CASE("A bagged model is the same for any number of threads and survives its file", "[fusion][bagged]") {
  const TrainingSet set = some_set();
  const std::string text = model_text(trained(set, 1, "7"));
  CHECK(model_text(trained(set, 3, "7")) == text);
  const auto back = parse_model(text, "m.json");
  REQUIRE(back.has_value());
  CHECK(model_text(*back) == text);
}

TEST_CASE("A bagged model stays monotone in every feature", "[fusion][bagged]") {
  const TrainingSet set = some_set();
  const Model model = trained(set, 2, "9");
  const std::vector<WeakRanking>& rankings = *model.ranker->sum()->rankings();
  CHECK(rankings.size() > 4);
  for (const WeakRanking& h : rankings) CHECK(h.alpha > 0.0);
  for (const StepTable& table : step_tables(rankings, model.features))
    for (std::size_t j = 1; j < table.weights.size(); ++j) CHECK(table.weights[j] >= table.weights[j - 1]);
}

TEST_CASE("The trace of bags has one line per bag and round", "[fusion][bagged]") {
  const TrainingSet set = some_set();
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "4"}, {"bags", "3"}};
  const auto result = find_learner("rankboost-bagged")->train(request);
  REQUIRE(result.has_value());
  REQUIRE(result->trace.size() == 12);
  CHECK(result->trace[5].at("bag").to_number<int>() == 2);
  CHECK(result->trace[5].at("round").to_number<int>() == 2);
  double weight = 0.0, expected = 0.0;
  for (const JsonObject& line : result->trace) weight += line.at("alpha").to_number<double>() / 3.0;
  for (const WeakRanking& h : *result->model.ranker->sum()->rankings()) expected += h.alpha;
  CHECK(weight == Approx(expected));
}

TEST_CASE("Options that cannot be bagged are refused", "[fusion][bagged]") {
  const TrainingSet set = some_set();
  TrainingRequest request;
  request.train = &set;
  request.options = {{"bags", "0"}};
  CHECK(find_learner("rankboost-bagged")->train(request).error().code == Code::usage);
  request.options = {{"weak-ranking", "value"}};
  CHECK(find_learner("rankboost-bagged")->train(request).error().code == Code::usage);
}

TEST_CASE("Bags keep the best number of rounds on validation data as if trained with that many",
          "[fusion][bagged]") {
  const TrainingSet set = some_set();
  // Any measure that does not simply grow will do: the distance of the mean score from that of eight rounds.
  const auto mean = [](std::span<const double> scores) {
    return std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  };
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "8"}, {"bags", "5"}};
  const auto eight = find_learner("rankboost-bagged")->train(request);
  REQUIRE(eight.has_value());
  const double target =
      5.0 * mean(eight->model.ranker->score(set.matrix));  // a sum over the bags is measured
  request.options["rounds"] = "30";
  request.validate = &set;
  request.measure.name = "nearness";
  request.measure.value = [&](std::span<const double> scores) { return -std::abs(mean(scores) - target); };
  const auto chosen = find_learner("rankboost-bagged")->train(request);
  REQUIRE(chosen.has_value());
  CHECK(chosen->model.training.at("validation").at("rounds").to_number<int>() == 8);
  CHECK(chosen->model.ranker->score(set.matrix) == eight->model.ranker->score(set.matrix));
  CHECK(chosen->summary.find("after 8 rounds") != std::string::npos);
}
