#include "fusion/learners/monotone_trees/boost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/random_training_set.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::fusion::monotone_trees;

namespace {

FeatureMatrix matrix_of(const std::vector<std::vector<double>>& rows, FeatureKind kind) {
  std::vector<Feature> features(rows[0].size(), Feature{"", kind, 0});
  for (std::size_t f = 0; f < features.size(); ++f) features[f].name = "f" + std::to_string(f);
  FeatureMatrix matrix(features, rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t f = 0; f < features.size(); ++f)
      if (!std::isnan(rows[i][f])) matrix.set(i, f, rows[i][f]);
  return matrix;
}

Pushes whole_of(const std::vector<Push>& pushes) {
  Pushes whole{std::vector<WholePush>(pushes.size()), {}};
  whole.total = round_pushes(pushes, whole.of_document);
  return whole;
}

struct Growth {
  Tree tree;
  std::vector<double> steps;
};

Growth grow(const FeatureMatrix& matrix, const std::vector<Push>& pushes, std::size_t depth) {
  const CodedFeatures features(matrix, {255});
  std::vector<FeatureKind> kinds;
  std::vector<std::uint32_t> askable;
  for (const Feature& feature : matrix.features()) {
    askable.push_back(static_cast<std::uint32_t>(askable.size()));
    kinds.push_back(feature.kind);
  }
  std::vector<std::size_t> rows(pushes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  Growth growth;
  growth.steps.resize(rows.size());
  const GrowData data(features, kinds, rows);
  growth.tree = grow_tree({data, whole_of(pushes), askable, depth}, growth.steps);
  return growth;
}

std::vector<Push> random_pushes(std::size_t count, Random& random) {
  std::vector<Push> pushes(count);
  double sum = 0.0;
  for (Push& push : pushes) {
    push = {random.normal() / static_cast<double>(count),
            (0.1 + random.uniform()) / static_cast<double>(count)};
    sum += push.potential;
  }
  for (Push& push : pushes) push.potential -= sum / static_cast<double>(count);
  return pushes;
}

}  // namespace

TEST_CASE("A tree with one question takes Newton's step on both sides", "[fusion][monotone_trees]") {
  const double none = std::nan("");
  // Ranks 1, 2, 5, 9 and unranked. The potentials sum to 3 up to rank 2 and to -3 below; no other cut is
  // better: "rank <= 1" gives 2^2/1 + 2^2/4, "rank <= 2" 3^2/2 + 3^2/3, "rank <= 5" 2^2/3 + 2^2/2.
  const FeatureMatrix matrix = matrix_of({{-1}, {-2}, {-5}, {-9}, {none}}, FeatureKind::rank);
  const Growth growth = grow(matrix, {{2, 1}, {1, 1}, {-1, 1}, {-1, 1}, {-1, 1}}, 1);
  REQUIRE(growth.tree.size() == 3);
  CHECK(growth.tree[0].feature == 0);
  CHECK(growth.tree[0].threshold == -3.0);  // rank <= 2, so rank 3 is on the same side as 5
  // A 10,000th of the total curvature of 5 is added to each side.
  CHECK(growth.tree[2].value == Approx(3.0 / 2.0005));
  CHECK(growth.tree[1].value == Approx(-3.0 / 3.0005));
  for (const std::size_t i : {0, 1}) CHECK(growth.steps[i] == growth.tree[2].value);
  for (const std::size_t i : {2, 3, 4}) CHECK(growth.steps[i] == growth.tree[1].value);
}

TEST_CASE("Questions that lower the loss only by reversing ranks are not asked", "[fusion][monotone_trees]") {
  const FeatureMatrix matrix = matrix_of({{1}, {2}, {3}}, FeatureKind::value);
  const Growth growth = grow(matrix, {{2, 1}, {0, 1}, {-2, 1}}, 3);
  REQUIRE(growth.tree.size() == 1);
  CHECK(growth.tree[0].is_leaf());
}

TEST_CASE("Every tree is monotone and each document gets the value of its leaf", "[fusion][monotone_trees]") {
  Random random(5);
  std::size_t questions = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::vector<double>> rows(2 + random.below(40), std::vector<double>(1 + random.below(4)));
    for (auto& row : rows)
      for (double& cell : row)
        cell = random.below(4) == 0 ? std::nan("") : static_cast<double>(random.below(12));
    const FeatureMatrix matrix = matrix_of(rows, FeatureKind::value);
    const Growth growth = grow(matrix, random_pushes(rows.size(), random), 1 + random.below(5));
    CHECK(is_monotone(growth.tree));
    questions += growth.tree.size() / 2;
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(value_of(growth.tree, rows[i]) == growth.steps[i]);
  }
  CHECK(questions > 500);
}

