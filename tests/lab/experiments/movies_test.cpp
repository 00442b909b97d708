#include "lab/experiments/movies.h"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "core/atomic_file.h"
#include "core/random.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::lab::experiments;
using namespace metafuse::lab::experiments::movies;

namespace {

/// The four measures of a total order by their definitions (Freund et al. 2003, sec. 6.2.4).
Values of_order(const std::vector<std::size_t>& order, const std::vector<double>& grades) {
  const double best = *std::max_element(grades.begin(), grades.end());
  Values values{};
  double pairs = 0.0;
  double good = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (grades[order[i]] != grades[order[j]]) pairs += 1.0;
      if (grades[order[i]] < grades[order[j]]) values[kDisagreement] += 1.0;
    }
    if (grades[order[i]] != best) continue;
    good += 1.0;
    const double precision = good / static_cast<double>(i + 1);
    values[kAveragePrecision] += precision;
    if (good == 1.0) values[kRankOfTop] = precision;
    values[kCoverage] = precision;
  }
  values[kDisagreement] = pairs > 0.0 ? values[kDisagreement] / pairs : 0.0;
  values[kAveragePrecision] /= good;
  return values;
}

/// The mean over all total orders that the scores allow.
Values by_enumeration(const std::vector<double>& scores, const std::vector<double>& grades) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Values sum{};
  double count = 0.0;
  do {
    bool is_allowed = true;
    for (std::size_t i = 1; i < order.size(); ++i)
      is_allowed = is_allowed && scores[order[i - 1]] >= scores[order[i]];
    if (!is_allowed) continue;
    const Values values = of_order(order, grades);
    for (std::size_t m = 0; m < kMeasures; ++m) sum[m] += values[m];
    count += 1.0;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& value : sum) value /= count;
  return sum;
}

}  // namespace

TEST_CASE("The movie measures are means over all ways to break ties", "[experiments][movies]") {
  Random random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t movies = 2 + random.below(5);
    std::vector<double> scores, grades;
    for (std::size_t i = 0; i < movies; ++i) {
      scores.push_back(static_cast<double>(random.below(3)));
      grades.push_back(1.0 + static_cast<double>(random.below(3)));
    }
    const Values expected = by_enumeration(scores, grades);
    const Values actual = measure(scores, grades);
    for (std::size_t m = 0; m < kMeasures; ++m) {
      INFO("trial " << trial << " " << kMeasureNames[m]);
      CHECK(actual[m] == Approx(expected[m]).margin(1e-12));
    }
  }
}

TEST_CASE("Ratings are read with their line numbers and targets without feedback are detected",
          "[experiments][movies]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/u.data";
  REQUIRE(write_file(path, "1\t1\t5\t0\n1\t2\t3\t0\n2\t1\t4\t0\n1\t3\t5\t0\n1\t4\t3\t0\n2\t2\t4\t0\n")
              .has_value());
  const auto ratings = read_ratings(path);
  REQUIRE(ratings.has_value());
  CHECK(ratings->viewer_count() == 2);
  CHECK(ratings->rated[0].size() == 4);
  const Task task = make_task(*ratings, {1}, 0, Random(1));
  CHECK(task.train.size() == 2);
  CHECK(task.test.size() == 2);
  CHECK(!has_feedback(make_task(*ratings, {0}, 1, Random(1))));
  CHECK(!run_methods(*ratings, make_task(*ratings, {0}, 1, Random(1)), {Method::rankboost}).has_value());
  REQUIRE(write_file(path, "1\t1\t5\t0\n1\tx\t3\t0\n").has_value());
  const auto broken = read_ratings(path);
  REQUIRE(!broken.has_value());
  CHECK(broken.error().text.find(":2:1:") != std::string::npos);
}
