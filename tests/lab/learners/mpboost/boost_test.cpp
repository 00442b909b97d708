#include "lab/learners/mpboost/boost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/model/model_file.h"
#include "lab/registry.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::lab::mpboost;

namespace {

TrainingSet random_set(std::uint64_t seed, std::size_t grades, bool has_real_grades) {
  Random random(seed);
  TrainingSet set;
  const std::size_t queries = 3;
  const std::size_t documents = queries * (5 + random.below(6));
  std::vector<Feature> features;
  for (int f = 0; f < 4; ++f) features.push_back({"f" + std::to_string(f), FeatureKind::value, 0});
  set.matrix = FeatureMatrix(features, documents);
  for (std::size_t q = 0; q < queries; ++q)
    set.queries.push_back(
        {"q" + std::to_string(q), q * documents / queries, (q + 1) * documents / queries, 1.0});
  for (std::size_t x = 0; x < documents; ++x) {
    set.documents.push_back({});
    set.in_feedback.push_back(random.below(8) == 0 ? 0 : 1);
    set.grades.push_back(has_real_grades ? 4.0 * random.uniform()
                                         : static_cast<double>(random.below(grades)));
    for (std::size_t f = 0; f < 4; ++f)
      if (random.below(6) != 0) set.matrix.set(x, f, static_cast<double>(random.below(5)));
  }
  return set;
}

struct Pair {
  std::size_t i, j;
  double distance, weight;
};

/// All ordered pairs (i, j) of unequal grades with their directed distance, as in Algorithm 1, lines 1-3.
std::vector<Pair> all_pairs(const TrainingSet& set, const BoostOptions& options) {
  std::vector<Pair> pairs;
  for (const QueryRange& query : set.queries)
    for (std::size_t i = query.begin; i < query.end; ++i)
      for (std::size_t j = query.begin; j < query.end; ++j) {
        const double difference = set.grades[i] - set.grades[j];
        if (difference == 0.0 || set.in_feedback[i] == 0 || set.in_feedback[j] == 0) continue;
        const double size = options.distance_of(std::min(set.grades[i], set.grades[j]),
                                                std::max(set.grades[i], set.grades[j]));
        pairs.push_back({i, j, difference > 0.0 ? size : -size, 0.0});
      }
  for (Pair& pair : pairs) pair.weight = 1.0 / static_cast<double>(pairs.size());
  return pairs;
}

/// Follows the definition line by line: for every feature and threshold the sets A1 and B2 of eq. (18), `a`
/// of the appendix, and the squared error of eq. (12).
struct ReferenceStump {
  std::size_t feature = 0;
  double threshold = 0.0;
  double value = 0.0;
  double error = std::numeric_limits<double>::infinity();
};

ReferenceStump best_by_definition(const TrainingSet& set, const std::vector<Pair>& pairs) {
  ReferenceStump best;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f)
    for (const double threshold : {4.0, 3.0, 2.0, 1.0, 0.0, -std::numeric_limits<double>::infinity()}) {
      const auto fires = [&](std::size_t x) {
        return !set.matrix.is_unranked(x, f) && set.matrix.value(x, f) > threshold;
      };
      bool is_value = !std::isfinite(threshold);  // only values that occur are candidates
      for (std::size_t x = 0; x < set.grades.size(); ++x)
        if (!set.matrix.is_unranked(x, f) && set.matrix.value(x, f) == threshold) is_value = true;
      if (!is_value) continue;
      double numerator = 0.0;
      double denominator = 0.0;
      for (const Pair& pair : pairs) {
        if (fires(pair.i) == fires(pair.j)) continue;
        numerator += pair.weight * (fires(pair.i) ? pair.distance : -pair.distance);
        denominator += pair.weight;
      }
      if (denominator == 0.0) continue;
      const double a = numerator / denominator;
      double error = 0.0;
      for (const Pair& pair : pairs) {
        const double step = a * ((fires(pair.i) ? 1.0 : 0.0) - (fires(pair.j) ? 1.0 : 0.0));
        error += pair.weight * (pair.distance - step) * (pair.distance - step);
      }
      if (error < best.error - 1e-10) best = {f, threshold, a, error};
    }
  return best;
}

