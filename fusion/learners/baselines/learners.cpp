#include "fusion/learners/baselines/learners.h"

#include "fusion/learners/baselines/baselines.h"
#include "fusion/learners/common/option_reader.h"
#include "fusion/learners/rankboost_plus/losses.h"

namespace metafuse::fusion::baselines {
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
    result.summary = std::string(name) + ": ranking loss " + std::to_string(loss) + " over " +
                     std::to_string(pairs->pair_count) + " crucial pairs with " +
                     std::to_string(ranker->terms().size()) + " features\n";
  }
  result.model.ranker = std::make_shared<LinearRanker>(std::move(*ranker));
  return result;
}

Result<TrainingResult> train_neighbour(const TrainingRequest& request) {
  OptionReader reader(request.options);
  NeighbourOptions options;
  options.k = reader.count("neighbours", 1, 1, 1000000);
  options.is_mean_default = reader.choice("default", {"loss", "mean"}) == 1;
  TRY_VOID(reader.outcome());
  return finish(request, "nearest-neighbour", nearest_neighbour(*request.train, options));
}

Result<TrainingResult> train_regression(const TrainingRequest& request) {
  OptionReader reader(request.options);
  RegressionOptions options;
  options.is_normalised = reader.choice("normalised", {"no", "yes"}) == 1;
  TRY_VOID(reader.outcome());
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
      {"nearest-neighbour",
       "the ranking feature nearest to the feedback, or the mean of the k nearest",
       source + " and 6.2.6",
       {{"neighbours", "K", "1", "features averaged"},
        {"default", "loss|mean", "loss",
         "what unranked documents get: the value of least loss, or the mean"}},
       train_neighbour,
       read_linear_ranker},
      {"regression",
       "minimum-norm least squares on the grades",
       source + " and 6.2.6",
       {{"normalised", "no|yes", "no", "give every feature and the grades mean 0 and variance 1 first"}},
       train_regression,
       read_linear_ranker},
      {"vector-similarity",
       "features weighted by their cosine with the grades",
       source,
       {},
       train_similarity,
       read_linear_ranker},
      {"best-feature",
       "the single ranking feature of least training loss",
       "Freund, Iyer, Schapire, Singer 2003, sec. 6.1.2",
       {},
       train_best_feature,
       read_linear_ranker},
      {"random-guessing",
       "every document tied, which is random guessing in expectation",
       source,
       {},
       train_random,
       read_linear_ranker},
  };
}

}  // namespace metafuse::fusion::baselines
