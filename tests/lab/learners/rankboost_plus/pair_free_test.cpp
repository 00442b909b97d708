#include <cmath>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "lab/learners/rankboost_plus/boost.h"
#include "tests/support/rankboost_plus_reference.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::lab::rankboost_plus;
using namespace metafuse::fusion::test;

namespace {

struct PairFreeCase {
  TrainingSet set;
  BinaryRankings rankings;
  std::vector<ReferencePair> pairs;
};

PairFreeCase make_pair_free_case(std::uint64_t seed, std::size_t grades) {
  Random random(seed);
  const std::size_t documents = 6 + random.below(8);
  PairFreeCase c;
  std::vector<double> labels;
  for (std::size_t x = 0; x < documents; ++x) labels.push_back(static_cast<double>(random.below(grades)));
  labels[0] = 0.0;
  labels[1] = 1.0;
  for (std::size_t s = 0; s < 4; ++s) {
    c.rankings.emplace_back();
    for (std::size_t x = 0; x < documents; ++x)
      c.rankings.back().push_back(random.uniform() < 0.3 + 0.2 * labels[x] ? 1 : 0);
    c.rankings.back()[0] = 1;  // so that none is constant or separates all pairs
    c.rankings.back()[1] = 0;
  }
  c.set = binary_set(c.rankings, labels);
  c.pairs = reference_pairs(c.set);
  return c;
}

double product_of_cosh(const std::vector<double>& eta) {
  double product = 1.0;
  for (const double weight : eta) product *= std::cosh(weight);
  return product;
}

}  // namespace

// The product of cosh(eta) over the weak rankings that tie a pair is the product over all divided by that
// over those that separate it. So a pair has the weight
// prod cosh(eta) * exp(-(H(above) - H(below))) * prod over the separating s of 1/cosh(eta_s).
// The last factor is the probability that no cut separates the pair if s cuts with probability 1 -
// 1/cosh(eta_s).
TEST_CASE("F2 is the expectation of F1 within the cells of a random partition", "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const PairFreeCase c = make_pair_free_case(seed, 3);
    Random random(seed + 1000);
    std::vector<double> eta;
    for (std::size_t s = 0; s < c.rankings.size(); ++s) eta.push_back(1.5 * random.normal());
    double expectation = 0.0;
    for (unsigned cuts = 0; cuts < 16; ++cuts) {
      double probability = 1.0;
      for (std::size_t s = 0; s < 4; ++s) {
        const double whole = 1.0 / std::cosh(eta[s]);
        probability *= (cuts >> s & 1U) != 0 ? 1.0 - whole : whole;
      }
      std::vector<ReferencePair> together;  // pairs that no cut separates
      for (const ReferencePair& pair : c.pairs) {
        bool is_parted = false;
        for (std::size_t s = 0; s < 4; ++s)
          is_parted =
              is_parted || ((cuts >> s & 1U) != 0 && c.rankings[s][pair.above] != c.rankings[s][pair.below]);
        if (!is_parted) together.push_back(pair);
      }
      expectation += probability * reference_f1(c.rankings, eta, together);
    }
    CHECK(product_of_cosh(eta) * expectation == Approx(reference_f2(c.rankings, eta, c.pairs)));
    CHECK(reference_f1(c.rankings, eta, c.pairs) <= reference_f2(c.rankings, eta, c.pairs) * (1.0 + 1e-12));
  }
}

TEST_CASE("The bound of the pair-free form never rises and is above F2", "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const PairFreeCase c = make_pair_free_case(seed, seed % 2 == 0 ? 2 : 3);
    const auto feedback = rankboost::make_feedback(c.set);
    REQUIRE(feedback.has_value());
    const CodedFeatures coded(c.set.matrix, ThresholdOptions{});
    const StumpTable stumps(coded, 255, Random(1));
    BoostOptions options;
    options.rounds = 400;
    std::vector<double> eta(c.rankings.size(), 0.0);
    double last = 1.0;
    const BoostRun run = boost_pair_free(stumps, coded, *feedback, options, [&](const BoostRound& round) {
      eta[stumps.stumps()[round.stump].feature] += round.alpha;
      const double f1 = reference_f1(c.rankings, eta, c.pairs);
      const double f2 = reference_f2(c.rankings, eta, c.pairs);
      CHECK(round.losses.e1 == Approx(f1).epsilon(1e-6));
      CHECK(round.bound == Approx(f1 * product_of_cosh(eta)).epsilon(1e-6));
      CHECK(f2 <= round.bound * (1.0 + 1e-6));
      CHECK(round.losses.r2 <= f1 + 1e-9);
      CHECK(round.bound <= last * (1.0 + 1e-6));
      last = round.bound;
      return true;
    });
    REQUIRE(!run.rounds.empty());
    if (run.stop_reason.find("rightly") != std::string::npos) continue;
    // At the minimum of log U every slope r - tanh(eta) is 0.
    const double f1 = reference_f1(c.rankings, eta, c.pairs);
    for (std::size_t s = 0; s < c.rankings.size(); ++s) {
      double r = 0.0;
      for (const ReferencePair& pair : c.pairs) {
        double margin = 0.0;
        for (std::size_t t = 0; t < c.rankings.size(); ++t)
          margin += eta[t] * (c.rankings[t][pair.above] - c.rankings[t][pair.below]);
        r += pair.weight * std::exp(-margin) / f1 * (c.rankings[s][pair.above] - c.rankings[s][pair.below]);
      }
      INFO("seed " << seed << " ranking " << s);
      CHECK(std::abs(r - std::tanh(eta[s])) < 1e-3);
    }
  }
}

// One weak ranking, r = 1/3: alpha = 1/4 ln 2, half of Rb-c's 1/2 ln 2.
TEST_CASE("The pair-free form makes half of the first step of Rb-c", "[fusion][rankboost_plus]") {
  const TrainingSet set = binary_set({{1, 1, 0, 1, 0, 0}}, {1, 1, 1, 0, 0, 0});
  const auto feedback = rankboost::make_feedback(set);
  const CodedFeatures coded(set.matrix, ThresholdOptions{});
  BoostOptions options;
  options.rounds = 1;
  const BoostRun run = boost_pair_free(StumpTable(coded, 255, Random(1)), coded, *feedback, options);
  REQUIRE(run.rounds.size() == 1);
  CHECK(run.rounds[0].alpha == Approx(0.25 * std::log(2.0)));
  CHECK(run.rounds[0].delta == Approx(-1.0 / 3.0));
}
