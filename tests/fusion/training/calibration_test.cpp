#include "fusion/training/calibration.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Ten documents per query; the one that list "good" ranks r-th is relevant with a chance of 1 / r.
TrainingSet noisy_queries(int queries, std::uint64_t seed = 3, const std::string& prefix = "q") {
  Random random(seed);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    std::vector<double> poor{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    random.shuffle(poor);
    for (std::size_t d = 0; d < poor.size(); ++d) {
      const std::vector<Cell> cells{{0, -static_cast<double>(d + 1)}, {1, -poor[d]}};
      const bool is_relevant = random.below(d + 1) == 0;
      builder.add(
          {prefix + std::to_string(1000 + q), "d" + std::to_string(d), is_relevant ? 1.0 : 0.0, true, cells});
    }
  }
  return builder.finish({{"good", FeatureKind::rank, 0}, {"poor", FeatureKind::rank, 0}}, {}).value();
}

TrainingRequest request_for(const TrainingSet& set, const std::string& rounds = "10") {
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", rounds}};
  return request;
}

class ConstantRanker final : public Ranker {
 public:
  std::vector<double> score(const FeatureMatrix& documents) const override {
    return std::vector<double>(documents.document_count(), 0.0);
  }
  JsonObject body() const override { return {}; }
  std::string describe(const std::vector<Feature>&) const override { return {}; }
};

double in_report(const TrainingResult& result, const char* name) {
  return result.model.training.at("calibration").at(name).to_number<double>();
}

}  // namespace

TEST_CASE("Calibrated scores mean the share of relevant documents", "[fusion][calibration]") {
  const TrainingSet set = noisy_queries(300);
  const Learner& learner = *find_learner("rankboost");
  auto result = learner.train(request_for(set)).value();
  REQUIRE(calibrate(request_for(set), learner, result).has_value());
  CHECK(in_report(result, "queries") == 300);
  CHECK(in_report(result, "documents") == 3000);
  CHECK(in_report(result, "expected_calibration_error") < 0.03);
  CHECK(in_report(result, "brier") < 0.8 * in_report(result, "brier_of_constant"));
  // on other queries of the same kind
  const TrainingSet fresh = noisy_queries(300, 99);
  const auto scores = result.model.ranker->score(fresh.matrix);
  double first = 0, tenth = 0;
  for (std::size_t row = 0; row < scores.size(); ++row) {
    const double relevance = relevance_at(*result.model.relevance, scores[row]);
    if (fresh.matrix.value(row, 0) == -1) first += relevance / 300;
    if (fresh.matrix.value(row, 0) == -10) tenth += relevance / 300;
  }
  CHECK(first == Approx(1.0).margin(0.1));
  CHECK(tenth == Approx(0.1).margin(0.06));
  CHECK(result.summary.find("expected calibration error") != std::string::npos);
  const std::string plot = reliability_plot(result.model.training);
  CHECK(plot.starts_with("<svg"));
  CHECK(plot.find("held-out documents") != std::string::npos);
}

TEST_CASE("The scores to calibrate by come from models that have not seen the query",
          "[fusion][calibration]") {
  const TrainingSet set = noisy_queries(40);
  std::mutex mutex;
  std::vector<std::set<std::string>> seen;
  Learner learner;
  learner.name = "constant";
  learner.train = [&](const TrainingRequest& request) -> Result<TrainingResult> {
    std::set<std::string> ids;
    for (const QueryRange& query : request.train->queries) ids.insert(query.id);
    {
      const std::lock_guard lock(mutex);
      seen.push_back(ids);
    }
    TrainingResult out;
    out.model.learner = "constant";
    out.model.features = request.train->matrix.features();
    out.model.ranker = std::make_shared<ConstantRanker>();
    return out;
  };
  auto result = learner.train(request_for(set)).value();
  seen.clear();
  REQUIRE(calibrate(request_for(set), learner, result).has_value());
  REQUIRE(seen.size() == 5);
  std::map<std::string, int> held_out;
  for (const std::set<std::string>& ids : seen)
    for (const QueryRange& query : set.queries)
      if (!ids.contains(query.id)) ++held_out[query.id];
  CHECK(held_out.size() == 40);  // each query is scored, and by exactly one model that has not seen it
  CHECK(std::ranges::all_of(held_out, [](const auto& item) { return item.second == 1; }));
  // scores without information leave only the overall share
  CHECK(result.model.relevance->values.size() == 1);
  CHECK(in_report(result, "brier") >= in_report(result, "brier_of_constant"));
}

TEST_CASE("Random judgments give relevance no better than the constant", "[fusion][calibration]") {
  TrainingSet set = noisy_queries(60);
  Random random(12);
  for (double& grade : set.grades) grade = random.below(4) == 0 ? 1.0 : 0.0;
  const Learner& learner = *find_learner("rankboost");
  auto result = learner.train(request_for(set, "50")).value();
  REQUIRE(calibrate(request_for(set, "50"), learner, result).has_value());
  // a model that had seen the queries would be well below
  CHECK(in_report(result, "brier") > 0.98 * in_report(result, "brier_of_constant"));
}