/// Returns how often a step was halved.
std::size_t compare_with_definition(const TrainingSet& set, const BoostOptions& options) {
  const auto run = boost_stumps(set, options);
  std::vector<Pair> pairs = all_pairs(set, options);
  if (pairs.empty()) {
    CHECK(!run.has_value());
    return 0;
  }
  std::size_t halvings = 0;
  REQUIRE(run.has_value());
  CHECK(run->pair_count * 2 == pairs.size());
  double product = 1.0;
  std::vector<double> scores(set.grades.size(), 0.0);
  for (const BoostRound& round : run->rounds) {
    const ReferenceStump best = best_by_definition(set, pairs);
    REQUIRE(round.weak_ranking.feature == best.feature);
    REQUIRE(round.weak_ranking.threshold == best.threshold);
    const auto fires = [&](std::size_t x) {
      return !set.matrix.is_unranked(x, best.feature) && set.matrix.value(x, best.feature) > best.threshold
                 ? 1.0
                 : 0.0;
    };
    const auto factor = [&](const Pair& pair, double step) {
      return std::exp(-pair.distance * step * (fires(pair.i) - fires(pair.j)));
    };
    // The step is halved while it would raise the loss: Z > 1 (the weights sum to 1).
    double step = options.shrinkage * best.value;
    const auto z_of_step = [&] {
      double sum = 0.0;
      for (const Pair& pair : pairs) sum += pair.weight * factor(pair, step);
      return sum;
    };
    for (; z_of_step() > 1.0; step *= 0.5) ++halvings;
    CHECK(round.weak_ranking.alpha == Approx(step).margin(1e-9));
    add_to_scores(set.matrix, round.weak_ranking, scores);
    double z = 0.0;
    double misordered = 0.0;
    for (Pair& pair : pairs) {
      pair.weight *= factor(pair, step);
      z += pair.weight;
      const double margin = scores[pair.i] - scores[pair.j];
      if (std::abs(margin) < 1e-12 || (margin < 0.0) == (pair.distance > 0.0))
        misordered += 1.0 / static_cast<double>(pairs.size());
    }
    for (Pair& pair : pairs) pair.weight /= z;
    product *= z;
    CHECK(round.z == Approx(z));
    CHECK(round.loss == Approx(product));
    CHECK(round.misordered == Approx(misordered).margin(1e-12));
    CHECK(round.misordered <= round.loss + 1e-12);
    CHECK(round.z <= 1.0 + 1e-12);
  }
  CHECK(run->halvings == halvings);
  return halvings;
}

}  // namespace

TEST_CASE("MPBoost without enumerating pairs equals its definition over pairs", "[fusion][mpboost]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    for (const Distance kind :
         {Distance::binary, Distance::ldd, Distance::logdd, Distance::logitdd, Distance::constant}) {
      INFO("seed " << seed << " " << distance_name(kind));
      BoostOptions options;
      options.distance = kind;
      options.parameter = kind == Distance::constant ? 0.4 : default_parameter(kind);
      options.rounds = 8;
      compare_with_definition(random_set(seed, 2 + seed % 4, false), options);
    }
}

TEST_CASE("MPBoost halves steps that would raise the loss and shrinks all steps on request",
          "[fusion][mpboost]") {
  std::size_t halvings = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    BoostOptions options;
    options.distance = Distance::ldd;
    options.parameter = 2.0;  // mean |dist| far above 1
    options.rounds = 8;
    halvings += compare_with_definition(random_set(seed, 5, false), options);
    options.parameter = 0.2;
    options.shrinkage = 0.3;
    CHECK(compare_with_definition(random_set(seed, 5, false), options) == 0);
    options.distance = Distance::constant;
    compare_with_definition(random_set(seed, 5, false), options);
  }
  CHECK(halvings > 20);
}

