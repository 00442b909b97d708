#include "fusion/learners/reciprocal_ranks/pair_weights.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/random.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

constexpr double kK = 60.0;

/// Queries of `documents` documents in three lists, which rank most of them. The first list is good: the
/// better a document, the likelier it is high there. The two others are in random order. A fourth feature is
/// no rank. Grades are 0 and 1; a quarter of the documents are relevant.
TrainingSet set_of(int queries, int documents, bool is_hopeless = false) {
  Random random(11);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q)
    for (int d = 0; d < documents; ++d) {
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < 3; ++f) {
        const bool is_good = f == 0 && !is_hopeless;
        const double rank =
            1.0 + (is_good ? 10 * d : 0) + static_cast<double>(random.below(is_good ? 40 : 150));
        if (random.uniform() < 0.8) cells.push_back({f, -rank});
      }
      cells.push_back({3, random.uniform()});
      builder.add({"q" + std::to_string(1000 + q), "d" + std::to_string(100 + d),
                   4 * d < documents ? 1.0 : 0.0, true, cells});
    }
  auto set = builder.finish({{"a", FeatureKind::rank, 0},
                             {"b", FeatureKind::rank, 0},
                             {"c", FeatureKind::rank, 0},
                             {"v", FeatureKind::value, 0}},
                            {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

/// The crucial pairs of the grades as given pairs, and no grades.
TrainingSet with_given_pairs(TrainingSet set) {
  for (const QueryRange& query : set.queries)
    for (auto below = static_cast<std::uint32_t>(query.begin); below < query.end; ++below)
      for (auto above = static_cast<std::uint32_t>(query.begin); above < query.end; ++above)
        if (set.grades[above] > set.grades[below]) set.pairs.push_back({below, above, 1.0});
  std::fill(set.grades.begin(), set.grades.end(), 0.0);
  return set;
}

reciprocal_ranks::PairWeights learned(const TrainingSet& set) {
  const auto feedback = rankboost::make_feedback(set);
  REQUIRE(feedback.has_value());
  return reciprocal_ranks::weights_of_pairs(set, *feedback, kK, Random(1));
}

double share(const TrainingSet& set, std::size_t row, std::size_t feature) {
  if (set.matrix.is_unranked(row, feature)) return 0.0;
  return (kK + 1.0) / (kK - set.matrix.value(row, feature));
}

}  // namespace

TEST_CASE("Weights of pairs are where the slope of the loss is zero", "[fusion][reciprocal_ranks]") {
  TrainingSet set = with_given_pairs(set_of(20, 12));
  for (std::size_t i = 0; i < set.pairs.size(); ++i) set.pairs[i].weight = 0.5 + static_cast<double>(i % 4);
  const auto found = learned(set);
  REQUIRE(found.added.size() == 4);
  CHECK(found.added[3] == 0.0);  // no rank
  double sum = 0.0;
  for (const WeightedPair& pair : set.pairs) sum += pair.weight;
  for (std::size_t feature = 0; feature < 3; ++feature) {
    double slope = 30.0 * found.added[feature];
    for (const WeightedPair& pair : set.pairs) {
      double margin = 0.0;
      for (std::size_t f = 0; f < 3; ++f)
        margin += found.added[f] * (share(set, pair.above, f) - share(set, pair.below, f));
      const double weight = pair.weight * static_cast<double>(set.pairs.size()) / sum;
      slope -= weight / (1.0 + std::exp(margin)) *
               (share(set, pair.above, feature) - share(set, pair.below, feature));
    }
    INFO("feature " << feature);
    CHECK(std::abs(slope) < 1e-3);
  }
}

TEST_CASE("Pairs of grades weigh as the same pairs that are given", "[fusion][reciprocal_ranks]") {
  const TrainingSet graded = set_of(30, 12);  // nine documents below, so that none is left out
  const auto of_grades = learned(graded);
  const auto of_pairs = learned(with_given_pairs(graded));
  for (std::size_t f = 0; f < 3; ++f) CHECK(of_grades.added[f] == Approx(of_pairs.added[f]).epsilon(1e-6));
  CHECK(of_grades.agreement == Approx(of_pairs.agreement).epsilon(1e-6));
}

TEST_CASE("Of many pairs a part teaches about the same", "[fusion][reciprocal_ranks]") {
  const TrainingSet set = set_of(700, 40);  // 280,000 drawn from grades, of which 200,000 are kept
  const auto of_grades = learned(set);
  const auto of_pairs = learned(with_given_pairs(set_of(60, 40)));
  CHECK(of_grades.added[0] > 1.0);
  CHECK(of_grades.added[0] == Approx(of_pairs.added[0]).epsilon(0.25));  // other queries
  CHECK(of_grades.agreement > 0.99);
}

TEST_CASE("What two halves of the base queries do not agree on moves no list", "[fusion][reciprocal_ranks]") {
  const auto trained = [](const TrainingSet& set) {
    TrainingRequest request;
    request.train = &set;
    request.options = {{"weights", "pairs"}};
    const auto result = find_learner("reciprocal-ranks")->train(request);
    REQUIRE(result.has_value());
    const JsonObject& training = result->model.training;
    const double pairs = training.at("crucial_pairs").to_number<double>();
    const double agreement = training.at("agreement_of_halves").to_number<double>();
    CHECK(training.at("share_of_learned").to_number<double>() ==
          Approx(agreement * pairs * pairs / (pairs * pairs + 2000.0 * 2000.0)));
    return std::pair(agreement, result->model.ranker->sum()->parts().fused->weights);
  };
  const auto [much, moved] = trained(with_given_pairs(set_of(100, 12)));
  CHECK(much > 0.9);
  CHECK(moved[0] > 1.5 * std::max(moved[1], moved[2]));
  CHECK(std::min(moved[1], moved[2]) >= 0.05);
  CHECK(moved[3] == 0.0);
  const auto [little, kept] = trained(with_given_pairs(set_of(100, 12, true)));
  CHECK(little < 0.6);
  for (std::size_t f = 0; f < 3; ++f) CHECK(kept[f] == Approx(1.0).margin(0.25));
  const auto [none, equal] = trained(with_given_pairs(set_of(1, 12)));
  CHECK(none == 0.0);  // one query has no two halves
  CHECK(equal == std::vector<double>{1.0, 1.0, 1.0, 0.0});
}
