#include "lab/learners/adaboost_mh/boost.h"

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/support/slow_adaboost_mh.h"

using metafuse::Random;
using metafuse::test::SlowAdaBoostMh;
using namespace metafuse::fusion;
using namespace metafuse::lab::adaboost_mh;

namespace {

struct Data {
  std::vector<std::vector<double>> rows;
  std::vector<int> classes;
  FeatureMatrix matrix;
};

Data drawn_data(Random& random, std::size_t documents, std::size_t features, std::size_t classes) {
  Data data;
  data.matrix = FeatureMatrix(std::vector<Feature>(features), documents);
  for (std::size_t d = 0; d < documents; ++d) {
    std::vector<double> row(features, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t f = 0; f < features; ++f)
      if (random.uniform() < 0.85) {
        row[f] = static_cast<double>(random.below(7));
        data.matrix.set(d, f, row[f]);
      }
    data.rows.push_back(row);
    data.classes.push_back(static_cast<int>(random.below(classes)));
  }
  return data;
}

double threshold_of(const CutTable& table, const Cut& cut) {
  return table.cuts[cut.feature][cut.index];
}

}  // namespace

TEST_CASE("Initial weights follow the grades and sum to one", "[fusion][adaboost_mh]") {
  Problem problem;
  problem.classes = {0, 2};
  problem.class_count = 3;
  const SignedWeights weights = initial_weights(problem);
  // 2^0 and 2^2: document 0 has 2 of 10 (own label 1, others 1/2 each), document 1 has 8.
  CHECK(weights.of(0)[0] == Approx(0.1));
  CHECK(weights.of(0)[1] == Approx(-0.05));
  CHECK(weights.of(1)[2] == Approx(0.4));
  CHECK(weights.of(1)[0] == Approx(-0.2));
}

TEST_CASE("Stumps and products equal an exhaustive search over all cuts", "[fusion][adaboost_mh]") {
  Random random(101);
  for (int trial = 0; trial < 40; ++trial) {
    const std::size_t k = 2 + random.below(4);
    const Data data = drawn_data(random, 12 + random.below(25), 1 + random.below(4), k);
    const CodedFeatures coded(data.matrix, ThresholdOptions{});
    const CutTable table = cut_table(coded);
    const std::size_t terms = 1 + random.below(3);
    const BoostRun run =
        metafuse::lab::adaboost_mh::boost({&coded, data.classes, k}, {BaseKind::product, terms}, 6);
    SlowAdaBoostMh slow(data.rows, data.classes, k);
    for (std::size_t t = 0; t < run.rounds.size(); ++t) {
      const auto expected = slow.product_round(terms);
      INFO("trial " << trial << " round " << t);
      REQUIRE(run.rounds[t].edge == Approx(expected.edge).epsilon(1e-9));
      REQUIRE(run.rounds[t].alpha == Approx(expected.alpha).epsilon(1e-7));
      REQUIRE(run.rounds[t].z == Approx(expected.z).epsilon(1e-9));
      const auto& cuts = run.classifier.rounds[t].base.terms;
      REQUIRE(cuts.size() == expected.cuts.size());
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        REQUIRE(cuts[i].feature == expected.cuts[i].feature);
        REQUIRE(threshold_of(table, cuts[i]) == expected.cuts[i].threshold);
      }
    }
  }
}

TEST_CASE("Trees equal an exhaustive search over all cuts", "[fusion][adaboost_mh]") {
  Random random(103);
  for (int trial = 0; trial < 30; ++trial) {
    const std::size_t k = 2 + random.below(3);
    const Data data = drawn_data(random, 12 + random.below(25), 1 + random.below(4), k);
    const CodedFeatures coded(data.matrix, ThresholdOptions{});
    const std::size_t leaves = 2 + random.below(6);
    const BoostRun run =
        metafuse::lab::adaboost_mh::boost({&coded, data.classes, k}, {BaseKind::tree, leaves}, 4);
    SlowAdaBoostMh slow(data.rows, data.classes, k);
    for (std::size_t t = 0; t < run.rounds.size(); ++t) {
      const auto expected = slow.tree_round(leaves);
      INFO("trial " << trial << " round " << t);
      REQUIRE(run.rounds[t].edge == Approx(expected.edge).epsilon(1e-9));
      REQUIRE(run.rounds[t].z == Approx(expected.z).epsilon(1e-9));
    }
  }
}

TEST_CASE("The product of z bounds the weighted training error", "[fusion][adaboost_mh]") {
  // Schapire, Singer 1999, theorem 1, with the initial weights as the distribution.
  Random random(107);
  const Data data = drawn_data(random, 60, 5, 3);
  const CodedFeatures coded(data.matrix, ThresholdOptions{});
  const Problem problem{&coded, data.classes, 3};
  const CodedRows rows(data.matrix, cut_table(coded));
  const SignedWeights start = initial_weights(problem);
  for (const BaseSetting setting : {BaseSetting{BaseKind::tree, 5}, BaseSetting{BaseKind::product, 3}}) {
    const BoostRun run = metafuse::lab::adaboost_mh::boost(problem, setting, 30);
    double bound = 1.0;
    for (std::size_t t = 0; t < run.rounds.size(); ++t) {
      CHECK(run.rounds[t].z ==
            Approx(std::sqrt(1.0 - run.rounds[t].edge * run.rounds[t].edge)).epsilon(1e-9));
      bound *= run.rounds[t].z;
      const std::vector<std::size_t> counts = {t + 1};
      const auto votes = run.classifier.votes(rows, counts)[0];
      double error = 0.0;
      for (std::size_t d = 0; d < data.classes.size(); ++d)
        for (std::size_t l = 0; l < 3; ++l)
          if (votes[d * 3 + l] * start.of(d)[l] <= 0.0) error += std::abs(start.of(d)[l]);
      REQUIRE(error <= bound + 1e-9);
    }
  }
}