TEST_CASE("MPBoost accepts a table of distances with mixed functions", "[fusion][mpboost]") {
  const test::TemporaryFolder folder;
  const auto table = read_distance_table(
      folder.write("distances", "# of three grades\n0 1 0.3\n1 2 logdd:0.5\n\n0 2 ldd:0.4  # twice\n"));
  REQUIRE(table.has_value());
  REQUIRE(table->size() == 3);
  CHECK(table->at({0.0, 1.0}) == 0.3);
  CHECK(table->at({1.0, 2.0}) == Approx(std::log(1.5)));
  CHECK(table->at({0.0, 2.0}) == Approx(0.8));
  BoostOptions options;
  options.distance = Distance::table;
  options.table = std::make_shared<const DistanceTable>(*table);
  options.rounds = 8;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    compare_with_definition(random_set(seed, 3, false), options);
  }
  const auto refused = boost_stumps(random_set(1, 5, false), options);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().text.find("grades") != std::string::npos);

  for (const char* bad : {"0 1\n", "0 x 1\n", "1 0 0.5\n", "0 1 -2\n", "0 1 logd:2\n", "0 1 ldd:-1\n",
                          "0 1 1\n0 1 2\n", "# nothing\n"}) {
    INFO(bad);
    CHECK(!read_distance_table(folder.write("bad", bad)).has_value());
  }
}

TEST_CASE("The model of MPBoost records its table of distances and its shrinkage", "[fusion][mpboost]") {
  const test::TemporaryFolder folder;
  const TrainingSet set = random_set(5, 2, false);
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "3"},
                     {"shrinkage", "0.5"},
                     {"distance", "table:" + folder.write("distances", "0 1 0.75\n")}};
  const auto result = metafuse::lab::find_learner("mpboost")->train(request);
  REQUIRE(result.has_value());
  const JsonObject& training = result->model.training;
  CHECK(training.at("distance") == Json("table"));
  CHECK(training.at("distances").at(0).at(2).to_number<double>() == 0.75);
  CHECK(training.at("shrinkage").to_number<double>() == 0.5);
  request.options["distance"] = "far";
  CHECK(metafuse::lab::find_learner("mpboost")->train(request).error().code == Code::usage);
}

// Grades 0 and 3: |dist| = 3 lambda for the linear function, above 1 from lambda = .35 on (condition (9)).
TEST_CASE("MPBoost skips parameters whose mean distance is above 1", "[fusion][mpboost]") {
  TrainingSet train = random_set(21, 2, false);
  TrainingSet validate = random_set(22, 2, false);
  for (TrainingSet* set : {&train, &validate})
    for (double& grade : set->grades) grade *= 3.0;
  BoostOptions options;
  options.distance = Distance::ldd;
  options.rounds = 10;
  const auto mixed = select_on_validation(train, validate, options, {0.5, 0.2, 0.35});
  REQUIRE(mixed.has_value());
  CHECK(mixed->parameter == 0.2);
  const auto all_far = select_on_validation(train, validate, options, {2.0, 0.7, 5.0});
  REQUIRE(all_far.has_value());
  CHECK(all_far->parameter == 0.7);  // the smallest mean
  CHECK(!all_far->run.rounds.empty());
  CHECK(select_on_validation(train, validate, options, {2.0})->parameter == 2.0);  // the requested one
}

TEST_CASE("MPBoost handles real-valued grades pair by pair", "[fusion][mpboost]") {
  for (std::uint64_t seed = 101; seed <= 120; ++seed) {
    const TrainingSet set = random_set(seed, 0, true);
    BoostOptions options;
    options.distance = Distance::logdd;
    options.parameter = 3.0;
    options.rounds = 8;
    compare_with_definition(set, options);
  }
  // Enough documents for a query to have more than 16 grades.
  Random random(7);
  TrainingSet set;
  set.matrix = FeatureMatrix(
      {{"a", FeatureKind::value, 0}, {"b", FeatureKind::value, 0}, {"c", FeatureKind::value, 0}}, 40);
  set.queries = {{"q", 0, 40, 1.0}};
  for (std::size_t x = 0; x < 40; ++x) {
    set.grades.push_back(4.0 * random.uniform());
    set.in_feedback.push_back(1);
    set.documents.push_back({});
    for (std::size_t f = 0; f < 3; ++f) set.matrix.set(x, f, static_cast<double>(random.below(5)));
  }
  BoostOptions options;
  options.distance = Distance::ldd;
  options.parameter = 0.5;
  options.rounds = 10;
  CHECK(boost_stumps(set, options)->is_by_pairs);
  compare_with_definition(set, options);
  options.memory_mb = 0;
  CHECK(!boost_stumps(set, options).has_value());
}

