#include "lab/learners/rankboost_plus/boost.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "lab/learners/rankboost_plus/independent_ensemble.h"
#include "tests/support/rankboost_plus_reference.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::lab::rankboost_plus;
using namespace metafuse::fusion::test;

namespace {

/// Random grades and features with few values, some unranked, in several queries.
TrainingSet random_boost_set(Random& random, std::size_t features, std::size_t queries,
                             std::size_t per_query) {
  TrainingSet set;
  std::vector<Feature> names;
  for (std::size_t f = 0; f < features; ++f)
    names.push_back({"f" + std::to_string(f), FeatureKind::value, 0});
  set.matrix = FeatureMatrix(names, queries * per_query);
  for (std::size_t q = 0; q < queries; ++q)
    set.queries.push_back({"q" + std::to_string(q), q * per_query, (q + 1) * per_query, 1.0});
  for (std::size_t x = 0; x < queries * per_query; ++x) {
    set.documents.push_back({});
    set.grades.push_back(static_cast<double>(random.below(3)));
    set.in_feedback.push_back(random.below(10) == 0 ? 0 : 1);
    for (std::size_t f = 0; f < features; ++f)
      if (random.below(5) != 0) set.matrix.set(x, f, static_cast<double>(random.below(3)));
  }
  return set;
}

BinaryRankings rankings_of(const StumpTable& stumps) {
  BinaryRankings rankings;
  for (std::size_t s = 0; s < stumps.stumps().size(); ++s) {
    const std::vector<std::uint8_t> fires = stumps.firing(s);
    rankings.emplace_back(fires.begin(), fires.end());
  }
  return rankings;
}

struct Case {
  TrainingSet set;
  StumpTable stumps;
  PairRows pairs;
  BinaryRankings rankings;
  std::vector<ReferencePair> reference;
};

Case make_case(std::uint64_t seed) {
  Random random(seed);
  for (;;) {
    TrainingSet set = random_boost_set(random, 2 + random.below(3), 1 + random.below(3), 4 + random.below(6));
    auto pairs = pair_rows(set, 100000);
    if (!pairs) continue;
    StumpTable stumps(CodedFeatures(set.matrix, ThresholdOptions{}), 255, Random(seed));
    BinaryRankings rankings = rankings_of(stumps);
    std::vector<ReferencePair> reference = reference_pairs(set);
    REQUIRE(reference.size() == pairs->pair_count);
    return {std::move(set), std::move(stumps), std::move(*pairs), std::move(rankings), std::move(reference)};
  }
}

std::vector<double> weights_of(const BoostRun& run, std::size_t stumps, std::size_t rounds) {
  std::vector<double> weights(stumps, 0.0);
  for (std::size_t t = 0; t < rounds; ++t) weights[run.rounds[t].stump] += run.rounds[t].alpha;
  return weights;
}

}  // namespace

TEST_CASE("RankBoost+ equals a pair-by-pair reference round by round", "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Case c = make_case(seed);
    BoostOptions options;
    options.rounds = 25;
    options.is_pruning = false;
    const BoostRun run = boost_stumps(c.stumps, c.pairs, options);
    const std::vector<ReferenceRound> expected = reference_plus(c.rankings, c.reference, run.rounds.size());
    REQUIRE(expected.size() == run.rounds.size());
    for (std::size_t t = 0; t < expected.size(); ++t) {
      INFO("seed " << seed << " round " << t);
      // After convergence the direction with the largest slope is only rounding.
      if (!std::isfinite(expected[t].alpha) || std::abs(expected[t].slope) < 1e-8) break;
      REQUIRE(run.rounds[t].stump == expected[t].ranking);
      CHECK(run.rounds[t].alpha == Approx(expected[t].alpha).epsilon(1e-7).margin(1e-9));
      CHECK(run.rounds[t].delta == Approx(expected[t].slope).margin(1e-9));
      CHECK(run.rounds[t].e2 == Approx(expected[t].f2).epsilon(1e-9));
    }
  }
}

TEST_CASE("The bound of theorem 2 holds in every round of RankBoost+", "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    const Case c = make_case(seed);
    BoostOptions options;
    options.rounds = 40;
    const BoostRun run = boost_stumps(c.stumps, c.pairs, options);
    double last = 1.0;
    for (const BoostRound& round : run.rounds) {
      CHECK(round.losses.r2 <= round.e2 + 1e-9);
      CHECK(round.e2 <= round.bound + 1e-9);
      CHECK(round.e2 <= last + 1e-12);
      CHECK(round.losses.e1 <= round.e2 + 1e-9);
      last = round.e2;
    }
  }
}