TEST_CASE("The votes of the first rounds equal those of training only that many rounds",
          "[fusion][adaboost_mh]") {
  Random random(109);
  const Data data = drawn_data(random, 50, 4, 3);
  const CodedFeatures coded(data.matrix, ThresholdOptions{});
  const CodedRows rows(data.matrix, cut_table(coded));
  const BoostRun whole =
      metafuse::lab::adaboost_mh::boost({&coded, data.classes, 3}, {BaseKind::tree, 4}, 20);
  const std::vector<std::size_t> counts = {1, 7, 20, 99};
  const auto votes = whole.classifier.votes(rows, counts);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const BoostRun part = metafuse::lab::adaboost_mh::boost({&coded, data.classes, 3}, {BaseKind::tree, 4},
                                                            counts[i] < 99 ? counts[i] : 20);
    const std::vector<std::size_t> all = {counts[i]};
    CHECK(part.classifier.votes(rows, all)[0] == votes[i]);
    for (const double vote : votes[i]) CHECK(std::abs(vote) <= 1.0 + 1e-12);
  }
}

TEST_CASE("A parity that no stump can learn is learned by a product of two", "[fusion][adaboost_mh]") {
  // Three documents in one corner, so that the first stump has an edge.
  const std::vector<std::pair<double, double>> corners = {{0, 0}, {0, 0}, {0, 0}, {0, 1},
                                                          {0, 1}, {1, 0}, {1, 0}, {1, 1}};
  FeatureMatrix matrix(std::vector<Feature>(2), corners.size());
  std::vector<int> classes;
  for (std::size_t d = 0; d < corners.size(); ++d) {
    matrix.set(d, 0, corners[d].first);
    matrix.set(d, 1, corners[d].second);
    classes.push_back(corners[d].first == corners[d].second ? 0 : 1);
  }
  const CodedFeatures coded(matrix, ThresholdOptions{});
  const BoostRun run = metafuse::lab::adaboost_mh::boost({&coded, classes, 2}, {BaseKind::product, 2}, 50);
  CHECK(run.rounds.back().hamming_loss == 0.0);
  const BoostRun stumps = metafuse::lab::adaboost_mh::boost({&coded, classes, 2}, {BaseKind::product, 1}, 50);
  CHECK(stumps.rounds.back().hamming_loss > 0.0);
}

TEST_CASE("The classifier is the same for any number of threads", "[fusion][adaboost_mh]") {
  Random random(7);
  // Enough documents for the histograms to be divided among threads.
  const Data data = drawn_data(random, 20'000, 14, 3);
  const CodedFeatures coded(data.matrix, ThresholdOptions{});
  for (const BaseSetting& setting : {BaseSetting{BaseKind::tree, 4}, BaseSetting{BaseKind::product, 3}}) {
    const BoostRun one = metafuse::lab::adaboost_mh::boost({&coded, data.classes, 3, 1}, setting, 3);
    const BoostRun three = metafuse::lab::adaboost_mh::boost({&coded, data.classes, 3, 3}, setting, 3);
    CHECK(one.classifier == three.classifier);
    CHECK(one.rounds.back().z == three.rounds.back().z);
  }
}

TEST_CASE("A document that is left out has no influence", "[fusion][adaboost_mh]") {
  Random random(11);
  for (const BaseSetting& setting : {BaseSetting{BaseKind::tree, 6}, BaseSetting{BaseKind::product, 3}}) {
    const Data data = drawn_data(random, 60, 3, 3);
    const CodedFeatures coded(data.matrix, ThresholdOptions{});
    std::vector<std::uint8_t> left_out(60, 0);
    for (std::size_t d = 0; d < 60; d += 3) left_out[d] = 1;
    const BoostRun run =
        metafuse::lab::adaboost_mh::boost({&coded, data.classes, 3, 1, left_out}, setting, 8);
    Data other = data;
    for (std::size_t d = 0; d < 60; d += 3) other.classes[d] = (other.classes[d] + 1) % 3;
    const BoostRun same =
        metafuse::lab::adaboost_mh::boost({&coded, other.classes, 3, 1, left_out}, setting, 8);
    CHECK(run.classifier == same.classifier);
    CHECK(run.rounds.back().hamming_loss == same.rounds.back().hamming_loss);
    CHECK_FALSE(run.classifier ==
                metafuse::lab::adaboost_mh::boost({&coded, data.classes, 3}, setting, 8).classifier);
  }
}
