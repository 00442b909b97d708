#include "fusion/learners/rankboost/margins.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/registry.h"
#include "tests/support/random_training_set.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// One query of three documents with values 1, 2, 3 and grades 0, 1, 2.
TrainingSet three_documents() {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, 3);
  for (std::size_t row = 0; row < 3; ++row) {
    set.matrix.set(row, 0, static_cast<double>(row + 1));
    set.grades.push_back(static_cast<double>(row));
    set.in_feedback.push_back(1);
    set.documents.push_back("d" + std::to_string(row));
  }
  set.queries = {{"q", 0, 3, 1.0}};
  return set;
}

}  // namespace

TEST_CASE("The margin of a pair is its score difference divided by the weight of all rounds",
          "[fusion][rankboost]") {
  // h1 fires above 2, h2 above 1: after both, H = 0, 0.5, 2 with weights that sum to 2, so that the pairs
  // (1, 0), (2, 0), (2, 1) have the margins 0.25, 1 and 0.75. After the first alone they are 0, 1 and 1.
  const std::vector<WeakRanking> rankings{{0, 2.0, 0.0, 1.5}, {0, 1.0, 0.0, 0.5}};
  const auto report = rankboost::margins_of(three_documents(), rankings);
  REQUIRE(report.has_value());
  CHECK(report->pairs == 3);
  CHECK(report->margins == std::vector<double>{0.25, 0.75, 1.0});
  CHECK(report->least == std::vector<double>{0.0, 0.25});
  CHECK(report->best_rounds == 2);
  CHECK(rankboost::to_text(*report).find("would choose 2 of 2 rounds") != std::string::npos);
  CHECK(rankboost::to_page(*report).find("<svg") != std::string::npos);
}

TEST_CASE("A model without rounds has margins of 0 and a set without pairs is refused",
          "[fusion][rankboost]") {
  TrainingSet set = three_documents();
  const auto report = rankboost::margins_of(set, {});
  REQUIRE(report.has_value());
  CHECK(report->margins == std::vector<double>{0.0, 0.0, 0.0});
  CHECK(report->best_rounds == 0);
  set.grades = {1.0, 1.0, 1.0};
  CHECK(rankboost::margins_of(set, {}).error().code == Code::bad_data);
}

TEST_CASE("Margins of random sets agree with the definition", "[fusion][rankboost]") {
  Random random(3);
  int with_steps = 0;
  for (int trial = 0; trial < 30; ++trial) {
    const TrainingSet set = test::random_training_set(random);
    TrainingRequest request;
    request.train = &set;
    request.options = {{"rounds", "5"}};
    const auto trained = find_learner("rankboost")->train(request);
    if (!trained) continue;
    const SumRanker& steps = *trained->model.ranker->sum();
    if (steps.rankings()->empty()) continue;
    ++with_steps;
    double weight = 0.0;
    for (const WeakRanking& ranking : *steps.rankings()) weight += std::abs(ranking.alpha);
    const auto scores = steps.score(set.matrix);
    const auto grade = [&](std::size_t row) {  // 1 or 0 for bipartite feedback
      const bool is_relevant = set.grades[row] >= set.feedback.relevance_level;
      return set.feedback.is_bipartite ? (is_relevant ? 1.0 : 0.0) : set.grades[row];
    };
    std::vector<double> expected;
    for (const QueryRange& query : set.queries)
      for (std::size_t a = query.begin; a < query.end; ++a)
        for (std::size_t b = query.begin; b < query.end; ++b)
          if (set.in_feedback[a] != 0 && set.in_feedback[b] != 0 && grade(a) > grade(b))
            expected.push_back((scores[a] - scores[b]) / weight);
    std::sort(expected.begin(), expected.end());
    const auto report = rankboost::margins_of(set, *steps.rankings());
    REQUIRE(report->margins.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(report->margins[i] == Approx(expected[i]).margin(1e-12));
    CHECK(report->margins.back() <= 1.0 + 1e-12);
  }
  CHECK(with_steps >= 13);
}