TEST_CASE("Searches of one base query are held out together, and clicks say nothing about relevance",
          "[fusion][calibration]") {
  TrainingSet set = noisy_queries(40, 3, "judged ");
  TrainingSet clicked = set;
  for (QueryRange& query : clicked.queries) query.id = "clicked " + query.id.substr(7) + "#s";
  // the same documents again as clicked searches, whose grades are all 0
  TrainingSetBuilder builder;
  for (const TrainingSet* from : {&set, &clicked})
    for (const QueryRange& query : from->queries)
      for (std::size_t row = query.begin; row < query.end; ++row) {
        const std::vector<Cell> cells{{0, from->matrix.value(row, 0)}, {1, from->matrix.value(row, 1)}};
        builder.add({query.id, std::string(from->documents[row]), from == &set ? from->grades[row] : 0.0,
                     true, cells});
      }
  TrainingSet both = builder.finish(set.matrix.features(), {}).value();
  for (const QueryRange& query : both.queries)
    if (query.id.starts_with("clicked"))
      both.pairs.push_back(
          {static_cast<std::uint32_t>(query.begin + 1), static_cast<std::uint32_t>(query.begin), 1.0});
  CHECK(judged_queries(both) == 40);
  TrainingSet without_pairs = both;  // clicks that judges contradict lose theirs
  without_pairs.pairs.clear();
  CHECK(judged_queries(without_pairs) == 40);
  std::mutex mutex;
  bool is_leaking = false;
  Learner learner = *find_learner("rankboost");
  const TrainAgain train = learner.train;
  learner.train = [&](const TrainingRequest& request) {
    std::set<std::string> judged, clicks;
    for (const QueryRange& query : request.train->queries)
      (query.id.starts_with("judged") ? judged : clicks).insert(query.id.substr(query.id.find(' ') + 1, 4));
    const std::lock_guard lock(mutex);
    is_leaking = is_leaking || judged != clicks;
    return train(request);
  };
  auto result = learner.train(request_for(both)).value();
  REQUIRE(calibrate(request_for(both), learner, result).has_value());
  CHECK_FALSE(is_leaking);
  CHECK(in_report(result, "documents") == 400);
}

TEST_CASE("auto calibrates the option that it chose, on the scale of its model", "[fusion][calibration]") {
  const TrainingSet set = noisy_queries(60);
  const Learner& learner = *find_learner("auto");
  TrainingRequest request;
  request.train = &set;
  request.threads = 2;
  auto result = learner.train(request).value();
  REQUIRE(static_cast<bool>(result.again));
  REQUIRE(calibrate_if_possible(request, learner, result).has_value());
  REQUIRE(result.model.relevance.has_value());
  const auto scores = result.model.ranker->score(set.matrix);
  const auto [low, high] = std::ranges::minmax(scores);
  CHECK(result.model.relevance->scores.front() >= low - 1e-9);
  CHECK(result.model.relevance->scores.back() <= high + 1e-9);
  CHECK(in_report(result, "expected_calibration_error") < 0.08);
}

TEST_CASE("Calibration is the same for any number of threads, and refuses too little",
          "[fusion][calibration]") {
  const TrainingSet set = noisy_queries(25);
  const Learner& learner = *find_learner("rankboost");
  TrainingRequest request = request_for(set);
  auto one = learner.train(request).value();
  auto three = one;
  REQUIRE(calibrate(request, learner, one).has_value());
  request.threads = 3;
  REQUIRE(calibrate(request, learner, three).has_value());
  CHECK(model_text(one.model) == model_text(three.model));

  const TrainingSet few = noisy_queries(19);
  auto small = learner.train(request_for(few)).value();
  const auto refused = calibrate(request_for(few), learner, small);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Code::bad_data);
  CHECK(refused.error().text.find("20 judged queries, and there are 19") != std::string::npos);
  CHECK(calibrate_if_possible(request_for(few), learner, small).has_value());
  CHECK_FALSE(small.model.relevance.has_value());
  TrainingSet alike = set;
  std::ranges::fill(alike.grades, 1.0);
  CHECK(calibrate(request_for(alike), learner, small).error().text.find("all judged ones are alike") !=
        std::string::npos);
}

TEST_CASE("A damaged report shows nothing and breaks nothing", "[fusion][calibration]") {
  CHECK(calibration_text({}).empty());
  CHECK(calibration_text({{"calibration", 3}}).empty());
  CHECK(reliability_plot({}).empty());
  const JsonObject odd{
      {"calibration",
       JsonObject{{"bins", JsonArray{1, JsonObject{}, JsonObject{{"documents", 3}, {"share", 7}}}}}}};
  CHECK(reliability_plot(odd).starts_with("<svg"));
}

TEST_CASE("A document is relevant to the curve if it is so to the measures", "[fusion][calibration]") {
  // Measures round grades to whole ones: 0.6 is 1, the relevance level, and 0.4 is 0.
  for (const double grade : {0.6, 0.4}) {
    TrainingSetBuilder builder;
    for (std::size_t q = 0; q < kFewestCalibrated; ++q)
      for (const double each : {grade, 0.0})
        builder.add(
            {"q" + std::to_string(q), each > 0.0 ? "a" : "b", each, true, std::vector<Cell>{{0, -1.0}}});
    const TrainingSet set = builder.finish({{"list", FeatureKind::rank, 0}}, {}).value();
    CHECK(can_calibrate(set) == (grade > 0.5));
  }
}