// One query, grades 1 0 1 0, feature 2 1 1 0. The threshold 0 leaves 2 pairs of 4 separated rightly ((1,4),
// (3,4)) and none reversed, two tied; the threshold 1 the pairs (1,2), (1,4). Both have N = 2/4 d, Den = 2/4,
// so a = d; the higher threshold comes first. Z = 1/2 + 1/2 exp(-d d).
TEST_CASE("The first round of MPBoost equals a worked example", "[fusion][mpboost]") {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, 4);
  set.queries = {{"q", 0, 4, 1.0}};
  set.grades = {1, 0, 1, 0};
  set.in_feedback = {1, 1, 1, 1};
  set.documents = TextList(4, "");
  for (const std::size_t x : {0U, 1U, 2U, 3U}) set.matrix.set(x, 0, x == 0 ? 2.0 : x == 3 ? 0.0 : 1.0);
  BoostOptions options;
  options.distance = Distance::logitdd;
  options.parameter = 1.0;
  options.rounds = 1;
  const auto run = boost_stumps(set, options);
  REQUIRE(run.has_value());
  const double d = 1.0 / (1.0 + std::exp(-1.0));
  CHECK(run->rounds[0].weak_ranking.threshold == 1.0);
  CHECK(run->rounds[0].weak_ranking.alpha == Approx(d));
  CHECK(run->rounds[0].z == Approx(0.5 + 0.5 * std::exp(-d * d)));
  CHECK(run->mean_distance == Approx(d));
}

TEST_CASE("MPBoost has defined outcomes on empty feedback and equal features and huge distances",
          "[fusion][mpboost]") {
  TrainingSet set = random_set(3, 3, false);
  BoostOptions options;
  for (double& grade : set.grades) grade = 3.0;
  CHECK(!boost_stumps(set, options).has_value());
  set = random_set(3, 3, false);
  options.distance = Distance::ldd;
  options.parameter = 1e6;
  options.rounds = 50;
  const auto run = boost_stumps(set, options);
  REQUIRE(run.has_value());
  for (const BoostRound& round : run->rounds) CHECK(std::isfinite(round.loss));
  TrainingSet constant = random_set(4, 3, false);
  constant.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, constant.grades.size());
  for (std::size_t x = 0; x < constant.grades.size(); ++x) constant.matrix.set(x, 0, 1.0);
  CHECK(boost_stumps(constant, BoostOptions{})->rounds.empty());
}

TEST_CASE("MPBoost says what happened if validation had no round to choose from", "[fusion][mpboost]") {
  TrainingSet constant = random_set(4, 3, false);
  constant.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, constant.grades.size());
  for (std::size_t x = 0; x < constant.grades.size(); ++x) constant.matrix.set(x, 0, 1.0);
  TrainingRequest request;
  request.train = &constant;
  request.validate = &constant;
  const auto result = metafuse::lab::find_learner("mpboost")->train(request);
  REQUIRE(result.has_value());
  const JsonObject& record = result->model.training;
  CHECK(record.at("stopped") == Json("no weak ranking gains"));
  CHECK(record.at("parameter").to_number<double>() == parameter_grid(Distance::logitdd).front());
  CHECK(record.at("crucial_pairs").to_number<std::size_t>() > 0);
  CHECK(!record.contains("validation_ndcg_5"));
}

