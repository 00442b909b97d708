#include <cmath>

#include <catch2/catch.hpp>

#include "lab/learners/rankboost_plus/boost.h"
#include "lab/learners/rankboost_plus/pair_distribution.h"
#include "tests/support/rankboost_plus_reference.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::lab::rankboost_plus;
using namespace metafuse::fusion::test;

namespace {

constexpr double kNoEpsilon = 0.0;

PairRows worked_rows_of(const TrainingSet& set) {
  auto rows = pair_rows(set, 1000000);
  REQUIRE(rows.has_value());
  return *rows;
}

std::vector<std::uint8_t> bytes(const std::vector<int>& ranking) {
  return {ranking.begin(), ranking.end()};
}

StumpTable table_of(const TrainingSet& set) {
  return StumpTable(CodedFeatures(set.matrix, ThresholdOptions{}), 255, Random(1));
}

/// The subsets of {a,b,c} as bits. Each set makes a pair with every proper superset, which is ranked higher.
TrainingSet subset_order(const BinaryRankings& rankings) {
  std::vector<ReferencePair> pairs;
  for (unsigned x = 0; x < 8; ++x)
    for (unsigned y = 0; y < 8; ++y)
      if (x != y && (x & y) == x) pairs.push_back({x, y, 1.0});
  return paired_set(rankings, 8, pairs);
}

double scaled_e1(const Edges& edges, double alpha) {
  return z_rankboost(edges, alpha);
}

/// All pairs (a_i, b_j) with a above b: documents 0..count-1 are the a_i, the others the b_j.
TrainingSet two_groups(const BinaryRankings& rankings, std::size_t count) {
  std::vector<double> grades(2 * count, 0.0);
  std::fill_n(grades.begin(), count, 1.0);
  return binary_set(rankings, grades);
}

}  // namespace

// Connamacher et al. 2020, proof of proposition 1. a=1, b=2, c=4: h1 fires for {a,b}=3; h2 for the empty set,
// {a,c}=5 and {a,b,c}=7. 19 pairs: h1 orders 3, reverses 1, ties 15; h2 7, 5, 7. So R1 = 16/19 and 12/19, and
// E1(h1) = (3/e + e + 15)/19 = .990627.
TEST_CASE("RankBoost+ reproduces the losses of proposition 1", "[fusion][rankboost_plus]") {
  const BinaryRankings rankings = {{0, 0, 0, 1, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 1, 0, 1}};
  const PairRows pairs = worked_rows_of(subset_order(rankings));
  REQUIRE(pairs.pair_count == 19);
  const PairDistribution uniform(pairs);
  const Edges h1 = uniform.edges(bytes(rankings[0]));
  const Edges h2 = uniform.edges(bytes(rankings[1]));
  CHECK(h1.right * 19 == Approx(3));
  CHECK(h1.reversed * 19 == Approx(1));
  CHECK(h1.tied * 19 == Approx(15));
  CHECK(h2.right * 19 == Approx(7));
  CHECK(h2.reversed * 19 == Approx(5));
  CHECK(h2.tied * 19 == Approx(7));
  const std::vector<double> scores1(rankings[0].begin(), rankings[0].end());
  const std::vector<double> scores2(rankings[1].begin(), rankings[1].end());
  CHECK(rank_losses(pairs, scores1).r1 == Approx(16.0 / 19.0));
  CHECK(rank_losses(pairs, scores2).r1 == Approx(12.0 / 19.0));
  CHECK(rank_losses(pairs, scores1).e1 == Approx(0.990627).margin(5e-7));
  CHECK(rank_losses(pairs, scores2).e1 == Approx(1.21929).margin(5e-6));
  CHECK(scaled_e1(h1, alpha_discrete(h1, kNoEpsilon)) == Approx(0.971795).margin(5e-7));
  CHECK(scaled_e1(h2, alpha_discrete(h2, kNoEpsilon)) == Approx(0.991166).margin(5e-7));
  CHECK(scaled_e1(h1, alpha_continuous(h1, kNoEpsilon)) == Approx(0.990034).margin(5e-7));
  CHECK(scaled_e1(h2, alpha_continuous(h2, kNoEpsilon)) == Approx(0.992386).margin(5e-7));
}

