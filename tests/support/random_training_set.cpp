#include "tests/support/random_training_set.h"

#include <string>

#include "fusion/input/training_set_builder.h"

namespace metafuse::test {
namespace {

using fusion::FeedbackOptions;

std::vector<fusion::Feature> random_features(Random& random, std::size_t most) {
  std::vector<fusion::Feature> features(1 + random.below(most));
  for (std::size_t f = 0; f < features.size(); ++f)
    features[f] = {"f" + std::to_string(f),
                   random.below(2) == 0 ? fusion::FeatureKind::rank : fusion::FeatureKind::value, 0};
  return features;
}

FeedbackOptions random_feedback(Random& random) {
  FeedbackOptions feedback;
  feedback.is_bipartite = random.below(2) == 0;
  feedback.relevance_level = static_cast<double>(1 + random.below(2));
  feedback.query_weights =
      random.below(3) == 0 ? FeedbackOptions::QueryWeights::pairs : FeedbackOptions::QueryWeights::equal;
  feedback.grade_weights = static_cast<FeedbackOptions::GradeWeights>(random.below(3));
  return feedback;
}

void add_pairs(fusion::TrainingSet& set, Random& random) {
  for (const auto& query : set.queries) {
    const std::size_t documents = query.end - query.begin;
    if (documents < 2) continue;
    for (std::size_t i = random.below(6); i > 0; --i) {
      const auto below = static_cast<std::uint32_t>(query.begin + random.below(documents));
      const auto above = static_cast<std::uint32_t>(query.begin + random.below(documents));
      if (below != above)
        set.pairs.push_back({below, above, 0.25 * static_cast<double>(1 + random.below(8))});
    }
  }
}

}  // namespace

fusion::TrainingSet random_training_set(Random& random, const RandomSetOptions& options) {
  const auto features = random_features(random, options.most_features);
  const std::size_t queries = 1 + random.below(options.most_queries);
  const std::uint64_t grades = 2 + random.below(3);
  const std::uint64_t values =
      options.most_values > 6 ? options.most_values : 1 + random.below(options.most_values);
  const std::uint64_t unranked = random.below(options.may_leave_unranked ? 4 : 1);  // in quarters
  fusion::TrainingSetBuilder builder;
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t documents =
        options.fewest_documents + random.below(options.most_documents - options.fewest_documents + 1);
    for (std::size_t d = 0; d < documents; ++d) {
      std::vector<fusion::Cell> cells;
      for (std::uint32_t f = 0; f < features.size(); ++f) {
        if (random.below(4) < unranked) continue;
        const auto value = static_cast<double>(1 + random.below(values));
        cells.push_back({f, features[f].kind == fusion::FeatureKind::rank ? -value : 0.5 * value - 1.0});
      }
      builder.add({"q" + std::to_string(q), "d" + std::to_string(d),
                   static_cast<double>(random.below(grades)), random.below(8) != 0, cells});
    }
  }
  auto set = *builder.finish(features, random_feedback(random));
  for (auto& query : set.queries) query.weight = 0.5 * static_cast<double>(random.below(5));
  if (options.may_have_pairs) add_pairs(set, random);
  if (!options.is_coded) {
    fusion::FeatureMatrix plain(features, set.grades.size());
    for (std::size_t row = 0; row < set.grades.size(); ++row)
      for (std::size_t f = 0; f < features.size(); ++f)
        if (!set.matrix.is_unranked(row, f)) plain.set(row, f, set.matrix.value(row, f));
    set.matrix = std::move(plain);
  }
  return set;
}

}  // namespace metafuse::test