TEST_CASE("MPBoost refuses a parameter that its distance does not have", "[fusion][mpboost]") {
  const TrainingSet set = random_set(5, 2, false);
  TrainingRequest request;
  request.train = &set;
  request.options = {{"distance", "binary"}, {"rounds", "2"}};
  const auto plain = metafuse::lab::find_learner("mpboost")->train(request);
  REQUIRE(plain.has_value());
  CHECK(!plain->model.training.contains("parameter"));
  request.options["parameter"] = "3";
  const auto refused = metafuse::lab::find_learner("mpboost")->train(request);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == Code::usage);
  CHECK(refused.error().text.find("--parameter needs") == 0);
}

TEST_CASE("A model of mpboost survives its file and validation chooses its parameter", "[fusion][mpboost]") {
  const TrainingSet train = random_set(11, 3, false);
  const TrainingSet validate = random_set(12, 3, false);
  TrainingRequest request;
  request.train = &train;
  request.validate = &validate;
  request.options = {{"distance", "logdd"}, {"rounds", "10"}};
  const auto result = metafuse::lab::find_learner("mpboost")->train(request);
  REQUIRE(result.has_value());
  const std::string text = model_text(result->model);
  const auto again = parse_model(text, "m.json");
  REQUIRE(again.has_value());
  CHECK(model_text(*again) == text);
  CHECK(again->ranker->score(validate.matrix) == result->model.ranker->score(validate.matrix));
  const double chosen = result->model.training.at("validation_ndcg_5").as_double();
  for (const double parameter : parameter_grid(Distance::logdd)) {
    BoostOptions options;
    options.distance = Distance::logdd;
    options.rounds = 10;
    CHECK(select_on_validation(train, validate, options, {parameter})->validation_ndcg <= chosen);
  }
  request.options["parameter"] = "-1";
  CHECK(metafuse::lab::find_learner("mpboost")->train(request).error().code == Code::usage);
}

TEST_CASE("MPBoost learns the same bytes on any number of threads", "[fusion][mpboost]") {
  TrainingSet set;
  Random random(23);
  set.matrix = FeatureMatrix({{"a", FeatureKind::value, 0}, {"b", FeatureKind::value, 0}}, 200 * 30);
  for (std::size_t x = 0; x < set.matrix.document_count(); ++x) {
    if (x % 30 == 0) set.queries.push_back({"q" + std::to_string(x), x, x + 30, 1.0});
    set.grades.push_back(static_cast<double>(random.below(3)));
    set.documents.push_back(std::to_string(x));
    set.in_feedback.push_back(1);
    for (const std::size_t f : {0U, 1U})
      set.matrix.set(x, f, std::floor(set.grades[x] + 4.0 * random.normal()));
  }
  const auto trained = [&](unsigned threads) {
    TrainingRequest request;
    request.train = &set;
    request.threads = threads;
    request.options = {{"rounds", "6"}};
    return model_text(metafuse::lab::find_learner("mpboost")->train(request)->model);
  };
  std::string one = trained(1);
  CHECK(trained(3) == one);
  for (double& grade : set.grades) grade += random.uniform();  // now every pair has its own distance
  CHECK(trained(1) != one);
  one = trained(1);
  CHECK(trained(3) == one);
}

TEST_CASE("The trace of MPBoost shows the threshold minus infinity as the deepest rank",
          "[fusion][mpboost]") {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"a", FeatureKind::rank, 0}}, 4);
  set.queries = {{"q", 0, 4, 1.0}};
  set.grades = {1.0, 1.0, 0.0, 0.0};
  set.documents = {"a", "b", "c", "d"};
  set.in_feedback = {1, 1, 1, 1};
  set.matrix.set(0, 0, -3.0);
  set.matrix.set(1, 0, -17.0);
  TrainingRequest request;
  request.train = &set;
  request.options = {{"rounds", "1"}};
  const auto result = metafuse::lab::find_learner("mpboost")->train(request);
  REQUIRE(result.has_value());
  REQUIRE(result->trace.size() == 1);
  CHECK(result->trace[0].at("rank").to_number<double>() == 17.0);
}