// Proof of lemma 1: a_1..a_{n+1} above b_1..b_{n+1}. h1 fires for a_1..a_n and b_{n+1}; h2 for a_{n+1} only.
// Rb-d takes h1 with weight log n, then h2, which reverses nothing. An infinite weight for h2 leaves R1 =
// n/(n+1) above the bound exp(-1/2 (((n-1)/(n+1))^2 + 1/4)) once n >= 4, that is from 10 documents on.
TEST_CASE("The bound of Rb-d fails with an infinite weight as in lemma 1", "[fusion][rankboost_plus]") {
  for (const std::size_t n : {3U, 4U, 6U, 20U, 60U}) {
    const std::size_t count = n + 1;
    const auto m = static_cast<double>(n);
    BinaryRankings rankings(2, std::vector<int>(2 * count, 0));
    std::fill_n(rankings[0].begin(), n, 1);
    rankings[0][2 * count - 1] = 1;
    rankings[1][n] = 1;
    const TrainingSet set = two_groups(rankings, count);
    const PairRows pairs = worked_rows_of(set);
    BoostOptions options;
    options.form = Form::discrete;
    const BoostRun run = boost_stumps(table_of(set), pairs, options);
    REQUIRE(run.rounds.size() == 1);
    CHECK(run.rounds[0].alpha == Approx(std::log(m)));
    CHECK(run.rounds[0].z == Approx(4.0 * m / ((m + 1.0) * (m + 1.0))));
    CHECK(run.stop_reason.find("undefined") != std::string::npos);
    PairDistribution distribution(pairs);
    distribution.multiply(bytes(rankings[0]), {1.0 / m, m, 1.0});
    const Edges h2 = distribution.edges(bytes(rankings[1]));
    CHECK(h2.right == Approx(0.5));
    CHECK(h2.reversed < 1e-200);
    const std::vector<double> infinite(rankings[1].begin(), rankings[1].end());
    const double r1 = rank_losses(pairs, infinite).r1;
    const double share = (m - 1.0) / (m + 1.0);
    const double bound = run.rounds[0].bound * std::exp(-0.5 * h2.right * h2.right);
    CHECK(bound == Approx(std::exp(-0.5 * (share * share + 0.25))));
    CHECK(r1 == Approx(m / (m + 1.0)));
    CHECK((r1 > bound) == (n >= 4));
  }
}

// Proof of lemma 2: 5n documents a above 5n documents b; h1 fires for the first 4n a, h2 for the other a and
// 4n b. Both get the same large weight K: R1 = E1 = 4/5, but Z1 Z2 = 1/5 * 4/5 and the bound is exp(-17/50).
TEST_CASE("The bound of Rb-d fails with a large weight as in lemma 2 and holds by eq. (49)",
          "[fusion][rankboost_plus]") {
  for (const std::size_t n : {1U, 2U, 5U}) {
    const std::size_t count = 5 * n;
    BinaryRankings rankings(2, std::vector<int>(2 * count, 0));
    for (std::size_t i = 0; i < count; ++i) rankings[i < 4 * n ? 0 : 1][i] = 1;
    std::fill_n(rankings[1].begin() + static_cast<std::ptrdiff_t>(count), 4 * n, 1);
    const PairRows pairs = worked_rows_of(two_groups(rankings, count));
    PairDistribution distribution(pairs);
    const Edges h1 = distribution.edges(bytes(rankings[0]));
    CHECK(h1.right == Approx(4.0 / 5.0));
    CHECK(h1.reversed == 0.0);
    const double z1 = h1.tied;
    distribution.multiply(bytes(rankings[0]), {0.0, 1.0 / z1, 1.0 / z1});
    const Edges h2 = distribution.edges(bytes(rankings[1]));
    const double z2 = h2.tied;
    CHECK(z1 * z2 == Approx(4.0 / 25.0));
    std::vector<double> scores(2 * count);
    for (std::size_t x = 0; x < scores.size(); ++x) scores[x] = 50.0 * (rankings[0][x] + rankings[1][x]);
    CHECK(rank_losses(pairs, scores).r1 == Approx(4.0 / 5.0));
    CHECK(rank_losses(pairs, scores).e1 == Approx(4.0 / 5.0));
    const double bound = std::exp(-0.5 * (h1.right * h1.right + h2.right * h2.right));
    CHECK(bound == Approx(std::exp(-17.0 / 50.0)));

    // Eq. (49): the weights 1/2 ln(epsilon+ / d) as d falls to epsilon-. The d of h1 is chosen and the
    // reversed share of h2 follows from it, so the weight of h1 grows twice as fast and dominates: R1 = 4/25,
    // below the bound.
    for (const double d : {1e-6, 1e-10, 1e-14}) {
      PairDistribution limit(pairs);
      const double alpha1 = 0.5 * std::log(h1.right / d);
      limit.multiply(bytes(rankings[0]), {std::exp(-alpha1), std::exp(alpha1), 1.0});
      const double alpha2 = alpha_discrete(limit.edges(bytes(rankings[1])), kNoEpsilon);
      for (std::size_t x = 0; x < scores.size(); ++x)
        scores[x] = alpha1 * rankings[0][x] + alpha2 * rankings[1][x];
      CHECK(rank_losses(pairs, scores).r1 == Approx(4.0 / 25.0));
      CHECK(rank_losses(pairs, scores).r1 <= bound);
    }
  }
}

