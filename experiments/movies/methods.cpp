#include "experiments/movies/methods.h"

#include <algorithm>

#include "core/contract.h"
#include "experiments/movies/adaboost.h"
#include "fusion/model/weak_ranking.h"
#include "fusion/training/registry.h"

namespace metafuse::experiments::movies {
namespace {

using Scores = std::vector<double>;
using Options = std::map<std::string, std::string>;

class Runner {
 public:
  Runner(const Ratings& ratings, const Task& task)
      : task_(task),
        half_(training_half(ratings, task)),
        whole_(all_movies(ratings, task)),
        test_(matrix_of(ratings, task.features, task.test)) {}

  Result<Scores> run(Method method) const {
    switch (method) {
      case Method::rankboost:
        return rankboost(half_, test_);
      case Method::vector_similarity:
        return baseline("vector-similarity", {}, test_);
      case Method::nearest_neighbour:
        return baseline("nearest-neighbour", {}, test_);
      case Method::regression:
        return baseline("regression", {}, test_);
      case Method::random_guessing:
        return baseline("random-guessing", {}, test_);
      case Method::normalised_regression:
        return baseline("regression", {{"normalised", "yes"}}, test_);
      case Method::ten_neighbours:
        return baseline("nearest-neighbour", {{"neighbours", "10"}}, test_);
      case Method::rankboost_with_vsim:
        return with_similarity();
      case Method::rankboost_bipartite: {
        fusion::TrainingSet set = half_;
        set.feedback.is_bipartite = true;
        set.feedback.relevance_level = best_grade();
        return rankboost(set, test_);
      }
      case Method::adaboost:
        break;
    }
    const std::size_t rounds = 40 + task_.features.size() / 10;
    return fusion::StepRanker(movies::adaboost(half_, best_grade(), rounds), half_.matrix.features())
        .score(test_);
  }

 private:
  double best_grade() const { return *std::max_element(task_.train_stars.begin(), task_.train_stars.end()); }

  static Result<Scores> train(const char* learner, const Options& options, const fusion::TrainingSet& set,
                              const fusion::FeatureMatrix& documents) {
    fusion::TrainingRequest request;
    request.train = &set;
    request.options = options;
    TRY(auto result, fusion::find_learner(learner)->train(request));
    return result.model.ranker->score(documents);
  }

  static Result<Scores> rankboost(const fusion::TrainingSet& set, const fusion::FeatureMatrix& documents) {
    const std::size_t rounds = 40 + set.matrix.feature_count() / 10;
    return train("rankboost",
                 {{"rounds", std::to_string(rounds)}, {"weak-learner", "3.cum"}, {"q-default", "learn"}}, set,
                 documents);
  }

  Result<Scores> baseline(const char* learner, const Options& options,
                          const fusion::FeatureMatrix& documents) const {
    return train(learner, options, whole_, documents);
  }

  static fusion::FeatureMatrix with_column(const fusion::FeatureMatrix& matrix, const Scores& column) {
    std::vector<fusion::Feature> features = matrix.features();
    features.push_back({"VSIM", fusion::FeatureKind::value, 0});
    fusion::FeatureMatrix wider(std::move(features), matrix.document_count());
    for (std::size_t x = 0; x < matrix.document_count(); ++x) {
      for (std::size_t f = 0; f < matrix.feature_count(); ++f)
        if (!matrix.is_unranked(x, f)) wider.set(x, f, matrix.value(x, f));
      wider.set(x, matrix.feature_count(), column[x]);
    }
    return wider;
  }

  Result<Scores> with_similarity() const {
    TRY(const auto train_scores, baseline("vector-similarity", {}, half_.matrix));
    TRY(const auto test_scores, baseline("vector-similarity", {}, test_));
    fusion::TrainingSet set = half_;
    set.matrix = with_column(half_.matrix, train_scores);
    return rankboost(set, with_column(test_, test_scores));
  }

  const Task& task_;
  fusion::TrainingSet half_;
  fusion::TrainingSet whole_;
  fusion::FeatureMatrix test_;
};

}  // namespace

std::string method_name(Method method) {
  constexpr const char* kNames[] = {"RankBoost",
                                    "VSIM",
                                    "NN",
                                    "regression",
                                    "random guessing",
                                    "normalised regression",
                                    "10 nearest neighbours",
                                    "RankBoost with VSIM",
                                    "RankBoost bipartite",
                                    "AdaBoost ordering"};
  return kNames[static_cast<std::size_t>(method)];
}

Result<std::vector<Values>> run_methods(const Ratings& ratings, const Task& task,
                                        const std::vector<Method>& methods) {
  const Runner runner(ratings, task);
  std::vector<Values> values;
  for (const Method method : methods) {
    TRY(const auto scores, runner.run(method));
    values.push_back(measure(scores, task.test_stars));
  }
  return values;
}

}  // namespace metafuse::experiments::movies
