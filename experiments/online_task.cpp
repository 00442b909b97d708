#include "experiments/online_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>

#include "core/text_file.h"
#include "experiments/split.h"

namespace metafuse::experiments {
namespace {

constexpr std::array kCuts = {-1.0, -0.1, 0.25, 1.0};

int synthetic_rank(double value) {
  int rank = 1;
  for (const double cut : kCuts) rank += value > cut ? 1 : 0;
  return rank;
}

OnlineSample draw_synthetic(Random& random) {
  constexpr std::size_t kTrain = 50'000;
  constexpr std::size_t kTest = 1'000;
  OnlineSample sample;
  for (std::size_t t = 0; t < kTrain + kTest; ++t) {
    const double a = random.uniform();
    const double b = random.uniform();
    const double value = 10.0 * (a - 0.5) * (b - 0.5);
    const int rank = synthetic_rank(value + 0.125 * random.normal());
    auto& rows = t < kTrain ? sample.train : sample.test;
    rows.insert(rows.end(), {a, b});
    (t < kTrain ? sample.train_ranks : sample.test_ranks).push_back(rank);
    if (t >= kTrain) sample.ideal_test_ranks.push_back(synthetic_rank(value));
  }
  return sample;
}

using Judgments = std::vector<std::array<int, 4>>;

/// "RD" and the lines after it hold pairs of a document's number and its four judges' digits.
Result<Judgments> read_cystic_fibrosis(const std::string& path) {
  Judgments judgments;
  bool is_inside = false;
  auto done = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    const std::string_view tag = line.substr(0, 2);
    if (tag != "  ") is_inside = tag == "RD";
    if (!is_inside || line.size() < 3) return {};
    std::istringstream words{std::string(line.substr(2))};
    std::string document;
    std::string digits;
    while (words >> document >> digits) {
      std::array<int, 4> judges{};
      bool is_good = digits.size() == 4;
      for (std::size_t j = 0; is_good && j < 4; ++j) {
        is_good = digits[j] >= '0' && digits[j] <= '2';
        judges[j] = digits[j] - '0' + 1;
      }
      if (!is_good)
        return fail(Code::bad_data, path + ":" + std::to_string(number) + ":1: \"" + digits +
                                        "\" is not four judgments of 0 to 2; take the file as distributed");
      judgments.push_back(judges);
    }
    return {};
  });
  if (!done) return done.error();
  return judgments;
}

OnlineSample draw_cystic_fibrosis(const Judgments& judgments, CysticFibrosisForm form, Random& random) {
  constexpr std::size_t kTrain = 4'247;
  std::vector<std::size_t> order(judgments.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  OnlineSample sample;
  for (std::size_t t = 0; t < order.size(); ++t) {
    const auto& judges = judgments[order[t]];
    const std::size_t target = random.below(4);
    auto& rows = t < kTrain ? sample.train : sample.test;
    const auto begin = static_cast<std::ptrdiff_t>(rows.size());
    for (std::size_t j = 0; j < 4; ++j)
      if (j != target) rows.push_back(judges[j] - (form.is_centred ? 2 : 0));
    if (form.is_sorted) std::sort(rows.begin() + begin, rows.end());
    (t < kTrain ? sample.train_ranks : sample.test_ranks).push_back(judges[target]);
  }
  return sample;
}

struct Person {
  std::vector<int> movies;  ///< in the order in which they were rated
  std::map<int, int> stars;
};

/// People who rated more than 300 movies.
Result<std::vector<Person>> read_movielens(const std::string& path) {
  struct Rating {
    long time = 0;
    int movie = 0;
    int stars = 0;
    auto operator<=>(const Rating&) const = default;
  };
  std::map<int, std::vector<Rating>> people;
  auto done = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    std::istringstream words{std::string(line)};
    int person = 0;
    Rating rating;
    if (!(words >> person >> rating.movie >> rating.stars >> rating.time) || rating.stars < 1 ||
        rating.stars > 5)
      return fail(Code::bad_data, path + ":" + std::to_string(number) +
                                      ":1: not \"user item rating timestamp\"; take the file as distributed");
    people[person].push_back(rating);
    return {};
  });
  if (!done) return done.error();
  std::vector<Person> busy;
  for (auto& [id, ratings] : people) {
    if (ratings.size() <= 300) continue;
    std::sort(ratings.begin(), ratings.end());
    Person person;
    for (const Rating& rating : ratings) {
      person.movies.push_back(rating.movie);
      person.stars[rating.movie] = rating.stars;
    }
    busy.push_back(std::move(person));
  }
  if (busy.size() < 2)
    return fail(Code::bad_data,
                path + ": fewer than two people rated more than 300 movies; take the whole file");
  return busy;
}

