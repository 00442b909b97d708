#include <algorithm>

#include <catch2/catch.hpp>

#include "evaluation/significance/significance.h"
#include "fusion/input/input_files.h"
#include "fusion/training/cross_validation.h"
#include "templates/template_file.h"

using namespace metafuse;

namespace {

/// The shipped recording with its features in the order of the templates that rank by relevance.
fusion::TrainingSet recording() {
  const std::string folder = METAFUSE_SOURCE_DIR "/tests/data/home-pages/";
  const auto file = templates::read_domain_file(METAFUSE_SOURCE_DIR "/config/templates/free-software.yaml");
  REQUIRE(file.has_value());
  fusion::TrainingInput input;
  for (const templates::SearchTemplate& one : file->domain.templates)
    if (one.engines == std::vector<std::string>{"local"})
      input.runs.push_back(folder + "runs/" + one.id + "@local.run.xz");
  input.qrels = folder + "qrels";
  input.depth = file->domain.depth;
  auto set = fusion::read_training_set(input);
  REQUIRE(set.has_value());
  return std::move(*set);
}

fusion::CrossValidation cross_validated(const fusion::TrainingSet& set, const std::string& rounds) {
  std::vector<std::string_view> ids;
  for (const fusion::QueryRange& query : set.queries) ids.emplace_back(query.id);
  const auto folds = evaluation::random_folds(ids, 4, 1);
  REQUIRE(folds.has_value());
  fusion::CrossValidationOptions options;
  options.learner = fusion::find_learner("rankboost");
  options.learner_options = {{"rounds", rounds}};
  options.baselines = fusion::rank_baselines();
  const auto result = fusion::cross_validate(set, *folds, options);
  REQUIRE(result.has_value());
  return *result;
}

}  // namespace

TEST_CASE("RankBoost leads every column of the table on the shipped recording", "[experiments][home_pages]") {
  const fusion::TrainingSet set = recording();
  CHECK(set.queries.size() == 100);
  const fusion::CrossValidation result = cross_validated(set, "60");
  CHECK(result.unanswerable == 0);
  CHECK(result.features.size() == 18);
  CHECK(result.features[0].name == "words-all@local");
  for (const auto* others : {&result.baselines, &result.features})
    for (const fusion::MethodRanks& other : *others) {
      INFO(other.name);
      CHECK(result.learner.average_rank() < other.average_rank());
      for (const int k : {1, 2, 5, 10, 20, 30}) CHECK(result.learner.top(k) >= other.top(k));
    }
}

TEST_CASE("The task is neither trivial nor impossible for single templates", "[experiments][home_pages]") {
  const fusion::CrossValidation result = cross_validated(recording(), "1");
  std::size_t best = 0;
  for (const fusion::MethodRanks& feature : result.features) best = std::max(best, feature.top(1));
  CHECK(best >= 25);
  CHECK(best <= 75);
}
