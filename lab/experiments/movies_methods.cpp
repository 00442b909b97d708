// Draws a task, trains the methods of the movie experiment on it, and measures their scores.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/contract.h"
#include "evaluation/measures/measure.h"
#include "fusion/learners/similarity/similarity.h"
#include "lab/experiments/movies.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments::movies {
namespace {

using Scores = std::vector<double>;

/// Some movies of the target as one query, without feedback.
fusion::TrainingSet set_of(const Ratings& ratings, const Task& task, std::span<const std::size_t> movies) {
  fusion::TrainingSet set;
  set.matrix = matrix_of(ratings, task.features, movies);
  set.queries = {{"target", 0, movies.size(), 1.0}};
  set.documents = TextList(movies.size(), "");
  set.grades.assign(movies.size(), 0.0);
  set.in_feedback.assign(movies.size(), 0);
  return set;
}

/// The movies of the training half alone, from which RankBoost learns.
fusion::TrainingSet training_half(const Ratings& ratings, const Task& task) {
  fusion::TrainingSet set = set_of(ratings, task, task.train);
  set.grades = task.train_stars;
  set.in_feedback.assign(task.train.size(), 1);
  return set;
}

/// All movies, with feedback on the training half: the baselines need the viewers' other ratings for
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

/// What a method learns from.
enum class Data {
  half,        ///< the training half
  bipartite,   ///< the training half, with good movies against the rest
  similarity,  ///< the training half, with VSIM's prediction as one more ranking feature
  whole        ///< all movies
};

struct MethodRow {
  Method method;
  const char* name;
  const char* learner;
  Data data = Data::whole;
  std::map<std::string, std::string> options = {};
};
const std::map<std::string, std::string> kRankBoost = {{"weak-learner", "3.cum"}, {"q-default", "learn"}};
const MethodRow kMethods[] = {
    {Method::rankboost, "RankBoost", "rankboost", Data::half, kRankBoost},
    {Method::vector_similarity, "VSIM", "vector-similarity"},
    {Method::nearest_neighbour, "NN", "nearest-neighbour"},
    {Method::regression, "regression", "regression"},
    {Method::random_guessing, "random guessing", "random-guessing"},
    {Method::normalised_regression,
     "normalised regression",
     "regression",
     Data::whole,
     {{"normalised", "yes"}}},
    {Method::ten_neighbours,
     "10 nearest neighbours",
     "nearest-neighbour",
     Data::whole,
     {{"neighbours", "10"}}},
    {Method::rankboost_with_vsim, "RankBoost with VSIM", "rankboost", Data::similarity, kRankBoost},
    {Method::rankboost_bipartite, "RankBoost bipartite", "rankboost", Data::bipartite, kRankBoost},
    {Method::adaboost, "AdaBoost ordering", "adaboost-ordering", Data::bipartite},
};

const MethodRow& row_of(Method method) {
  return *std::find_if(std::begin(kMethods), std::end(kMethods),
                       [&](const MethodRow& row) { return row.method == method; });
}

/// Trains and applies methods on one task.
class Runner {
 public:
  Runner(const Ratings& ratings, const Task& task)
      : task_(task),
        half_(training_half(ratings, task)),
        whole_(all_movies(ratings, task)),
        test_(matrix_of(ratings, task.features, task.test)) {}

  Result<Scores> run(const MethodRow& row) const {
    fusion::TrainingSet set = row.data == Data::whole ? whole_ : half_;
    fusion::FeatureMatrix test = test_;
    if (row.data == Data::bipartite) {
      set.feedback.is_bipartite = true;
      set.feedback.relevance_level = highest_of(task_.train_stars);
    } else if (row.data == Data::similarity) {
      // A movie's own stars must not take part in what RankBoost is shown for it.
      TRY(const auto similarity, fusion::similarity::vector_similarity(whole_));
      const Scores predicted = fusion::similarity::leave_one_out(whole_, similarity.score(whole_.matrix));
      Scores of_half;
      for (const std::size_t movie : task_.train) of_half.push_back(predicted[movie]);
      set.matrix = with_column(half_.matrix, of_half);
      test = with_column(test_, similarity.score(test_));
    }
    experiments::Method method{row.name, row.learner, row.options};
    if (row.data != Data::whole)
      method.options["rounds"] = std::to_string(40 + set.matrix.feature_count() / 10);
    TRY(const auto model, train(method, set));
    return model.ranker->score(test);
  }

 private:
  const Task& task_;
  fusion::TrainingSet half_;
  fusion::TrainingSet whole_;
  fusion::FeatureMatrix test_;
};

}  // namespace

Values measure(const std::vector<double>& scores, const std::vector<double>& grades) {
  static const auto set = evaluation::parse_measures("ranking_loss,expected_ap,prot,coverage");
  require(set.has_value() && !grades.empty(), "the movie measures exist and there are movies");
  evaluation::Rules rules;
  rules.relevance_level = static_cast<int>(highest_of(grades));
  // Scores are exact to about 15 digits; smaller differences are treated as ties, as in training.
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
  return is_mixed(task.train_stars) && is_mixed(task.test_stars);
}

std::string method_name(Method method) {
  return row_of(method).name;
}

Result<std::vector<Values>> run_methods(const Ratings& ratings, const Task& task,
                                        const std::vector<Method>& methods) {
  const Runner runner(ratings, task);
  std::vector<Values> values;
  for (const Method method : methods) {
    TRY(const auto scores, runner.run(row_of(method)));
    values.push_back(measure(scores, task.test_stars));
  }
  return values;
}

}  // namespace metafuse::lab::experiments::movies
