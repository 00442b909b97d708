#include "fusion/learners/baselines/learners.h"

#include <fmt/format.h>

#include "fusion/learners/baselines/baselines.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::baselines {

void declare_options(OptionTable& table, NeighbourOptions& options) {
  table.count("neighbours", options.k, 1, 1'000'000, "number of features to average", "K");
  table.choice("default", options.is_mean_default, {{"loss", false}, {"mean", true}},
               "value for unranked documents: the one with the least loss, or the mean");
}

void declare_options(OptionTable& table, RegressionOptions& options) {
  table.choice("normalised", options.is_normalised, {{"no", false}, {"yes", true}},
               "first scale every feature and the grades to mean 0 and variance 1");
}

namespace {

Result<TrainingResult> finish(const TrainingRequest& request, const char* name, Result<LinearRanker> ranker) {
  if (!ranker) return ranker.error();
  const TrainingSet& set = *request.train;
  TrainingResult result;
  result.model.learner = name;
  result.model.features = set.matrix.features();
  const auto pairs = rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1));
  if (pairs) {
    const double loss = rankboost_plus::rank_losses(*pairs, ranker->score(set.matrix)).r2;
    result.model.training["crucial_pairs"] = pairs->pair_count;
    result.model.training["ranking_loss"] = loss;
    result.summary = fmt::format("{}: ranking loss {:f} over {} crucial pairs with {} features\n", name, loss,
                                 pairs->pair_count, ranker->terms().size());
  }
  result.model.ranker = std::make_shared<LinearRanker>(std::move(*ranker));
  return result;
}

Result<TrainingResult> train_neighbour(const TrainingRequest& request) {
  TRY(const auto options, read_options<NeighbourOptions>(request.options));
  return finish(request, "nearest-neighbour", nearest_neighbour(*request.train, options));
}

Result<TrainingResult> train_regression(const TrainingRequest& request) {
  TRY(const auto options, read_options<RegressionOptions>(request.options));
  return finish(request, "regression", regression(*request.train, options));
}

Result<TrainingResult> train_similarity(const TrainingRequest& request) {
  return finish(request, "vector-similarity", vector_similarity(*request.train));
}

Result<TrainingResult> train_best_feature(const TrainingRequest& request) {
  return finish(request, "best-feature", best_feature(*request.train));
}

Result<TrainingResult> train_random(const TrainingRequest& request) {
  return finish(request, "random-guessing", random_guessing(*request.train));
}

}  // namespace

std::vector<Learner> learners() {
  const std::string source = "Freund, Iyer, Schapire, Singer 2003, sec. 6.2.3";
  return {
      {"nearest-neighbour", "the ranking feature nearest to the feedback, or the mean of the k nearest",
       source + " and 6.2.6", option_rows<NeighbourOptions>(), train_neighbour, read_linear_ranker},
      {"regression", "minimum-norm least squares on the grades", source + " and 6.2.6",
       option_rows<RegressionOptions>(), train_regression, read_linear_ranker},
      {"vector-similarity",
       "features weighted by their cosine with the grades",
       source,
       {},
       train_similarity,
       read_linear_ranker},
      {"best-feature",
       "the single ranking feature with the least training loss",
       "Freund, Iyer, Schapire, Singer 2003, sec. 6.1.2",
       {},
       train_best_feature,
       read_linear_ranker},
      {"random-guessing",
       "ties all documents, which equals random guessing in expectation",
       source,
       {},
       train_random,
       read_linear_ranker},
  };
}

}  // namespace metafuse::fusion::baselines