TEST_CASE("E1 of Rb-d and Rb-c equals its definition and the bound of Rb-d holds",
          "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 200; seed < 240; ++seed) {
    const Case c = make_case(seed);
    for (const Form form : {Form::discrete, Form::continuous}) {
      BoostOptions options;
      options.form = form;
      options.rounds = 30;
      const BoostRun run = boost_stumps(c.stumps, c.pairs, options);
      double product = 1.0;
      for (std::size_t t = 0; t < run.rounds.size(); ++t) {
        const BoostRound& round = run.rounds[t];
        product *= round.z;
        CHECK(round.losses.e1 == Approx(product).epsilon(1e-8));
        CHECK(round.losses.e1 ==
              Approx(reference_f1(c.rankings, weights_of(run, c.rankings.size(), t + 1), c.reference))
                  .epsilon(1e-8));
        CHECK(round.losses.r1 <= round.losses.e1 + 1e-9);
        if (form == Form::discrete) CHECK(round.losses.e1 <= round.bound + 1e-9);
        CHECK(round.e2 >= round.losses.e1 * (1.0 - 1e-9));
      }
    }
  }
}

TEST_CASE("RankBoost+ converges to the minimum of F2 that Newton's method finds",
          "[fusion][rankboost_plus]") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 300; seed < 420 && compared < 25; ++seed) {
    const Case c = make_case(seed);
    for (const Form form : {Form::plus_efficient, Form::plus_optimal}) {
      BoostOptions options;
      options.form = form;
      options.rounds = 3000;
      double last = 2.0;
      const BoostRun run = boost_stumps(c.stumps, c.pairs, options, [&last](const BoostRound& round) {
        const bool is_moving = std::abs(round.delta) > 1e-9;
        last = round.e2;
        return is_moving;
      });
      // F2 over an independent set that spans the used members, in the order of their first use.
      IndependentEnsemble used(c.stumps, c.pairs);
      for (const BoostRound& round : run.rounds)
        if (used.place(round.stump) < 0 && !used.set().is_dependent(round.stump)) used.include(round.stump);
      BinaryRankings members;
      for (std::size_t k = 0; k < used.size(); ++k) members.push_back(c.rankings[used.stump(k)]);
      const std::vector<double> minimum = reference_minimum(members, c.reference);
      if (minimum.empty()) continue;  // the pairs are separable: there is no minimum
      INFO("seed " << seed << " form " << form_name(form));
      CHECK(last == Approx(reference_f2(members, minimum, c.reference)).epsilon(1e-7));
      ++compared;
    }
  }
  CHECK(compared >= 20);
}

TEST_CASE("Independence by the Gram matrix agrees with elimination over the pairs",
          "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 500; seed < 580; ++seed) {
    const Case c = make_case(seed);
    IndependentEnsemble ensemble(c.stumps, c.pairs);
    BinaryRankings members;
    for (std::size_t s = 0; s < c.rankings.size(); ++s) {
      BinaryRankings with = members;
      with.push_back(c.rankings[s]);
      const bool is_dependent = reference_rank(with, c.reference) < with.size();
      REQUIRE(ensemble.set().is_dependent(s) == is_dependent);
      if (!is_dependent) {
        ensemble.include(s);
        members = with;
        continue;
      }
      const std::vector<double> beta = ensemble.set().coordinates(s);
      for (const ReferencePair& pair : c.reference) {
        double sum = 0.0;
        for (std::size_t k = 0; k < members.size(); ++k)
          sum += beta[k] * (members[k][pair.above] - members[k][pair.below]);
        REQUIRE(sum == Approx(c.rankings[s][pair.above] - c.rankings[s][pair.below]).margin(1e-7));
      }
    }
  }
}

TEST_CASE("Pruning keeps a maximal independent set of candidates", "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 600; seed < 640; ++seed) {
    const Case c = make_case(seed);
    BoostOptions options;
    options.rounds = 400;
    options.seed = seed;
    const BoostRun run = boost_stumps(c.stumps, c.pairs, options);
    CHECK(run.independent <= reference_rank(c.rankings, c.reference));
    BinaryRankings used;
    std::vector<int> is_used(c.rankings.size(), 0);
    for (const BoostRound& round : run.rounds)
      if (is_used[round.stump]++ == 0) used.push_back(c.rankings[round.stump]);
    CHECK(reference_rank(used, c.reference) == used.size());
  }
}

