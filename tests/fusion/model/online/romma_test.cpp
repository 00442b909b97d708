#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/model/online/prank_bank.h"
#include "tests/support/slow_romma.h"

using metafuse::Random;
using metafuse::fusion::online::BankPrediction;
using metafuse::fusion::online::is_within_margin;
using metafuse::fusion::online::PrankBank;
using metafuse::fusion::online::rank_of;
using metafuse::fusion::online::romma_step;
using metafuse::fusion::online::RommaExample;
using metafuse::fusion::online::StepOptions;
using metafuse::fusion::online::StepRule;
using metafuse::test::LongRule;
using metafuse::test::slow_romma_step;

namespace {

std::vector<double> random_row(Random& random, std::size_t dimensions) {
  std::vector<double> row(dimensions);
  for (double& value : row) value = random.normal();
  return row;
}

double square_of(const std::vector<double>& row) {
  double sum = 0.0;
  for (const double value : row) sum += value * value;
  return sum;
}

BankPrediction learn_one(PrankBank& bank, std::vector<double> row, int rank, std::uint64_t step) {
  row.resize(bank.stride(), 0.0);
  BankPrediction prediction;
  bank.learn({row.data(), {&rank, 1}, step}, 1, {&prediction, 1});
  return prediction;
}

}  // namespace

TEST_CASE("ROMMA makes the steps of a worked example", "[fusion][online]") {
  // k = 2, v = (w, c) = 0, almost no slack. (x = 2, y = 1): score 0 >= c = 0 says rank 2. The shortest v
  // with c - 2 w >= 1 lies along u = (-2, 1): v = u / 5 = (-.4, .2).
  // (x = -1, y = 1): score .4 >= .2 says rank 2. u = (1, 1), v . u = -.2, ||v||^2 = .2, ||u||^2 = 2. By Li
  // and Long's rule the old v counts (2 x .2 + .2) / (2 x .2 - .04) = 5/3 and u counts .2 x 1.2 / .36 = 2/3:
  // v = (-2/3 + 2/3, 1/3 + 2/3) = (0, 1), which meets both conditions with equality.
  PrankBank bank({1, 1, 2, 1.0, 1, {StepRule::romma, 1e-15}});
  CHECK(learn_one(bank, {2.0}, 1, 0).point == 2);
  CHECK(bank.weights(0)[0] == Approx(-0.4));
  CHECK(bank.thresholds(0)[0] == Approx(0.2));
  CHECK(learn_one(bank, {-1.0}, 1, 1).point == 2);
  CHECK(bank.weights(0)[0] == Approx(0.0).margin(1e-12));
  CHECK(bank.thresholds(0)[0] == Approx(1.0));
  // (x = 5, y = 1): score 0 is below 1 by exactly the margin, so neither form of ROMMA moves.
  CHECK(learn_one(bank, {5.0}, 1, 2).point == 1);
  CHECK(bank.state().correct[0] == 1);
  CHECK(bank.thresholds(0)[0] == Approx(1.0));
}

TEST_CASE("With two ranks the step equals Li and Long's closed form", "[fusion][online]") {
  Random random(17);
  int compared = 0;
  while (compared < 500) {
    const std::size_t dimensions = 2 + random.below(6);
    const auto w = random_row(random, dimensions);
    const double c = random.normal();
    const auto x = random_row(random, dimensions);
    const int rank = 1 + static_cast<int>(random.below(2));
    const double label = rank == 1 ? -1.0 : 1.0;
    double score = 0.0;
    for (std::size_t i = 0; i < dimensions; ++i) score += w[i] * x[i];
    const double along = score - c;
    if (along * label > 0.0) continue;
    ++compared;
    const double x2 = square_of(x) + 1.0;
    const double v2 = square_of(w) + c * c;
    const double below = x2 * v2 - along * along;
    const double scale = (x2 * v2 - label * along) / below;
    const double step = v2 * (label - along) / below;
    std::vector<double> thresholds = {c};
    const auto taken = romma_step({score, square_of(x), v2, rank}, thresholds);
    REQUIRE(taken.has_value());
    CHECK(taken->scale == Approx(scale));
    CHECK(taken->step == Approx(step));
    CHECK(thresholds[0] == Approx(scale * c - step));
  }
}

TEST_CASE("The steps of ROMMA solve the quadratic programs of their definition", "[fusion][online]") {
  Random random(29);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t dimensions = 1 + random.below(4);
    const int ranks = 2 + static_cast<int>(random.below(4));
    const double slack = trial % 2 == 0 ? 1.0 : 0.3;
    const StepRule rule = trial % 3 == 0 ? StepRule::aggressive_romma : StepRule::romma;
    PrankBank bank({1, dimensions, ranks, 1.0, 1, {rule, slack}});
    LongRule slow{dimensions, static_cast<std::size_t>(ranks - 1),
                  std::vector<double>(dimensions + static_cast<std::size_t>(ranks - 1), 0.0)};
    for (std::uint64_t t = 0; t < 12; ++t) {
      const auto x = random_row(random, dimensions);
      const int rank = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
      double score = 0.0;
      for (std::size_t i = 0; i < dimensions; ++i) score += slow.v[i] * x[i];
      const std::span<const double> cuts(slow.v.data() + dimensions, slow.thresholds);
      const bool is_right = rank_of(score, cuts) == rank;
      const bool moves =
          !is_right || (rule == StepRule::aggressive_romma && is_within_margin(score, cuts, rank));
      const auto prediction = learn_one(bank, x, rank, t);
      REQUIRE(prediction.score == Approx(score).epsilon(1e-4).margin(1e-4));
      if (moves) slow_romma_step(slow, x, rank, slack);
      for (std::size_t i = 0; i < dimensions; ++i)
        REQUIRE(bank.weights(0)[i] == Approx(slow.v[i]).epsilon(1e-4).margin(1e-4));
      for (std::size_t r = 0; r < slow.thresholds; ++r)
        REQUIRE(bank.thresholds(0)[r] == Approx(slow.v[dimensions + r]).epsilon(1e-4).margin(1e-4));
      double own = 0.0;
      for (std::size_t i = dimensions + slow.thresholds; i < slow.v.size(); ++i) own += slow.v[i] * slow.v[i];
      REQUIRE(bank.state().slack_squares[0] == Approx(own).epsilon(1e-3).margin(1e-4));
    }
  }
}

