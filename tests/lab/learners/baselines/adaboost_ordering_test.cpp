#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/model/sum_ranker.h"
#include "lab/learners/baselines/baselines.h"
#include "lab/registry.h"
#include "tests/support/random_training_set.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// AdaBoost by its definition: each round tries every feature, each of its values and minus infinity, and
/// both values of q_default, on the documents of the feedback and in the same order as the learner.
std::vector<double> slow_adaboost_scores(const TrainingSet& set, double level, std::size_t rounds) {
  const std::size_t n = set.grades.size();
  const auto judged = static_cast<double>(std::count(set.in_feedback.begin(), set.in_feedback.end(), 1));
  std::vector<double> weights;
  for (const std::uint8_t is_judged : set.in_feedback) weights.push_back(is_judged != 0 ? 1.0 / judged : 0.0);
  std::vector<double> scores(n, 0.0);
  const auto label = [&](std::size_t x) { return set.grades[x] >= level ? 1.0 : -1.0; };
  for (std::size_t round = 0; round < rounds; ++round) {
    double best_r = 0.0;
    std::vector<double> best;
    for (std::size_t f = 0; f < set.matrix.feature_count(); ++f) {
      std::vector<double> values;
      for (std::size_t x = 0; x < n; ++x)
        if (!set.matrix.is_unranked(x, f)) values.push_back(set.matrix.value(x, f));
      std::sort(values.begin(), values.end(), std::greater<>());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      if (values.empty()) continue;
      values.erase(values.begin());  // no value exceeds the highest
      values.push_back(-std::numeric_limits<double>::infinity());
      for (const double theta : values)
        for (const double q_default : {0.0, 1.0}) {
          std::vector<double> h;
          double r = 0.0;
          for (std::size_t x = 0; x < n; ++x) {
            h.push_back(set.matrix.is_unranked(x, f)     ? q_default
                        : set.matrix.value(x, f) > theta ? 1.0
                                                         : 0.0);
            r += weights[x] * label(x) * (2.0 * h[x] - 1.0);
          }
          if (std::abs(r) > std::abs(best_r) + 1e-12) {
            best_r = r;
            best = h;
          }
        }
    }
    if (std::abs(best_r) < 1e-9) break;
    const double smooth = 0.5 / judged;
    const double alpha = 0.5 * std::log((1.0 + best_r + smooth) / (1.0 - best_r + smooth));
    double sum = 0.0;
    for (std::size_t x = 0; x < n; ++x) {
      scores[x] += 2.0 * alpha * best[x];
      sum += weights[x] *= std::exp(-alpha * label(x) * (2.0 * best[x] - 1.0));
    }
    for (double& weight : weights) weight /= sum;
  }
  return scores;
}

}  // namespace

TEST_CASE("AdaBoost orders a separable set correctly and learns nothing from one class",
          "[fusion][baselines]") {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, 4);
  for (std::size_t x = 0; x < 3; ++x) set.matrix.set(x, 0, static_cast<double>(x));
  set.grades = {0, 0, 1, 1};  // the unranked document is relevant: only a q_default of 1 separates
  const auto rankings = metafuse::lab::baselines::adaboost_ordering(set, 1.0, 5);
  REQUIRE(!rankings.empty());
  CHECK(rankings[0].q_default == 1.0);
  CHECK(rankings[0].threshold == 1.0);
  CHECK(rankings[0].alpha > 0.0);
  CHECK(metafuse::lab::baselines::adaboost_ordering(set, 0.0, 5).empty());
}

TEST_CASE("The AdaBoost ordering equals the slow reference on random sets", "[fusion][baselines]") {
  Random random(5);
  int compared = 0;
  int with_unjudged = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const TrainingSet set = test::random_training_set(random);
    const auto rankings = metafuse::lab::baselines::adaboost_ordering(set, 1.0, 6);
    if (rankings.empty()) continue;
    ++compared;
    if (std::count(set.in_feedback.begin(), set.in_feedback.end(), 0) > 0) ++with_unjudged;
    const auto scores = SumRanker(rankings, set.matrix.features()).score(set.matrix);
    const auto expected = slow_adaboost_scores(set, 1.0, 6);
    for (std::size_t x = 0; x < scores.size(); ++x) CHECK(scores[x] == Approx(expected[x]).margin(1e-9));
  }
  CHECK(compared > 20);
  CHECK(with_unjudged > 10);
}

TEST_CASE("The AdaBoost ordering is a learner and refuses sets that it cannot learn from",
          "[fusion][baselines]") {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, 4);
  for (std::size_t x = 0; x < 4; ++x) set.matrix.set(x, 0, static_cast<double>(x));
  set.grades = {0, 0, 1, 1};
  set.queries = {{"q", 0, 4, 1.0}};
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "3"}};
  const auto trained = metafuse::lab::find_learner("adaboost-ordering")->train(request);
  REQUIRE(trained.has_value());
  const auto back = parse_model(model_text(trained->model), "m.json");
  REQUIRE(back.has_value());
  const auto scores = back->ranker->score(set.matrix);
  CHECK(scores[3] > scores[0]);
  CHECK(trained->trace.size() >= 1);
  set.grades = {1, 1, 1, 1};
  CHECK(metafuse::lab::find_learner("adaboost-ordering")->train(request).error().code == Code::bad_data);
  set.pairs = {{0, 1, 1.0}};
  CHECK(metafuse::lab::find_learner("adaboost-ordering")->train(request).error().code == Code::usage);
}