TEST_CASE("E2 of Rb-c over an independent set equals F2 of the same ensemble", "[fusion][rankboost_plus]") {
  for (std::uint64_t seed = 700; seed < 730; ++seed) {
    const Case c = make_case(seed);
    BoostOptions options;
    options.form = Form::continuous;
    options.rounds = 30;
    const BoostRun run = boost_stumps(c.stumps, c.pairs, options);
    IndependentEnsemble again(c.stumps, c.pairs);
    std::vector<double> eta;
    BinaryRankings members;
    for (const BoostRound& round : run.rounds) {
      const std::ptrdiff_t place = again.place(round.stump);
      if (place < 0 && again.set().is_dependent(round.stump)) {
        const std::vector<double> beta = again.set().coordinates(round.stump);
        for (std::size_t k = 0; k < beta.size(); ++k) eta[k] += round.alpha * beta[k];
      } else if (place < 0) {
        again.include(round.stump);
        members.push_back(c.rankings[round.stump]);
        eta.push_back(round.alpha);
      } else {
        eta[static_cast<std::size_t>(place)] += round.alpha;
      }
      CHECK(round.e2 == Approx(reference_f2(members, eta, c.reference)).epsilon(1e-6));
    }
  }
}

TEST_CASE("Feedback without a crucial pair is refused and a constant feature gains nothing",
          "[fusion][rankboost_plus]") {
  TrainingSet set = binary_set({{1, 0, 1}}, {2, 2, 2});
  CHECK(!pair_rows(set, 1000).has_value());
  set = binary_set({{1, 1, 1}, {0, 0, 0}}, {0, 1, 2});
  const auto pairs = pair_rows(set, 1000);
  REQUIRE(pairs.has_value());
  const StumpTable stumps(CodedFeatures(set.matrix, ThresholdOptions{}), 255, Random(1));
  for (const Form form : {Form::discrete, Form::continuous, Form::plus_efficient, Form::plus_optimal}) {
    BoostOptions options;
    options.form = form;
    const BoostRun run = boost_stumps(stumps, *pairs, options);
    CHECK(run.rounds.empty());
    CHECK(run.stop_reason == "no weak ranking gains");
  }
  CHECK(!pair_rows(set, 2).has_value());
}

TEST_CASE("A perfect weak ranking ends every form with a finite weight", "[fusion][rankboost_plus]") {
  const bool is_inverted = GENERATE(false, true);
  const TrainingSet set =
      binary_set({{is_inverted ? 1 : 0, is_inverted ? 1 : 0, is_inverted ? 0 : 1}, {1, 0, 0}}, {0, 0, 1});
  const auto pairs = pair_rows(set, 1000);
  REQUIRE(pairs.has_value());
  const StumpTable stumps(CodedFeatures(set.matrix, ThresholdOptions{}), 255, Random(1));
  for (const Form form : {Form::discrete, Form::continuous, Form::plus_efficient, Form::plus_optimal}) {
    BoostOptions options;
    options.form = form;
    const BoostRun run = boost_stumps(stumps, *pairs, options);
    REQUIRE(run.rounds.size() == 1);
    CHECK(std::isfinite(run.rounds[0].alpha));
    CHECK(run.rounds[0].losses.r1 == 0.0);
    CHECK(run.stop_reason.find("rightly") != std::string::npos);
  }
}

TEST_CASE("RankBoost+ keeps one member of identical features", "[fusion][rankboost_plus]") {
  const std::vector<int> h = {1, 1, 0, 1, 0, 0};
  const TrainingSet set = binary_set({h, h, h}, {1, 1, 1, 0, 0, 0});
  const auto pairs = pair_rows(set, 1000);
  REQUIRE(pairs.has_value());
  const StumpTable stumps(CodedFeatures(set.matrix, ThresholdOptions{}), 255, Random(1));
  for (const Form form : {Form::plus_efficient, Form::plus_optimal}) {
    BoostOptions options;
    options.form = form;
    options.rounds = 20;
    const BoostRun run = boost_stumps(stumps, *pairs, options);
    CHECK(run.independent == 1);
    CHECK(run.rounds.back().e2 == Approx(2.0 * std::sqrt(2.0 / 9.0)));  // r2 = 1/9 + 4/18 = 1/3
  }
}

TEST_CASE("An E2 that Rb-d makes huge stays finite", "[fusion][rankboost_plus]") {
  std::size_t capped = 0;
  for (std::uint64_t seed = 800; seed < 840; ++seed) {
    const Case c = make_case(seed);
    BoostOptions options;
    options.form = Form::discrete;
    options.is_halting = false;
    options.rounds = 500;
    for (const BoostRound& round : boost_stumps(c.stumps, c.pairs, options).rounds) {
      REQUIRE(std::isfinite(round.e2));
      REQUIRE(round.e2 <= IndependentEnsemble::kLargestE2);
      capped += round.e2 == IndependentEnsemble::kLargestE2 ? 1U : 0U;
    }
  }
  CHECK(capped > 0);
}