OnlineSample draw_movielens(const std::vector<Person>& people, Random& random) {
  constexpr std::size_t kMovies = 300;
  constexpr std::size_t kTrain = 210;
  const std::size_t target = random.below(people.size());
  std::vector<int> movies(people[target].movies.begin(), people[target].movies.begin() + kMovies);
  random.shuffle(movies);
  OnlineSample sample;
  for (std::size_t t = 0; t < kMovies; ++t) {
    auto& rows = t < kTrain ? sample.train : sample.test;
    for (std::size_t p = 0; p < people.size(); ++p) {
      if (p == target) continue;
      const auto found = people[p].stars.find(movies[t]);
      rows.push_back(found == people[p].stars.end() ? 0.0 : (found->second - 1) / 4.0 - 0.5);
    }
    (t < kTrain ? sample.train_ranks : sample.test_ranks).push_back(people[target].stars.at(movies[t]));
  }
  return sample;
}

}  // namespace

OnlineTask synthetic_task(std::size_t trials) {
  OnlineTask task;
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

Result<OnlineTask> cystic_fibrosis_task(const std::string& data, std::size_t trials,
                                        CysticFibrosisForm form) {
  TRY(auto read, read_cystic_fibrosis(data + "/cystic-fibrosis/cfquery.txt"));
  if (read.size() <= 4'247)
    return fail(Code::bad_data, data + "/cystic-fibrosis/cfquery.txt: holds " + std::to_string(read.size()) +
                                    " judged pairs where 4819 belong; take the whole file");
  OnlineTask task;
  task.name = std::string("cystic fibrosis, ratings ") + (form.is_centred ? "-1 to 1" : "1 to 3") +
              (form.is_sorted ? " ascending" : " in the judges' order");
  task.note = std::to_string(read.size()) + " judged pairs (the paper: 4829): 4247 to train, " +
              std::to_string(read.size() - 4'247) + " to test (the paper: 582)";
  task.inputs = 3;
  task.ranks = 3;
  task.taus = {0.1, 0.2, 0.3};
  task.steps = {0.2, 0.05, 0.01, 0.001};
  task.trials = trials;
  task.published = {{"widrow-hoff 0.2", "0.75 ± 0.02"},
                    {"widrow-hoff 0.05", "0.48 ± 0.02"},
                    {"widrow-hoff 0.01", "0.43 ± 0.02"},
                    {"widrow-hoff 0.001", "0.41 ± 0.02"},
                    {"prank", "0.50 ± 0.02"},
                    {"prank-vp", "0.52 ± 0.01"},
                    {"oap-vp 0.1", "0.47 ± 0.01"},
                    {"oap-vp 0.2", "0.45 ± 0.01"},
                    {"oap-vp 0.3", "0.45 ± 0.01"},
                    {"oap-bpm 0.1", "0.40 ± 0.01"},
                    {"oap-bpm 0.2", "0.39 ± 0.01"},
                    {"oap-bpm 0.3", "0.40 ± 0.02"},
                    {"oap-bagg 0.1", "0.50 ± 0.01"},
                    {"oap-bagg 0.2", "0.48 ± 0.01"},
                    {"oap-bagg 0.3", "0.47 ± 0.01"}};
  task.draw = [judgments = std::make_shared<const Judgments>(std::move(read)), form](Random& random) {
    return draw_cystic_fibrosis(*judgments, form, random);
  };
  return task;
}

Result<OnlineTask> movielens_task(const std::string& data, std::size_t trials) {
  TRY(auto read, read_movielens(with_packing(data + "/movielens-100k/u.data")));
  OnlineTask task;
  task.name = "MovieLens 100k in EachMovie's place";
  task.note = std::to_string(read.size()) +
              " people with more than 300 ratings (the paper's EachMovie: 547), five " +
              "ranks (the paper: six); the published column is EachMovie's";
  task.inputs = read.size() - 1;
  task.ranks = 5;
  task.taus = {0.1, 0.2, 0.3};
  task.steps = {0.2, 0.05, 0.01, 0.001};
  task.trials = trials;
  task.published = {{"widrow-hoff 0.2", "2.19 ± 0.06"},
                    {"widrow-hoff 0.05", "1.92 ± 0.07"},
                    {"widrow-hoff 0.01", "2.25 ± 0.08"},
                    {"widrow-hoff 0.001", "2.74 ± 0.10"},
                    {"prank", "1.06 ± 0.03"},
                    {"prank-vp", "1.13 ± 0.03"},
                    {"oap-vp 0.1", "0.95 ± 0.03"},
                    {"oap-vp 0.2", "0.95 ± 0.03"},
                    {"oap-vp 0.3", "0.95 ± 0.03"},
                    {"oap-bpm 0.1", "0.89 ± 0.03"},
                    {"oap-bpm 0.2", "0.89 ± 0.03"},
                    {"oap-bpm 0.3", "0.90 ± 0.03"},
                    {"oap-bagg 0.1", "0.96 ± 0.03"},
                    {"oap-bagg 0.2", "0.95 ± 0.03"},
                    {"oap-bagg 0.3", "0.96 ± 0.03"}};
  task.draw = [people = std::make_shared<const std::vector<Person>>(std::move(read))](Random& random) {
    return draw_movielens(*people, random);
  };
  return task;
}

}  // namespace metafuse::experiments
