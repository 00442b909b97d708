#include "experiments/movies/task.h"

#include <algorithm>
#include <numeric>

namespace metafuse::experiments::movies {

Task make_task(const Ratings& ratings, std::vector<std::size_t> features, std::size_t target, Random random) {
  Task task;
  task.features = std::move(features);
  std::vector<std::size_t> movies = ratings.rated[target];
  random.shuffle(movies);
  const auto half = movies.begin() + static_cast<std::ptrdiff_t>(movies.size() / 2);
  task.train.assign(movies.begin(), half);
  task.test.assign(half, movies.end());
  std::sort(task.train.begin(), task.train.end());
  std::sort(task.test.begin(), task.test.end());
  for (const std::size_t movie : task.train) task.train_stars.push_back(ratings.stars[target][movie]);
  for (const std::size_t movie : task.test) task.test_stars.push_back(ratings.stars[target][movie]);
  return task;
}

bool has_feedback(const Task& task) {
  const auto is_mixed = [](const std::vector<double>& stars) {
    return std::any_of(stars.begin(), stars.end(), [&](double value) { return value != stars.front(); });
  };
  return is_mixed(task.train_stars) && is_mixed(task.test_stars);
}

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

fusion::TrainingSet training_half(const Ratings& ratings, const Task& task) {
  fusion::TrainingSet set;
  set.matrix = matrix_of(ratings, task.features, task.train);
  set.queries = {{"target", 0, task.train.size(), 1.0}};
  set.documents = TextList(task.train.size(), "");
  set.grades = task.train_stars;
  set.in_feedback.assign(task.train.size(), 1);
  return set;
}

fusion::TrainingSet all_movies(const Ratings& ratings, const Task& task) {
  std::vector<std::size_t> movies(ratings.movie_count);
  std::iota(movies.begin(), movies.end(), std::size_t{0});
  fusion::TrainingSet set;
  set.matrix = matrix_of(ratings, task.features, movies);
  set.queries = {{"target", 0, movies.size(), 1.0}};
  set.documents = TextList(movies.size(), "");
  set.grades.assign(movies.size(), 0.0);
  set.in_feedback.assign(movies.size(), 0);
  for (std::size_t i = 0; i < task.train.size(); ++i) {
    set.grades[task.train[i]] = task.train_stars[i];
    set.in_feedback[task.train[i]] = 1;
  }
  return set;
}

}  // namespace metafuse::experiments::movies
