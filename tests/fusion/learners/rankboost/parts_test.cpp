// Weak learner 3 on rows in several parts, beside the same on all rows at once.

#include <cmath>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "fusion/learners/rankboost/weak_learner_3.h"
#include "tests/support/random_training_set.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::fusion::rankboost;

namespace {

double alpha_of(const Candidate& candidate) {
  return 0.5 * std::log((1.0 + candidate.r) / (1.0 - candidate.r));
}

/// A boosting by weak learner 3 with its own distribution.
struct Boosting {
  Problem problem;
  Distribution distribution;
  WeakLearner3 learner;
  CumulativeWeights weights;

  Boosting(const Problem& of, std::size_t parts)
      : problem(of),
        distribution(of.feedback, 1, nullptr, parts),
        learner(of, distribution),
        weights(of.features) {
    distribution.anchor(std::vector<double>(of.features.document_count(), 0.0), 0.0);
  }

  std::optional<Candidate> next() {
    const auto chosen = learner.find(distribution, weights, alpha_of);
    if (!chosen) return chosen;
    const double alpha = alpha_of(*chosen);
    const double z = distribution.update(problem.ranking_of(*chosen), alpha);
    learner.distribution_changed(distribution.largest_changes(), z, chosen->feature);
    weights.at(chosen->feature, chosen->threshold, chosen->q_default) += alpha;
    return chosen;
  }
};

/// A set with feedback of grades only.
TrainingSet large_set(Random& random) {
  for (;;) {
    TrainingSet set = test::random_training_set(random, {.most_queries = 600,
                                                         .most_documents = 60,
                                                         .most_features = 12,
                                                         .fewest_documents = 40,
                                                         .most_values = 40});
    if (set.matrix.document_count() >= 20'000 && set.matrix.feature_count() >= 6 && make_feedback(set))
      return set;
  }
}

}  // namespace

TEST_CASE("Visiting features part by part finds the same candidates as visiting them whole",
          "[fusion][rankboost]") {
  Random random(9);
  const TrainingSet set = large_set(random);
  const auto feedback = make_feedback(set);
  REQUIRE(feedback.has_value());
  const CodedFeatures features(set.matrix, {ThresholdOptions::kAll}, feedback->is_used);
  for (const bool is_cumulative : {true, false}) {
    Options options;
    options.weak_learner.is_cumulative = is_cumulative;
    options.q_default = Options::QDefault::learn;
    const Problem problem{*feedback, features, options};
    Boosting whole(problem, 1);
    Boosting in_parts(problem, 4);
    const std::vector<std::size_t>& rows = in_parts.distribution.part_rows();
    REQUIRE(rows.size() == 5);
    for (std::size_t part = 0; part < 4; ++part) REQUIRE(rows[part] < rows[part + 1]);
    for (int round = 0; round < 60; ++round) {
      const auto expected = whole.next();
      const auto found = in_parts.next();
      REQUIRE(found.has_value() == expected.has_value());
      if (!expected) break;
      REQUIRE(found->feature == expected->feature);
      REQUIRE(found->threshold == expected->threshold);
      REQUIRE(found->q_default == expected->q_default);
      REQUIRE(found->r == expected->r);
    }
  }
}
