// The data of Harrington's experiments: synthetic ranks, four judges, movie ratings.
#include "lab/experiments/online_tasks.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "lab/experiments/data_sets.h"

namespace metafuse::lab::experiments::online {
namespace {

constexpr std::array kCuts = {-1.0, -0.1, 0.25, 1.0};

int synthetic_rank(double value) {
  int rank = 1;
  for (const double cut : kCuts) rank += value > cut ? 1 : 0;
  return rank;
}

/// Adds the t-th example: to the training stream while t is below `train_count`, to the test examples
/// after that.
void add_example(Sample& sample, std::size_t t, std::size_t train_count, const std::vector<double>& row,
                 int rank) {
  std::vector<double>& rows = t < train_count ? sample.train : sample.test;
  rows.insert(rows.end(), row.begin(), row.end());
  (t < train_count ? sample.train_ranks : sample.test_ranks).push_back(rank);
}

Sample draw_synthetic(Random& random) {
  constexpr std::size_t kTrain = 50'000;
  constexpr std::size_t kTest = 1'000;
  Sample sample;
  for (std::size_t t = 0; t < kTrain + kTest; ++t) {
    const double a = random.uniform();
    const double b = random.uniform();
    const double value = 10.0 * (a - 0.5) * (b - 0.5);
    const int rank = synthetic_rank(value + 0.125 * random.normal());
    add_example(sample, t, kTrain, {a, b}, rank);
    if (t >= kTrain) sample.ideal_test_ranks.push_back(synthetic_rank(value));
  }
  return sample;
}

using Judgments = std::vector<std::array<int, 4>>;  // the judges' grades of 0 to 2, the ranks 1 to 3
constexpr std::size_t kCysticTraining = 4'247;

Sample draw_cystic_fibrosis(const Judgments& judgments, CysticFibrosisForm form, Random& random) {
  const std::vector<std::size_t> order = shuffled(judgments.size(), random);
  Sample sample;
  for (std::size_t t = 0; t < order.size(); ++t) {
    const auto& judges = judgments[order[t]];
    const std::size_t target = random.below(4);
    std::vector<double> row;
    for (std::size_t j = 0; j < 4; ++j)
      if (j != target) row.push_back(judges[j] + (form.is_centred ? -1 : 1));
    if (form.is_sorted) std::sort(row.begin(), row.end());
    add_example(sample, t, kCysticTraining, row, judges[target] + 1);
  }
  return sample;
}

struct Person {
  std::vector<std::size_t> movies;  ///< in the order in which they were rated
  std::map<std::size_t, int> stars;
};

/// Reads the people who rated more than 300 movies.
Result<std::vector<Person>> read_busy_people(const std::string& path) {
  TRY(const auto ratings, read_movielens(path));
  std::map<std::size_t, std::vector<Rating>> people;
  for (const Rating& rating : ratings) people[rating.user].push_back(rating);
  std::vector<Person> busy;
  for (auto& [id, own] : people) {
    if (own.size() <= 300) continue;
    std::sort(own.begin(), own.end(), [](const Rating& a, const Rating& b) {
      return std::tie(a.time, a.movie, a.stars) < std::tie(b.time, b.movie, b.stars);
    });
    Person person;
    for (const Rating& rating : own) {
      person.movies.push_back(rating.movie);
      person.stars[rating.movie] = static_cast<int>(rating.stars);
    }
    busy.push_back(std::move(person));
  }
  if (busy.size() < 2)
    return fail(Code::bad_data,
                path + ": fewer than two people rated more than 300 movies; use the complete file");
  return busy;
}

Sample draw_movielens(const std::vector<Person>& people, Random& random) {
  constexpr std::size_t kMovies = 300;
  constexpr std::size_t kTrain = 210;
  const std::size_t target = random.below(people.size());
  std::vector<std::size_t> movies(people[target].movies.begin(), people[target].movies.begin() + kMovies);
  random.shuffle(movies);
  Sample sample;
  for (std::size_t t = 0; t < kMovies; ++t) {
    std::vector<double> row;
    for (std::size_t p = 0; p < people.size(); ++p) {
      if (p == target) continue;
      const auto found = people[p].stars.find(movies[t]);
      row.push_back(found == people[p].stars.end() ? 0.0 : (found->second - 1) / 4.0 - 0.5);
    }
    add_example(sample, t, kTrain, row, people[target].stars.at(movies[t]));
  }
  return sample;
}

/// A task of table 2, with the settings that the paper compares there and its figures.
Task table_2(std::size_t trials, const std::array<const char*, 15>& figures) {
  constexpr std::array kRows = {
      "widrow-hoff 0.2", "widrow-hoff 0.05", "widrow-hoff 0.01", "widrow-hoff 0.001", "prank",
      "prank-vp",        "oap-vp 0.1",       "oap-vp 0.2",       "oap-vp 0.3",        "oap-bpm 0.1",
      "oap-bpm 0.2",     "oap-bpm 0.3",      "oap-bagg 0.1",     "oap-bagg 0.2",      "oap-bagg 0.3"};
  Task task;
  task.taus = {0.1, 0.2, 0.3};
  task.steps = {0.2, 0.05, 0.01, 0.001};
  task.trials = trials;
  for (std::size_t i = 0; i < kRows.size(); ++i) task.published[kRows[i]] = figures[i];
  return task;
}

}  // namespace

Task synthetic_task(std::size_t trials) {
  Task task;
  task.name = "synthetic";
  task.note = "noise floor: loss of the noise-free rule on the noisy test examples";
  task.inputs = 2;
  task.ranks = 5;
  task.is_polynomial = true;
  task.taus = {0.3, 0.6, 0.9};
  task.steps = {0.2, 0.1, 0.05, 0.01};
  task.trials = trials;
  task.published = {
      {"prank", "0.37 ± 0.07"},        {"prank-vp", "0.31 ± 0.00"},     {"widrow-hoff 0.1", "0.30 ± 0.2"},
      {"oap-vp 0.3", "0.32 ± 0.01"},   {"oap-vp 0.6", "0.31 ± 0.02"},   {"oap-vp 0.9", "0.31 ± 0.03"},
      {"oap-bagg 0.3", "0.33 ± 0.01"}, {"oap-bagg 0.6", "0.31 ± 0.02"}, {"oap-bagg 0.9", "0.32 ± 0.03"},
      {"oap-bpm 0.3", "0.23 ± 0.01"},  {"oap-bpm 0.6", "0.24 ± 0.03"},  {"oap-bpm 0.9", "0.26 ± 0.03"}};
  task.draw = draw_synthetic;
  return task;
}

Result<Task> cystic_fibrosis_task(const std::string& data, std::size_t trials, CysticFibrosisForm form) {
  TRY(const auto questions, read_cystic_questions(data));
  Judgments read;
  for (const CysticQuestion& question : questions)
    for (const auto& [document, grades] : question.judged) read.push_back(grades);
  if (read.size() <= kCysticTraining)
    return fail(
        Code::bad_data,
        fmt::format("{}/cystic-fibrosis/cfquery.txt: contains {} judged pairs instead of 4819; use the "
                    "complete file",
                    data, read.size()));
  Task task = table_2(trials, {"0.75 ± 0.02", "0.48 ± 0.02", "0.43 ± 0.02", "0.41 ± 0.02", "0.50 ± 0.02",
                               "0.52 ± 0.01", "0.47 ± 0.01", "0.45 ± 0.01", "0.45 ± 0.01", "0.40 ± 0.01",
                               "0.39 ± 0.01", "0.40 ± 0.02", "0.50 ± 0.01", "0.48 ± 0.01", "0.47 ± 0.01"});
  task.name = fmt::format("cystic fibrosis, ratings {}{}", form.is_centred ? "-1 to 1" : "1 to 3",
                          form.is_sorted ? " ascending" : " in the judges' order");
  task.note = fmt::format("{} judged pairs (the paper: 4829): {} to train, {} to test (the paper: 582)",
                          read.size(), kCysticTraining, read.size() - kCysticTraining);
  task.inputs = 3;
  task.ranks = 3;
  task.draw = [judgments = std::make_shared<const Judgments>(std::move(read)), form](Random& random) {
    return draw_cystic_fibrosis(*judgments, form, random);
  };
  return task;
}

Result<Task> movielens_task(const std::string& data, std::size_t trials) {
  TRY(auto read, read_busy_people(with_packing(data + "/movielens-100k/u.data")));
  Task task = table_2(trials, {"2.19 ± 0.06", "1.92 ± 0.07", "2.25 ± 0.08", "2.74 ± 0.10", "1.06 ± 0.03",
                               "1.13 ± 0.03", "0.95 ± 0.03", "0.95 ± 0.03", "0.95 ± 0.03", "0.89 ± 0.03",
                               "0.89 ± 0.03", "0.90 ± 0.03", "0.96 ± 0.03", "0.95 ± 0.03", "0.96 ± 0.03"});
  task.name = "MovieLens 100k in EachMovie's place";
  task.note = fmt::format(
      "{} people with more than 300 ratings (the paper's EachMovie: 547), five ranks (the paper: six); the "
      "published column is EachMovie's",
      read.size());
  task.inputs = read.size() - 1;
  task.ranks = 5;
  task.draw = [people = std::make_shared<const std::vector<Person>>(std::move(read))](Random& random) {
    return draw_movielens(*people, random);
  };
  return task;
}

}  // namespace metafuse::lab::experiments::online
