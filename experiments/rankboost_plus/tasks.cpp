#include "experiments/rankboost_plus/tasks.h"

#include <algorithm>
#include <numeric>

#include "experiments/movies/ratings.h"

namespace metafuse::experiments::rankboost_plus {
namespace {

using fusion::TrainingSet;

/// Some documents of a set as one query.
TrainingSet rows_of(const TrainingSet& set, std::span<const std::size_t> rows) {
  TrainingSet part;
  part.matrix = fusion::FeatureMatrix(set.matrix.features(), rows.size());
  part.queries = {{"task", 0, rows.size(), 1.0}};
  part.documents = TextList(rows.size(), "");
  part.in_feedback.assign(rows.size(), 1);
  part.feedback = set.feedback;
  for (std::size_t x = 0; x < rows.size(); ++x) {
    part.grades.push_back(set.grades[rows[x]]);
    for (std::size_t f = 0; f < set.matrix.feature_count(); ++f)
      if (!set.matrix.is_unranked(rows[x], f)) part.matrix.set(x, f, set.matrix.value(rows[x], f));
  }
  return part;
}

bool is_mixed(const TrainingSet& set) {
  return std::any_of(set.grades.begin(), set.grades.end(),
                     [&](double grade) { return grade != set.grades.front(); });
}

std::size_t pair_count(const std::vector<double>& grades) {
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < grades.size(); ++i)
    for (std::size_t j = i + 1; j < grades.size(); ++j) pairs += grades[i] != grades[j] ? 1U : 0U;
  return pairs;
}

/// One user's movies with the other users that rated at least half of them.
TrainingSet user_set(const movies::Ratings& ratings, std::size_t user) {
  const std::vector<std::size_t>& rated = ratings.rated[user];
  std::vector<std::size_t> viewers;
  for (std::size_t v = 0; v < ratings.viewer_count(); ++v) {
    if (v == user) continue;
    std::size_t common = 0;
    for (const std::size_t movie : rated) common += ratings.stars[v][movie] > 0.0 ? 1U : 0U;
    if (2 * common >= rated.size()) viewers.push_back(v);
  }
  TrainingSet set;
  std::vector<fusion::Feature> features;
  for (const std::size_t v : viewers)
    features.push_back({"user " + std::to_string(v + 1), fusion::FeatureKind::value, 0});
  set.matrix = fusion::FeatureMatrix(std::move(features), rated.size());
  for (std::size_t x = 0; x < rated.size(); ++x) {
    set.grades.push_back(ratings.stars[user][rated[x]]);
    for (std::size_t f = 0; f < viewers.size(); ++f)
      if (const double stars = ratings.stars[viewers[f]][rated[x]]; stars > 0.0) set.matrix.set(x, f, stars);
  }
  return set;
}

}  // namespace

std::vector<Split> split_documents(const TrainingSet& set, Random random) {
  std::vector<std::size_t> order(set.grades.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  std::vector<Split> folds;
  for (std::size_t f = 0; f < kFifths; ++f) {
    const auto parts = turn_of_fifths(order, f);
    if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); })) return {};
    folds.push_back({rows_of(set, parts[0]), rows_of(set, parts[1]), rows_of(set, parts[2])});
    const Split& split = folds.back();
    if (!is_mixed(split.train) || !is_mixed(split.validate) || !is_mixed(split.test)) return {};
  }
  return folds;
}

Result<Tasks> movie_tasks(const std::string& data, std::size_t most, Random random) {
  TRY(const auto ratings, movies::read_ratings(with_packing(data + "/movielens-100k/u.data")));
  std::vector<std::size_t> users;
  for (std::size_t user = 0; user < ratings.viewer_count(); ++user)
    if (ratings.rated[user].size() >= 100) users.push_back(user);
  random.shuffle(users);
  users.resize(std::min(users.size(), most));
  Tasks result;
  for (const std::size_t user : users) {
    const TrainingSet set = user_set(ratings, user);
    std::vector<Split> folds;
    if (set.matrix.feature_count() > 0) folds = split_documents(set, random.split(user));
    if (folds.empty())
      ++result.left_out;
    else
      result.tasks.push_back({"user " + std::to_string(user + 1), std::move(folds)});
  }
  return result;
}

Result<Tasks> web_tasks(const std::string& data, std::size_t most, Random random) {
  TRY(const auto set, read_letor({data + "/mslr-web10k-sample/fold1_test_sample.txt",
                                  data + "/mslr-web10k-sample/fold1_valid_sample.txt"}));
  constexpr std::size_t kMostPairs = 50000;
  Tasks result;
  for (const fusion::QueryRange& query : set.queries) {
    if (result.tasks.size() >= most) break;
    std::vector<std::size_t> rows(query.end - query.begin);
    std::iota(rows.begin(), rows.end(), query.begin);
    const TrainingSet own = rows_of(set, rows);
    std::vector<Split> folds;
    if (pair_count(own.grades) < kMostPairs) folds = split_documents(own, random.split(query.begin));
    if (folds.empty())
      ++result.left_out;
    else
      result.tasks.push_back({"query " + query.id, std::move(folds)});
  }
  return result;
}

Result<Tasks> letor_tasks(const std::string& data, std::size_t most) {
  Tasks result;
  for (std::size_t f = 0; f < std::min(most, kFifths); ++f) {
    TRY(auto split, read_letor_split(data + "/letor4-MQ2008", f));
    Task task{"Fold" + std::to_string(f + 1), {}};
    task.folds.push_back(std::move(split));
    result.tasks.push_back(std::move(task));
  }
  return result;
}

}  // namespace metafuse::experiments::rankboost_plus
