#include "fusion/model/online/prank_bank.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/support/slow_oap.h"

using metafuse::Random;
using metafuse::fusion::online::BankPrediction;
using metafuse::fusion::online::PrankBank;
using metafuse::test::SlowOap;

namespace {

struct RowStream {
  std::size_t dimensions = 0;
  std::vector<std::vector<double>> x;
  std::vector<int> y;
};

/// Small whole numbers, so that every sum is exact in any order.
RowStream random_stream(Random& random, std::size_t examples, std::size_t dimensions, int ranks) {
  RowStream stream{dimensions, {}, {}};
  for (std::size_t t = 0; t < examples; ++t) {
    std::vector<double> row(dimensions);
    for (double& value : row) value = static_cast<double>(random.below(9)) - 4.0;
    stream.x.push_back(row);
    stream.y.push_back(1 + static_cast<int>(random.below(static_cast<std::uint64_t>(ranks))));
  }
  return stream;
}

std::vector<double> padded_rows(const RowStream& stream, std::size_t stride) {
  std::vector<double> rows(stream.x.size() * stride, 0.0);
  for (std::size_t t = 0; t < stream.x.size(); ++t)
    std::copy(stream.x[t].begin(), stream.x[t].end(), rows.begin() + static_cast<std::ptrdiff_t>(t * stride));
  return rows;
}

std::vector<BankPrediction> run(PrankBank& bank, const RowStream& stream, unsigned threads) {
  const auto rows = padded_rows(stream, bank.stride());
  std::vector<BankPrediction> predictions(stream.y.size());
  bank.learn({rows.data(), stream.y, 0}, threads, predictions);
  return predictions;
}

}  // namespace

TEST_CASE("PRank makes the steps of a worked example", "[fusion][online]") {
  // k = 3. Start: w = 0, c = (0, 0), score 0 >= c(1), c(2): rank 3.
  // (x = 2, y = 1): labels -1, -1; both wrong, so w = -2 * 2 = -4, c = (1, 1).
  // (x = -1, y = 2): score 4 >= 1, 1: rank 3; label of r = 1 is +1 and right, of r = 2 is -1 and wrong:
  //   w = -4 + 1 = -3, c = (1, 2).
  // (x = -0.5, y = 2): score 1.5, rank 2: right, nothing moves.
  PrankBank bank({1, 1, 3, 1.0, 1});
  const RowStream stream{1, {{2.0}, {-1.0}, {-0.5}}, {1, 2, 2}};
  const auto predictions = run(bank, stream, 1);
  CHECK(predictions[0].point == 3);
  CHECK(predictions[1].point == 3);
  CHECK(predictions[2].point == 2);
  CHECK(predictions[2].score == 1.5);
  CHECK(bank.weights(0)[0] == -3.0);
  CHECK(bank.thresholds(0)[0] == 1.0);
  CHECK(bank.thresholds(0)[1] == 2.0);
  CHECK(bank.state().correct[0] == 1);
}

TEST_CASE("A bank of PRanks equals a literal implementation of the algorithm", "[fusion][online]") {
  Random random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t rankers = 1 + random.below(12);
    const std::size_t dimensions = 1 + random.below(19);
    const int ranks = 2 + static_cast<int>(random.below(5));
    const double tau = trial % 3 == 0 ? 1.0 : 0.25 + 0.5 * random.uniform();
    const RowStream stream = random_stream(random, 300, dimensions, ranks);
    PrankBank bank({rankers, dimensions, ranks, tau, 77});
    const auto predictions = run(bank, stream, 1);
    SlowOap slow(rankers, dimensions, ranks, tau, 77);
    for (std::size_t t = 0; t < stream.y.size(); ++t) {
      REQUIRE(predictions[t].bagged == Approx(slow.bagged(stream.x[t])).epsilon(1e-12));
      REQUIRE(predictions[t].voted == Approx(slow.voted(stream.x[t])).epsilon(1e-12));
      REQUIRE(predictions[t].score == Approx(SlowOap::score(slow.mean(), stream.x[t])).margin(1e-9));
      slow.learn(stream.x[t], stream.y[t]);
    }
    for (std::size_t j = 0; j < rankers; ++j) {
      REQUIRE(
          std::equal(slow.rules[j].weights.begin(), slow.rules[j].weights.end(), bank.weights(j).begin()));
      REQUIRE(std::equal(slow.rules[j].cuts.begin(), slow.rules[j].cuts.end(), bank.thresholds(j).begin()));
      REQUIRE(bank.state().correct[j] == slow.rules[j].right);
    }
  }
}

