#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/contract.h"
#include "evaluation/measures/measure.h"
#include "experiments/movies.h"
#include "experiments/trials.h"
#include "fusion/data/thresholds.h"

namespace metafuse::experiments::movies {
namespace {

using Scores = std::vector<double>;

/// The features of some movies, stars as values, not rated as unranked.
fusion::FeatureMatrix matrix_of(const Ratings& ratings, std::span<const std::size_t> features,
                                std::span<const std::size_t> movies) {
  std::vector<fusion::Feature> names;
  for (const std::size_t viewer : features)
    names.push_back({"viewer " + std::to_string(viewer + 1), fusion::FeatureKind::value, 0});
  fusion::FeatureMatrix matrix(std::move(names), movies.size());
  for (std::size_t x = 0; x < movies.size(); ++x)
    for (std::size_t f = 0; f < features.size(); ++f)
      if (const double stars = ratings.stars[features[f]][movies[x]]; stars > 0.0) matrix.set(x, f, stars);
  return matrix;
}

/// Some movies of the target as one query, none in feedback.
fusion::TrainingSet set_of(const Ratings& ratings, const Task& task, std::span<const std::size_t> movies) {
  fusion::TrainingSet set;
  set.matrix = matrix_of(ratings, task.features, movies);
  set.queries = {{"target", 0, movies.size(), 1.0}};
  set.documents = TextList(movies.size(), "");
  set.grades.assign(movies.size(), 0.0);
  set.in_feedback.assign(movies.size(), 0);
  return set;
}

/// The movies of the training half alone: what RankBoost learns from.
fusion::TrainingSet training_half(const Ratings& ratings, const Task& task) {
  fusion::TrainingSet set = set_of(ratings, task, task.train);
  set.grades = task.train_stars;
  set.in_feedback.assign(task.train.size(), 1);
  return set;
}

/// Every movie, with the training half in feedback: the baselines use the viewers' other ratings for
/// their means.
fusion::TrainingSet all_movies(const Ratings& ratings, const Task& task) {
  std::vector<std::size_t> movies(ratings.movie_count);
  std::iota(movies.begin(), movies.end(), std::size_t{0});
  fusion::TrainingSet set = set_of(ratings, task, movies);
  for (std::size_t i = 0; i < task.train.size(); ++i) {
    set.grades[task.train[i]] = task.train_stars[i];
    set.in_feedback[task.train[i]] = 1;
  }
  return set;
}

fusion::FeatureMatrix with_column(const fusion::FeatureMatrix& matrix, const Scores& column) {
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

Result<Scores> rankboost(const fusion::TrainingSet& set, const fusion::FeatureMatrix& documents) {
  const std::size_t rounds = 40 + set.matrix.feature_count() / 10;
  TRY(const auto model,
      train("rankboost", set,
            {{"rounds", std::to_string(rounds)}, {"weak-learner", "3.cum"}, {"q-default", "learn"}}));
  return model.ranker->score(documents);
}

/// A method that is a learner of the registry, trained on all movies.
struct BaselineRow {
  Method method;
  const char* learner;
  std::map<std::string, std::string> options;
};
const BaselineRow kBaselines[] = {
    {Method::vector_similarity, "vector-similarity", {}},
    {Method::nearest_neighbour, "nearest-neighbour", {}},
    {Method::regression, "regression", {}},
    {Method::random_guessing, "random-guessing", {}},
    {Method::normalised_regression, "regression", {{"normalised", "yes"}}},
    {Method::ten_neighbours, "nearest-neighbour", {{"neighbours", "10"}}},
};

/// Trains methods on one task.
class Runner {
 public:
  Runner(const Ratings& ratings, const Task& task)
      : task_(task),
        half_(training_half(ratings, task)),
        whole_(all_movies(ratings, task)),
        test_(matrix_of(ratings, task.features, task.test)) {}

  Result<Scores> run(Method method) const {
    fusion::TrainingSet set = half_;
    if (method == Method::rankboost) return rankboost(set, test_);
    if (method == Method::rankboost_with_vsim) {
      TRY(const auto train_scores, baseline(Method::vector_similarity, half_.matrix));
      TRY(const auto test_scores, baseline(Method::vector_similarity, test_));
      set.matrix = with_column(half_.matrix, train_scores);
      return rankboost(set, with_column(test_, test_scores));
    }
    const double best = *std::max_element(task_.train_stars.begin(), task_.train_stars.end());
    if (method == Method::rankboost_bipartite) {
      set.feedback.is_bipartite = true;
      set.feedback.relevance_level = best;
      return rankboost(set, test_);
    }
    if (method != Method::adaboost) return baseline(method, test_);
    const std::size_t rounds = 40 + task_.features.size() / 10;
    return fusion::StepRanker(adaboost(half_, best, rounds), half_.matrix.features()).score(test_);
  }

 private:
  Result<Scores> baseline(Method method, const fusion::FeatureMatrix& documents) const {
    const auto row = std::find_if(std::begin(kBaselines), std::end(kBaselines),
                                  [&](const BaselineRow& one) { return one.method == method; });
    require(row != std::end(kBaselines), "the method is a learner of the registry");
    TRY(const auto model, train(row->learner, whole_, row->options));
    return model.ranker->score(documents);
  }

  const Task& task_;
  fusion::TrainingSet half_;
  fusion::TrainingSet whole_;
  fusion::FeatureMatrix test_;
};

/// A thresholded feature as AdaBoost's classifier.
struct Choice {
  std::size_t feature = 0;
  std::size_t level = 0;
  double q_default = 0.0;
  double r = 0.0;  ///< sum of D(x) y(x) (2 h(x) - 1)
};

/// The weak ranking of the largest |r|.
Choice best_of(const fusion::CodedFeatures& features, const std::vector<double>& signed_weights,
               double total) {
  Choice best;
  for (std::size_t f = 0; f < features.feature_count(); ++f) {
    const std::size_t levels = features.thresholds(f).size();
    std::vector<double> sums(levels + 1, 0.0);
    for (std::size_t x = 0; x < signed_weights.size(); ++x) sums[features.code(x, f)] += signed_weights[x];
    double firing = 0.0;
    for (std::size_t level = levels; level-- > 0;) {
      firing += sums[level + 1];
      for (const double q_default : {0.0, 1.0}) {
        const double r = 2.0 * (firing + q_default * sums[0]) - total;
        if (std::abs(r) > std::abs(best.r) + 1e-12) best = {f, level, q_default, r};
      }
    }
  }
  return best;
}

}  // namespace

Values measure(const std::vector<double>& scores, const std::vector<double>& grades) {
  static const auto set = evaluation::parse_measures("ranking_loss,expected_ap,prot,coverage");
  require(set.has_value() && !grades.empty(), "the movie measures exist and there are movies");
  evaluation::Rules rules;
  rules.relevance_level = static_cast<int>(*std::max_element(grades.begin(), grades.end()));
  // A score is good to about 15 digits: what differs by less is a tie, as in training.
  const std::vector<std::uint32_t> order = evaluation::order_by_score(scores);
  const std::vector<double> values =
      evaluation::evaluate(*set, evaluation::judged_ranking(grades, order, scores), rules);
  Values result{};
  std::copy_n(values.begin(), kMeasures, result.begin());
  return result;
}

Task make_task(const Ratings& ratings, std::vector<std::size_t> features, std::size_t target, Random random) {
  Task task;
  task.features = std::move(features);
  std::vector<std::size_t> movies = ratings.rated[target];
  random.shuffle(movies);
  const auto half = movies.begin() + static_cast<std::ptrdiff_t>(movies.size() / 2);
  task.train.assign(movies.begin(), half);
  task.test.assign(half, movies.end());
  for (auto [part, stars] :
       {std::pair{&task.train, &task.train_stars}, std::pair{&task.test, &task.test_stars}}) {
    std::sort(part->begin(), part->end());
    for (const std::size_t movie : *part) stars->push_back(ratings.stars[target][movie]);
  }
  return task;
}

bool has_feedback(const Task& task) {
  const auto is_mixed = [](const std::vector<double>& stars) {
    return std::any_of(stars.begin(), stars.end(), [&](double value) { return value != stars.front(); });
  };
  return is_mixed(task.train_stars) && is_mixed(task.test_stars);
}

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

std::vector<fusion::WeakRanking> adaboost(const fusion::TrainingSet& set, double level, std::size_t rounds) {
  const fusion::CodedFeatures features(set.matrix, fusion::ThresholdOptions{});
  const auto count = static_cast<double>(set.grades.size());
  std::vector<double> labels;
  double positive = 0.0;
  for (const double grade : set.grades) {
    labels.push_back(grade >= level ? 1.0 : -1.0);
    positive += grade >= level ? 1.0 : 0.0;
  }
  std::vector<fusion::WeakRanking> rankings;
  if (positive == 0.0 || positive == count) return rankings;
  std::vector<double> weights(labels.size(), 1.0 / count);
  while (rankings.size() < rounds) {
    std::vector<double> signed_weights(labels.size());
    double total = 0.0;
    for (std::size_t x = 0; x < labels.size(); ++x) total += signed_weights[x] = weights[x] * labels[x];
    const Choice best = best_of(features, signed_weights, total);
    if (std::abs(best.r) < 1e-9) break;
    const double smooth = 0.5 / count;
    const double alpha = 0.5 * std::log((1.0 + best.r + smooth) / (1.0 - best.r + smooth));
    const double threshold = features.thresholds(best.feature).values[best.level];
    rankings.push_back({static_cast<std::uint32_t>(best.feature), threshold, best.q_default, 2.0 * alpha});
    double sum = 0.0;
    for (std::size_t x = 0; x < labels.size(); ++x) {
      const std::uint32_t code = features.code(x, best.feature);
      const bool fires = code == 0 ? best.q_default > 0.0 : code > best.level;
      sum += weights[x] *= std::exp(-alpha * labels[x] * (fires ? 1.0 : -1.0));
    }
    for (double& weight : weights) weight /= sum;
  }
  return rankings;
}

}  // namespace metafuse::experiments::movies