TEST_CASE("The first question is the best of all monotone questions", "[fusion][monotone_trees]") {
  Random random(6);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::vector<double>> rows(2 + random.below(20), std::vector<double>(1 + random.below(3)));
    for (auto& row : rows)
      for (double& cell : row)
        cell = random.below(4) == 0 ? std::nan("") : static_cast<double>(random.below(6));
    const auto pushes = random_pushes(rows.size(), random);
    double calm = 0.0;
    for (const Push& push : pushes) calm += 1e-4 * push.curvature;
    const auto gain_above = [&](std::size_t f, double threshold) {
      Push low{0, calm}, high{0, calm};
      for (std::size_t i = 0; i < rows.size(); ++i) {
        Push& side = rows[i][f] > threshold ? high : low;
        side.potential += pushes[i].potential;
        side.curvature += pushes[i].curvature;
      }
      if (low.curvature == calm || high.curvature == calm) return 0.0;
      if (low.potential / low.curvature > high.potential / high.curvature) return 0.0;
      return low.potential * low.potential / low.curvature + high.potential * high.potential / high.curvature;
    };
    double best = 0.0;
    for (std::size_t f = 0; f < rows[0].size(); ++f)
      for (double threshold = -1.0; threshold < 6.0; threshold += 1.0)
        best = std::max(best, gain_above(f, threshold));
    const Growth growth = grow(matrix_of(rows, FeatureKind::value), pushes, 1);
    if (growth.tree.size() == 1)
      CHECK(best < 1e-12);
    else
      CHECK(gain_above(growth.tree[0].feature, growth.tree[0].threshold) == Approx(best));
  }
}