TEST_CASE("The sums of weights and thresholds are those over all PRanks after each step",
          "[fusion][online]") {
  Random random(5);
  const RowStream stream = random_stream(random, 200, 7, 4);
  PrankBank bank({9, 7, 4, 0.4, 3, {}, false});
  PrankBank restored = bank;
  const auto rows = padded_rows(stream, bank.stride());
  for (std::size_t t = 0; t < stream.y.size(); ++t) {
    BankPrediction prediction;
    bank.learn({rows.data() + t * bank.stride(), {&stream.y[t], 1}, t}, 1, {&prediction, 1});
    for (std::size_t i = 0; i < 7; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < 9; ++j) sum += bank.weights(j)[i];
      REQUIRE(bank.state().weight_sums[i] == sum);
    }
    restored.restore(bank.state());  // adds up the thresholds
    REQUIRE(restored == bank);
  }
}

TEST_CASE("Thresholds stay ordered for any stream", "[fusion][online]") {
  Random random(23);
  for (int trial = 0; trial < 40; ++trial) {
    const int ranks = 2 + static_cast<int>(random.below(7));
    PrankBank bank({5, 3, ranks, 0.5, static_cast<std::uint64_t>(trial)});
    const RowStream stream = random_stream(random, 50, 3, ranks);
    run(bank, stream, 1);
    for (std::size_t j = 0; j < 5; ++j)
      REQUIRE(std::is_sorted(bank.thresholds(j).begin(), bank.thresholds(j).end()));
  }
}

TEST_CASE("PRank's summed rank loss on a separable stream stays below its bound", "[fusion][online]") {
  // Crammer, Singer 2002: sum |y_hat - y| <= (k - 1)(R^2 + 1) / gamma^2 for ||(w*, c*)|| = 1.
  Random random(31);
  for (int trial = 0; trial < 20; ++trial) {
    const int ranks = 2 + static_cast<int>(random.below(4));
    const std::size_t dimensions = 2 + random.below(4);
    std::vector<double> w(dimensions);
    std::vector<double> c(static_cast<std::size_t>(ranks - 1));
    for (double& value : w) value = random.normal();
    for (double& value : c) value = random.normal();
    std::sort(c.begin(), c.end());
    double norm = 0.0;
    for (const double value : w) norm += value * value;
    for (const double value : c) norm += value * value;
    for (double& value : w) value /= std::sqrt(norm);
    for (double& value : c) value /= std::sqrt(norm);
    RowStream stream{dimensions, {}, {}};
    double gamma = 1e9;
    double radius2 = 0.0;
    while (stream.y.size() < 2000) {
      std::vector<double> x(dimensions);
      for (double& value : x) value = random.normal();
      const double score = SlowOap::score({w, c, 0}, x);
      double margin = 1e9;
      for (const double cut : c) margin = std::min(margin, std::abs(score - cut));
      if (margin < 0.05) continue;
      gamma = std::min(gamma, margin);
      double square = 0.0;
      for (const double value : x) square += value * value;
      radius2 = std::max(radius2, square);
      stream.x.push_back(x);
      stream.y.push_back(metafuse::fusion::online::rank_of(score, c));
    }
    PrankBank bank({1, dimensions, ranks, 1.0, 1});
    const auto predictions = run(bank, stream, 1);
    double loss = 0.0;
    for (std::size_t t = 0; t < predictions.size(); ++t) loss += std::abs(predictions[t].point - stream.y[t]);
    CHECK(loss > 0.0);
    CHECK(loss <= (ranks - 1) * (radius2 + 1.0) / (gamma * gamma));
  }
}

TEST_CASE("Any number of threads and any division of the stream give the same bytes", "[fusion][online]") {
  Random random(41);
  RowStream stream = random_stream(random, 700, 10, 5);
  for (auto& row : stream.x)
    for (double& value : row) value *= 0.1234567;
  PrankBank one({13, 10, 5, 0.3, 9});
  const auto expected = run(one, stream, 1);
  for (const unsigned threads : {2U, 3U, 8U, 40U}) {
    PrankBank many({13, 10, 5, 0.3, 9});
    CHECK(run(many, stream, threads) == expected);
    CHECK(many == one);
  }
  PrankBank pieces({13, 10, 5, 0.3, 9});
  const auto rows = padded_rows(stream, pieces.stride());
  std::vector<BankPrediction> predictions(stream.y.size());
  for (std::size_t begin = 0; begin < stream.y.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random.below(90), stream.y.size() - begin);
    pieces.learn({rows.data() + begin * pieces.stride(), std::span(stream.y).subspan(begin, count), begin}, 2,
                 std::span(predictions).subspan(begin, count));
    begin += count;
  }
  CHECK(predictions == expected);
  CHECK(pieces == one);
}