// Proof of lemma 3: documents 1 > ... > 6, h1 fires for 1, 2, 3, 6 and h2 for 2. With positive weights only,
// Rb-d ends after .54931 h1 + .57445 h2 at E1 = .888387; the minimum is .88703 at (.46894, .58953), where
// which negative weights reach.
TEST_CASE("Rb-d finds the weights of lemma 3 and with negative weights its minimum",
          "[fusion][rankboost_plus]") {
  const BinaryRankings rankings = {{1, 1, 1, 0, 0, 1}, {0, 1, 0, 0, 0, 0}};
  const TrainingSet set = binary_set(rankings, {6, 5, 4, 3, 2, 1});
  const PairRows pairs = worked_rows_of(set);
  REQUIRE(pairs.pair_count == 15);
  BoostOptions options;
  options.form = Form::discrete;
  options.rounds = 60;
  const BoostRun run = boost_stumps(table_of(set), pairs, options);
  REQUIRE(run.rounds.size() > 2);
  CHECK(run.rounds[0].alpha == Approx(0.54931).margin(5e-6));
  CHECK(run.rounds[1].alpha == Approx(0.57445).margin(5e-6));
  CHECK(run.rounds[1].losses.e1 == Approx(0.888387).margin(5e-7));
  CHECK(run.rounds[2].alpha < 0.0);
  double weights[2] = {0.0, 0.0};
  for (const BoostRound& round : run.rounds) weights[round.stump] += round.alpha;
  CHECK(weights[0] == Approx(0.46894).margin(1e-5));
  CHECK(weights[1] == Approx(0.58953).margin(1e-5));
  CHECK(run.rounds.back().losses.e1 == Approx(0.88703).margin(5e-6));
}

// Corollary 1 and eq. (42): E2(alpha h) = 2 sqrt(R2 (1 - R2)).
TEST_CASE("RankBoost+ orders single weak rankings by R2", "[fusion][rankboost_plus]") {
  for (const double right : {0.3, 0.5, 0.9})
    for (const double reversed : {0.0, 0.02, 0.1}) {
      const Edges edges{right, reversed, 1.0 - right - reversed};
      const double r2 = reversed + 0.5 * edges.tied;
      const double alpha = alpha_plus(edges, 0.0, kNoEpsilon);
      CHECK(z_plus(edges, alpha, 0.0) == Approx(2.0 * std::sqrt(r2 * (1.0 - r2))));
      CHECK(alpha == Approx(alpha_continuous(edges, kNoEpsilon)));
    }
}

TEST_CASE("The closed forms of RankBoost+ stay finite with huge accumulated weights",
          "[fusion][rankboost_plus]") {
  const Edges edges{0.2, 0.1, 0.7};
  for (const double accumulated : {-900.0, -30.0, 0.0, 30.0, 900.0}) {
    const double alpha = alpha_plus(edges, accumulated, 0.01);
    CHECK(std::isfinite(alpha));
    CHECK(std::isfinite(z_plus(edges, alpha, accumulated)));
    CHECK(z_plus(edges, alpha, accumulated) <= 1.0 + 1e-12);
  }
  CHECK(std::isfinite(alpha_plus({1.0, 0.0, 0.0}, 0.0, 0.01)));
}