TEST_CASE("After a step the example has its margin and v . v_t >= ||v_t||^2", "[fusion][online]") {
  Random random(37);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t cuts = 1 + random.below(12);
    std::vector<double> before = random_row(random, cuts);
    for (double& cut : before) cut *= std::pow(10.0, 6.0 * random.uniform() - 3.0);
    std::sort(before.begin(), before.end());
    const auto w = random_row(random, 4);
    const auto x = random_row(random, 4);
    const int rank = 1 + static_cast<int>(random.below(cuts + 1));
    const double slack = 0.1;
    const double own = random.uniform();
    double score = 0.0;
    for (std::size_t i = 0; i < 4; ++i) score += w[i] * x[i];
    const double old_square = square_of(w) + square_of(before) + own;
    std::vector<double> after = before;
    const auto step = romma_step({score, square_of(x) + slack, old_square, rank}, after);
    REQUIRE(step.has_value());
    REQUIRE(std::is_sorted(after.begin(), after.end()));
    const double new_score = step->scale * score + step->step * (square_of(x) + slack);
    const double tolerance = 1e-8 * (1.0 + std::abs(new_score));
    for (std::size_t r = 0; r < cuts; ++r) {
      const double label = rank <= static_cast<int>(r) + 1 ? -1.0 : 1.0;
      REQUIRE((new_score - after[r]) * label >= 1.0 - tolerance);
    }
    double product = step->scale * (square_of(w) + own) + step->step * score;
    for (std::size_t r = 0; r < cuts; ++r) product += after[r] * before[r];
    REQUIRE(product >= old_square * (1.0 - 1e-8));
  }
}

TEST_CASE("ROMMA's mistakes on a separable stream stay below its bound", "[fusion][online]") {
  // Each step adds at least 1 / (R^2 + 1) to the squared length of the rule, which is never longer than
  // 1 / gamma: at most (R^2 + 1) / gamma^2 mistakes, whatever k is.
  Random random(43);
  for (int trial = 0; trial < 20; ++trial) {
    const int ranks = 2 + static_cast<int>(random.below(4));
    const std::size_t dimensions = 2 + random.below(4);
    std::vector<double> w = random_row(random, dimensions);
    std::vector<double> c = random_row(random, static_cast<std::size_t>(ranks - 1));
    std::sort(c.begin(), c.end());
    const double norm = std::sqrt(square_of(w) + square_of(c));
    for (double& value : w) value /= norm;
    for (double& value : c) value /= norm;
    const StepRule rule = trial % 2 == 0 ? StepRule::romma : StepRule::aggressive_romma;
    PrankBank bank({1, dimensions, ranks, 1.0, 1, {rule, 1e-9}});
    double gamma = 1e9;
    double radius2 = 0.0;
    std::uint64_t mistakes = 0;
    for (std::uint64_t t = 0; t < 2000;) {
      const auto x = random_row(random, dimensions);
      double score = 0.0;
      for (std::size_t i = 0; i < dimensions; ++i) score += w[i] * x[i];
      double margin = 1e9;
      for (const double cut : c) margin = std::min(margin, std::abs(score - cut));
      if (margin < 0.05) continue;
      gamma = std::min(gamma, margin);
      radius2 = std::max(radius2, square_of(x));
      const int rank = rank_of(score, c);
      if (learn_one(bank, x, rank, t).point != rank) ++mistakes;
      ++t;
    }
    CHECK(mistakes > 0);
    CHECK(static_cast<double>(mistakes) <= (radius2 + 1.0) / (gamma * gamma));
    CHECK(square_of({bank.weights(0).begin(), bank.weights(0).end()}) <= 1.001 / (gamma * gamma));
  }
}

TEST_CASE("ROMMA's rules stay finite and ordered with contradictions and extreme numbers",
          "[fusion][online]") {
  Random random(47);
  for (const double size : {1e-150, 1e-3, 1.0, 1e6, 1e150}) {
    PrankBank bank({3, 2, 5, 0.7, 3, {StepRule::aggressive_romma, 1e-6}});
    for (std::uint64_t t = 0; t < 400; ++t) {
      const std::vector<double> x = {size * static_cast<double>(random.below(2)),
                                     size * static_cast<double>(random.below(2))};
      learn_one(bank, x, 1 + static_cast<int>(random.below(5)), t);
    }
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(std::is_sorted(bank.thresholds(j).begin(), bank.thresholds(j).end()));
      for (const double weight : bank.weights(j)) CHECK(std::isfinite(weight));
      for (const double cut : bank.thresholds(j)) CHECK(std::isfinite(cut));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < 3; ++j) sum += bank.weights(j)[i];
      CHECK(bank.state().weight_sums[i] == Approx(sum).margin(1e-9 * std::abs(sum) + 1e-9));
    }
  }
}
