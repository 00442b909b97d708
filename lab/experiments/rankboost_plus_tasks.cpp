#include <algorithm>
#include <span>

#include "lab/experiments/rankboost_plus.h"
#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::experiments::rankboost_plus {
namespace {

using fusion::TrainingSet;

/// Some documents of a set, as a set of one query.
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

/// One user's movies, with features from the other users who rated at least half of them.
TrainingSet user_set(const Ratings& ratings, std::size_t user) {
  const std::vector<std::size_t>& rated = ratings.rated[user];
  std::vector<std::size_t> viewers;
  for (std::size_t v = 0; v < ratings.viewer_count(); ++v) {
    const auto common = std::count_if(rated.begin(), rated.end(),
                                      [&](std::size_t movie) { return ratings.stars[v][movie] > 0.0; });
    if (v != user && 2 * static_cast<std::size_t>(common) >= rated.size()) viewers.push_back(v);
  }
  TrainingSet set;
  set.matrix = matrix_of(ratings, viewers, rated);
  for (const std::size_t movie : rated) set.grades.push_back(ratings.stars[user][movie]);
  return set;
}

void add_task(Tasks& tasks, std::string name, std::vector<Split> folds) {
  if (folds.empty())
    ++tasks.left_out;
  else
    tasks.tasks.push_back({std::move(name), std::move(folds)});
}

}  // namespace

std::vector<Split> split_documents(const TrainingSet& set, Random random) {
  const std::vector<std::size_t> order = shuffled(set.grades.size(), random);
  std::vector<Split> folds;
  for (std::size_t f = 0; f < kFifths; ++f) {
    const auto parts = turn_of_fifths(order, f);
    if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); })) return {};
    folds.push_back({rows_of(set, parts[0]), rows_of(set, parts[1]), rows_of(set, parts[2])});
    const Split& split = folds.back();
    if (!is_mixed(split.train.grades) || !is_mixed(split.validate.grades) || !is_mixed(split.test.grades))
      return {};
  }
  return folds;
}

Result<Tasks> movie_tasks(const std::string& data, std::size_t most, Random random) {
  TRY(const auto ratings, read_ratings(with_packing(data + "/movielens-100k/u.data")));
  std::vector<std::size_t> users;
  for (std::size_t user = 0; user < ratings.viewer_count(); ++user)
    if (ratings.rated[user].size() >= 100) users.push_back(user);
  random.shuffle(users);
  users.resize(std::min(users.size(), most));
  Tasks tasks;
  for (const std::size_t user : users) {
    const TrainingSet set = user_set(ratings, user);
    std::vector<Split> folds;
    if (set.matrix.feature_count() > 0) folds = split_documents(set, random.split(user));
    add_task(tasks, "user " + std::to_string(user + 1), std::move(folds));
  }
  return tasks;
}

Result<Tasks> web_tasks(const std::string& data, std::size_t most, Random random) {
  constexpr std::size_t kMostPairs = 49'999;
  TRY(const auto set, read_mslr_sample(data));
  Tasks tasks;
  for (std::size_t q = 0; q < set.queries.size() && tasks.tasks.size() < most; ++q) {
    const TrainingSet own = fusion::select_queries(set, std::span(&q, 1));
    std::vector<Split> folds;
    const auto counts = lab::rankboost_plus::count_pairs(own);
    if (counts && counts->pairs <= kMostPairs)
      folds = split_documents(own, random.split(set.queries[q].begin));
    add_task(tasks, "query " + set.queries[q].id, std::move(folds));
  }
  return tasks;
}

Result<Tasks> letor_tasks(const std::string& data, std::size_t most) {
  Tasks tasks;
  for (std::size_t f = 0; f < std::min(most, kFifths); ++f) {
    TRY(auto split, read_letor_split(data + "/letor4-MQ2008", f));
    tasks.tasks.push_back({"Fold" + std::to_string(f + 1), {}});
    tasks.tasks.back().folds.push_back(std::move(split));
  }
  return tasks;
}

}  // namespace metafuse::lab::experiments::rankboost_plus