TEST_CASE("Each side of a question is asked the question that is best for its own documents",
          "[fusion][monotone_trees]") {
  // The first three documents differ from the others in f0. Among the others only f1 tells something, and
  // among the three only f2, which would be the best question for all eight together once f0 is answered.
  const FeatureMatrix matrix =
      matrix_of({{1, 0, 1}, {1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 1, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
                FeatureKind::value);
  const double bad = -8.0 / 3.0;
  const Growth growth =
      grow(matrix, {{4, 1}, {2, 1}, {2, 1}, {0, 1}, {0, 1}, {bad, 1}, {bad, 1}, {bad, 1}}, 2);
  REQUIRE(growth.tree.size() == 7);
  CHECK(growth.tree[0].feature == 0);
  CHECK(growth.tree[1].feature == 1);  // the side with more documents, whose sums are the rest of the whole
  CHECK(growth.tree[2].feature == 2);
  CHECK(growth.steps[3] == Approx(0.0).margin(0.01));
  CHECK(growth.steps[5] == Approx(bad).margin(0.01));
}

TEST_CASE("Sampled pairs have on average the same gradient as all pairs of a query",
          "[fusion][monotone_trees]") {
  Random random(7);
  for (int trial = 0; trial < 20; ++trial) {
    TrainingSet set = test::random_training_set(random);
    set.feedback.is_bipartite = true;
    const auto feedback = rankboost::make_feedback(set);
    if (!feedback) continue;
    std::vector<std::size_t> queries(feedback->queries.size());
    for (std::size_t q = 0; q < queries.size(); ++q) queries[q] = q;
    const PairSampler sampler(*feedback, queries);
    const std::size_t count = sampler.rows().size();
    const std::vector<double> scores(count, 0.0);
    Pushes pushes;
    std::vector<double> mean(count, 0.0);
    constexpr int kDraws = 4000;
    for (int draw = 0; draw < kDraws; ++draw) {
      sampler.draw(random, scores, pushes);
      double sum = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        const double potential = static_cast<double>(pushes.of_document[i].potential) / kPushScale;
        mean[i] += potential / kDraws;
        sum += potential;
        CHECK(pushes.of_document[i].curvature >= 0);
      }
      CHECK(std::abs(sum) < 1e-12);
    }
    // At equal scores the gradient is half of each pair's weight. With two classes all pairs of a query weigh
    // the same.
    std::size_t at = 0;
    for (const auto& query : feedback->queries) {
      std::size_t members[2] = {0, 0};
      for (std::size_t row = query.begin; row < query.end; ++row)
        if (feedback->classes[row] < 2) ++members[feedback->classes[row]];
      const double pair = feedback->weights[query.table + 1];
      for (std::size_t i = 0; i < members[0] + members[1]; ++i, ++at) {
        const bool is_high = feedback->classes[sampler.rows()[at]] == 1;
        const double exact = 0.5 * pair * static_cast<double>(members[is_high ? 0 : 1]);
        CHECK(mean[at] == Approx(is_high ? exact : -exact).epsilon(0.1));
      }
    }
    CHECK(at == count);
  }
}

namespace {

std::vector<WholePush> slow_sums(const std::vector<std::uint8_t>& codes,
                                 std::span<const std::uint32_t> documents,
                                 const std::vector<WholePush>& pushes) {
  std::vector<WholePush> sums(256);
  for (const std::uint32_t document : documents) sums[codes[document]] += pushes[document];
  return sums;
}

void check_sums(Random& random, std::size_t columns, std::span<const std::uint32_t> documents,
                const std::vector<WholePush>& pushes) {
  std::vector<std::vector<std::uint8_t>> codes(columns, std::vector<std::uint8_t>(pushes.size()));
  for (std::size_t c = 0; c < columns; ++c)
    for (std::uint8_t& code : codes[c]) code = static_cast<std::uint8_t>(random.below(c % 3 == 0 ? 2 : 256));
  std::vector<std::vector<WholePush>> sums(columns, std::vector<WholePush>(256));
  std::vector<PushColumn> summed;
  for (std::size_t c = 0; c < columns; ++c) summed.push_back({codes[c].data(), sums[c]});
  sum_pushes(summed, documents, pushes);
  const auto is_same = [](const WholePush& a, const WholePush& b) {
    return a.potential == b.potential && a.curvature == b.curvature;
  };
  for (std::size_t c = 0; c < columns; ++c)
    REQUIRE(std::ranges::equal(sums[c], slow_sums(codes[c], documents, pushes), is_same));
}

}  // namespace

TEST_CASE("Pushes of all or some documents have the same sums in any number of columns as one at a time",
          "[fusion][monotone_trees]") {
  Random random(8);
  for (const std::size_t count : {1, 7, 8, 9, 300}) {
    const auto [pushes, total] = whole_of(random_pushes(count, random));
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    CHECK(slow_sums(std::vector<std::uint8_t>(count, 0), all, pushes)[0].potential == total.potential);
    for (std::size_t columns = 0; columns < 14; ++columns) {
      check_sums(random, columns, all, pushes);
      check_sums(random, columns, std::span(all).first(random.below(count + 1)), pushes);
    }
  }
}

TEST_CASE("Pairs together push documents as one pair after another", "[fusion][monotone_trees]") {
  Random random(9);
  for (const std::size_t count : {1, 63, 64, 65, 300}) {
    std::vector<DrawnPair> pairs;
    std::vector<double> powers;
    for (std::size_t i = 0; i < count; ++i) {
      const auto high = static_cast<std::uint32_t>(1 + random.below(20));
      pairs.push_back({high, static_cast<std::uint32_t>(random.below(high)), random.uniform()});
      powers.push_back(std::exp(random.normal()));
    }
    std::vector<Push> pushes(21);
    std::vector<Push> slow(21);
    push_pairs(pairs, powers, pushes);
    for (std::size_t i = 0; i < count; ++i) {
      const double wrong = 1.0 / (1.0 + powers[i]);
      slow[pairs[i].high].potential += pairs[i].weight * wrong;
      slow[pairs[i].low].potential -= pairs[i].weight * wrong;
      for (const std::uint32_t document : {pairs[i].high, pairs[i].low})
        slow[document].curvature += 2.0 * pairs[i].weight * wrong * (1.0 - wrong);
    }
    for (std::size_t i = 0; i < slow.size(); ++i) {
      CHECK(pushes[i].potential == slow[i].potential);
      CHECK(pushes[i].curvature == slow[i].curvature);
    }
  }
}
