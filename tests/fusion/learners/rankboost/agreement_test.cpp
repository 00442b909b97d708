// Compares RankBoost round by round with a slow implementation that enumerates all pairs.

#include <cmath>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "fusion/data/thresholds.h"
#include "fusion/model/weak_ranking.h"
#include "fusion/training/registry.h"
#include "tests/support/random_training_set.h"
#include "tests/support/slow_rankboost.h"

namespace {

using namespace metafuse;
using namespace metafuse::fusion;
using test::SlowOptions;

constexpr int kRounds = 8;

struct Form {
  std::string weak_learner = "3.cum";
  std::string q_default = "0";
  std::string alpha = "auto";
  std::string weak_ranking = "threshold";
};

std::map<std::string, std::string> options_of(const Form& form) {
  return {{"rounds", std::to_string(kRounds)}, {"weak-learner", form.weak_learner},
          {"q-default", form.q_default},       {"alpha", form.alpha},
          {"weak-ranking", form.weak_ranking}, {"max-thresholds", "all"}};
}

SlowOptions slow_options(const Form& form) {
  SlowOptions options;
  options.rounds = kRounds;
  options.is_weak_learner_2 = form.weak_learner[0] == '2';
  options.is_cumulative = form.weak_learner.ends_with(".cum");
  options.is_numeric = form.alpha == "numeric";
  options.is_value = form.weak_ranking == "value";
  options.tries_zero = form.q_default != "1";
  options.tries_one = form.q_default != "0";
  return options;
}

double number(const JsonObject& line, const char* key) {
  return line.at(key).to_number<double>();
}

void check_same_cut(const TrainingSet& set, const JsonObject& line, const test::SlowRound& want,
                    bool is_value) {
  REQUIRE(line.at("feature").to_number<std::size_t>() == want.feature);
  REQUIRE(line.at("q_default").to_number<int>() == want.q_default);
  if (is_value) return;
  if (set.matrix.features()[want.feature].kind == FeatureKind::value) {
    REQUIRE(line.at("threshold").is_null() == std::isinf(want.threshold));
    if (!std::isinf(want.threshold)) REQUIRE(number(line, "threshold") == want.threshold);
  } else if (!std::isinf(want.threshold)) {
    // f > theta with theta = -rank of a training document: the cut is at the next better rank that occurs
    REQUIRE(number(line, "rank") < -want.threshold);
  }
}

/// Trains on random inputs in both ways and compares every round.
/// in: faintest - weights of general pairs are divided by up to 10^faintest
int agreeing_rounds(const Form& form, const test::RandomSetOptions& shape, std::uint64_t seed, int inputs,
                    double faintest = 0.0) {
  Random random(seed);
  int rounds = 0;
  for (int i = 0; i < inputs; ++i) {
    TrainingSet set = test::random_training_set(random, shape);
    for (WeightedPair& pair : set.pairs) pair.weight *= std::pow(10.0, -random.uniform() * faintest);
    const auto want = test::slow_rankboost(set, slow_options(form));
    TrainingRequest request;
    request.train = &set;
    request.options = options_of(form);
    request.trace.is_wanted = true;
    const auto got = find_learner("rankboost")->train(request);
    if (!got) {  // no crucial pair
      REQUIRE(want.empty());
      continue;
    }
    INFO("seed " << seed << " input " << i);
    for (std::size_t t = 0; t < want.size(); ++t) {
      // If the best edge is only rounding error, rounding decides which candidate has it.
      if (std::abs(want[t].r) < 1e-6) break;
      REQUIRE(t < got->trace.size());
      const JsonObject& line = got->trace[t];
      INFO("round " << t + 1 << ": " << to_text(line));
      check_same_cut(set, line, want[t], form.weak_ranking == "value");
      REQUIRE(number(line, "alpha") == Approx(want[t].alpha).epsilon(1e-9).margin(1e-10));
      REQUIRE(number(line, "r") == Approx(want[t].r).epsilon(1e-9).margin(1e-11));
      REQUIRE(number(line, "z") == Approx(want[t].z).epsilon(1e-9));
      REQUIRE(number(line, "bound") == Approx(want[t].bound).epsilon(1e-9));
      REQUIRE(number(line, "ranking_loss") == Approx(want[t].ranking_loss).margin(1e-10));
      REQUIRE(number(line, "ranking_loss") <= number(line, "bound") + 1e-9);
      ++rounds;
    }
  }
  return rounds;
}

void check_all_forms(const test::RandomSetOptions& shape, int inputs) {
  std::uint64_t seed = 1;
  for (const char* learner : {"2", "3", "2.cum", "3.cum"})
    for (const char* q : {"0", "1", "learn"})
      for (const char* alpha : {"auto", "numeric"}) {
        INFO("weak learner " << learner << ", q_default " << q << ", alpha " << alpha);
        REQUIRE(agreeing_rounds({learner, q, alpha, "threshold"}, shape, seed++, inputs) > inputs);
      }
}

}  // namespace

TEST_CASE("RankBoost agrees with enumerated pairs for every weak learner", "[fusion][rankboost]") {
  check_all_forms({}, 30);
}

TEST_CASE("RankBoost agrees with enumerated pairs on general weighted pairs", "[fusion][rankboost]") {
  test::RandomSetOptions shape;
  shape.may_have_pairs = true;
  shape.is_coded = false;
  check_all_forms(shape, 30);
}

TEST_CASE("RankBoost agrees with enumerated pairs if some pairs have tiny weights", "[fusion][rankboost]") {
  const test::RandomSetOptions shape{3, 5, 3, true, true};
  for (const char* learner : {"2", "2.cum"})
    for (const double faintest : {20.0, 60.0, 250.0}) {
      INFO("weak learner " << learner << ", weights down to 1e-" << faintest);
      REQUIRE(agreeing_rounds({learner, "0", "auto", "threshold"}, shape, 99, 60, faintest) > 60);
    }
}

TEST_CASE("RankBoost agrees with enumerated pairs if weak rankings are the features", "[fusion][rankboost]") {
  test::RandomSetOptions shape;
  shape.may_have_pairs = true;
  for (const char* learner : {"3", "3.cum"})
    for (const char* q : {"0", "1", "learn"})
      for (const char* alpha : {"auto", "numeric"}) {
        INFO("weak learner " << learner << ", q_default " << q << ", alpha " << alpha);
        REQUIRE(agreeing_rounds({learner, q, alpha, "value"}, shape, 77, 30) > 30);
      }
}

TEST_CASE("RankBoost agrees with enumerated pairs if a feature has more than 256 thresholds",
          "[fusion][rankboost]") {
  test::RandomSetOptions shape{1, 262, 1};
  shape.fewest_documents = 261;
  shape.most_values = 100'000;
  shape.may_leave_unranked = false;
  Random random(21);  // as agreeing_rounds() draws its first input
  const TrainingSet first = test::random_training_set(random, shape);
  REQUIRE(!CodedFeatures(first.matrix, {ThresholdOptions::kAll}).is_byte(0));
  CHECK(agreeing_rounds({"3.cum", "0", "auto", "threshold"}, shape, 21, 1) > 4);
}

TEST_CASE("RankBoost agrees with enumerated pairs on thousands of inputs", "[fusion][rankboost][full]") {
  check_all_forms({6, 20, 6, false, true}, 150);
  check_all_forms({3, 10, 4, true, true}, 150);
}
