#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "lab/learners/adaboost_mh/ensemble.h"
#include "lab/registry.h"
#include "tests/support/ordered_pairs.h"

using metafuse::Code;
using metafuse::Random;
using namespace metafuse;
using namespace metafuse::fusion;

namespace {

TrainingSet graded_set(std::uint64_t seed, int queries = 24, bool is_noise_only = false) {
  Random random(seed);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q)
    for (int d = 0; d < 12; ++d) {
      const double a = random.uniform();
      const double b = random.uniform();
      const double signal = a + b + 0.15 * random.normal();
      std::vector<Cell> cells = {{0, is_noise_only ? 1.0 : a}, {1, is_noise_only ? 1.0 : b}};
      if (!is_noise_only && random.uniform() < 0.5) cells.push_back({2, random.uniform()});
      const std::string query = "q" + std::to_string(100 + q);
      const std::string document = "d" + std::to_string(d);
      const double grade = is_noise_only ? d % 3 : signal > 1.5 ? 2.0 : signal > 1.1 ? 1.0 : 0.0;
      builder.add({query, document, grade, true, cells});
    }
  auto set = builder.finish({{"1"}, {"2"}, {"3"}}, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

metafuse::Result<TrainingResult> train(const std::string& learner, const TrainingSet& set,
                                       std::map<std::string, std::string> options, unsigned threads = 1,
                                       const Model* resume = nullptr) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  request.threads = threads;
  request.resume = resume;
  return metafuse::lab::find_learner(learner)->train(request);
}

const std::map<std::string, std::string> kSmall = {
    {"leaves", "3,5"}, {"terms", "2"}, {"rounds", "5,10"}, {"process-points", "40"}};

}  // namespace

TEST_CASE("AdaBoost.MH orders unseen documents by the features that determine their grades",
          "[fusion][adaboost_mh]") {
  const TrainingSet set = graded_set(1);
  const TrainingSet fresh = graded_set(2);
  for (const char* base : {"tree", "product", "stump"}) {
    const auto result = train("adaboost-mh", set, {{"base", base}, {"rounds", "30"}});
    REQUIRE(result.has_value());
    INFO(base);
    CHECK(metafuse::test::share_of_rightly_ordered_pairs(fresh, result->model.ranker->score(fresh.matrix)) >
          0.9);
    const std::string text = model_text(result->model);
    auto read = parse_model(text, "model");
    REQUIRE(read.has_value());
    CHECK(model_text(*read) == text);
    CHECK(read->ranker->score(fresh.matrix) == result->model.ranker->score(fresh.matrix));
    CHECK_FALSE(result->model.ranker->describe(set.matrix.features()).empty());
  }
}

TEST_CASE("A model resumed to fewer or more rounds equals training that many rounds",
          "[fusion][adaboost_mh]") {
  const TrainingSet set = graded_set(3);
  const auto twenty = train("adaboost-mh", set, {{"rounds", "20"}, {"leaves", "4"}});
  REQUIRE(twenty.has_value());
  for (const char* rounds : {"7", "20", "31"}) {
    const auto direct = train("adaboost-mh", set, {{"rounds", rounds}, {"leaves", "4"}});
    const auto resumed = train("adaboost-mh", set, {{"rounds", rounds}, {"leaves", "4"}}, 1, &twenty->model);
    REQUIRE(direct.has_value());
    REQUIRE(resumed.has_value());
    CHECK(metafuse::to_text(direct->model.ranker->body()) ==
          metafuse::to_text(resumed->model.ranker->body()));
  }
  const TrainingSet other = graded_set(4);
  CHECK(train("adaboost-mh", other, {}, 1, &twenty->model).error().text.find("other documents") !=
        std::string::npos);
}

TEST_CASE("Boosting continues only on the same grades and with the same base classifier",
          "[fusion][adaboost_mh]") {
  const TrainingSet set = graded_set(3);
  const auto first = train("adaboost-mh", set, {{"rounds", "5"}, {"leaves", "4"}});
  REQUIRE(first.has_value());
  TrainingSet exchanged = set;
  for (double& grade : exchanged.grades) grade = 2.0 - grade;
  const auto other = train("adaboost-mh", exchanged, {{"rounds", "6"}, {"leaves", "4"}}, 1, &first->model);
  REQUIRE(!other.has_value());
  CHECK(other.error().text.find("other documents") != std::string::npos);
  const auto product = train("adaboost-mh", set, {{"rounds", "6"}, {"base", "product"}}, 1, &first->model);
  REQUIRE(!product.has_value());
  CHECK(product.error().code == Code::usage);
  CHECK(product.error().text.find("tree 4") != std::string::npos);
}

TEST_CASE("Polynomials of many grades' votes are left out of an ensemble, which says so",
          "[fusion][adaboost_mh]") {
  Random random(31);
  TrainingSet set = graded_set(15);
  for (double& grade : set.grades) grade = static_cast<double>(random.below(14));
  const auto result = train("calibrated-adaboost", set,
                            {{"leaves", "3"}, {"terms", "none"}, {"rounds", "5"}, {"process-points", "20"}});
  REQUIRE(result.has_value());
  CHECK(result->summary.find("2 polynomials of highest degree are left out") != std::string::npos);
  const auto& ranker = dynamic_cast<const metafuse::lab::adaboost_mh::EnsembleRanker&>(*result->model.ranker);
  CHECK(ranker.members().size() == 13 - 2);
}

TEST_CASE("The calibrated ensemble orders unseen documents with any threads and from its file",
          "[fusion][adaboost_mh]") {
  const TrainingSet set = graded_set(5);
  const TrainingSet fresh = graded_set(6);
  for (const char* calibration : {"both", "cpc", "rbc"}) {
    auto options = kSmall;
    options["calibration"] = calibration;
    const auto result = train("calibrated-adaboost", set, options);
    REQUIRE(result.has_value());
    INFO(calibration);
    const auto scores = result->model.ranker->score(fresh.matrix);
    CHECK(metafuse::test::share_of_rightly_ordered_pairs(fresh, scores) > 0.88);
    const std::string text = model_text(result->model);
    CHECK(text == model_text(train("calibrated-adaboost", set, options, 3)->model));
    auto read = parse_model(text, "model");
    REQUIRE(read.has_value());
    CHECK(model_text(*read) == text);
    CHECK(read->ranker->score(fresh.matrix) == scores);
    double weights = 0.0;
    const auto& ranker =
        dynamic_cast<const metafuse::lab::adaboost_mh::EnsembleRanker&>(*result->model.ranker);
    for (const auto& member : ranker.members()) weights += member.weight;
    CHECK(weights == Approx(1.0));
    CHECK(ranker.members().size() == 3U * (calibration[0] == 'b' ? 13U : calibration[0] == 'c' ? 5U : 8U));
  }
}

TEST_CASE("Other learners are members of an ensemble", "[fusion][adaboost_mh]") {
  const TrainingSet set = graded_set(7);
  auto options = kSmall;
  options["others"] = "rankboost,rankboost-plus,mpboost";
  options["terms"] = "none";
  const auto result = train("calibrated-adaboost", set, options, 2);
  REQUIRE(result.has_value());
  const auto scores = result->model.ranker->score(set.matrix);
  CHECK(metafuse::test::share_of_rightly_ordered_pairs(set, scores) > 0.88);
  auto read = parse_model(model_text(result->model), "model");
  REQUIRE(read.has_value());
  CHECK(read->ranker->score(set.matrix) == scores);
  CHECK(dynamic_cast<const metafuse::lab::adaboost_mh::EnsembleRanker&>(*read->ranker).members().size() ==
        2 * 13 + 3 * 8);
}

TEST_CASE("With constant features calibrations fall back and say so", "[fusion][adaboost_mh]") {
  const auto result = train("calibrated-adaboost", graded_set(8, 24, true), kSmall);
  REQUIRE(result.has_value());
  CHECK(result->summary.find("fell back") != std::string::npos);
  for (const double score : result->model.ranker->score(graded_set(9, 5, true).matrix))
    CHECK(std::isfinite(score));
}

TEST_CASE("Bad options and sets are refused by name", "[fusion][adaboost_mh]") {
  const TrainingSet set = graded_set(10);
  CHECK(train("adaboost-mh", set, {{"base", "stump"}, {"leaves", "5"}}).error().code == Code::usage);
  CHECK(train("calibrated-adaboost", set, {{"leaves", "5,4"}}).error().text.find("--leaves") !=
        std::string::npos);
  CHECK(train("calibrated-adaboost", set, {{"others", "nothing"}}).error().text.find("nothing") !=
        std::string::npos);
  CHECK(train("calibrated-adaboost", set, {{"leaves", "none"}, {"terms", "none"}}).error().code ==
        Code::usage);
  CHECK(train("calibrated-adaboost", graded_set(11, 1), kSmall).error().text.find("too few") !=
        std::string::npos);
  TrainingSet one_class = graded_set(12);
  std::fill(one_class.grades.begin(), one_class.grades.end(), 1.0);
  CHECK(train("adaboost-mh", one_class, {}).error().code == Code::bad_data);
  TrainingSet huge = graded_set(12);
  for (double& grade : huge.grades) grade = grade > 1.0 ? 1e10 : 0.0;
  CHECK(train("adaboost-mh", huge, {}).error().text.find("2 grades up to 1e+10;") == 0);
  // A grade that is missing between others is still a class, without documents.
  TrainingSet gap = graded_set(13);
  for (double& grade : gap.grades) grade = grade == 1.0 ? 0.0 : grade;
  CHECK(train("adaboost-mh", gap, {{"rounds", "5"}}).has_value());
  CHECK(train("calibrated-adaboost", gap, kSmall).has_value());
  CHECK(metafuse::lab::find_learner("calibrated-adaboost")->can.validate);
  TrainingSet validation = graded_set(14, 4);
  validation.grades[0] = 7.0;
  TrainingRequest request;
  request.train = &set;
  request.validate = &validation;
  request.options = kSmall;
  CHECK(metafuse::lab::find_learner("calibrated-adaboost")->train(request).error().text.find("grade 7") !=
        std::string::npos);
}

TEST_CASE("Damaged classifiers are refused when they are read", "[fusion][adaboost_mh]") {
  const TrainingSet set = graded_set(15);
  const auto result = train("adaboost-mh", set, {{"rounds", "3"}, {"leaves", "4"}});
  REQUIRE(result.has_value());
  const auto good = result->model.ranker->body();
  const auto read = votes::read_ranker;
  const auto& features = set.matrix.features();
  REQUIRE(read(good, features).has_value());
  const auto node_with = [&](std::size_t place, int value) {
    auto bad = good;
    bad["rounds"].as_array()[0].as_object()["nodes"].as_array()[0].as_array()[place] = value;
    return read(bad, features).has_value();
  };
  CHECK_FALSE(node_with(0, 3));    // no such feature
  CHECK_FALSE(node_with(1, 255));  // no such cut
  CHECK_FALSE(node_with(2, 0));    // itself: an endless loop
  CHECK_FALSE(node_with(3, -99));  // no such leaf
  auto bad = good;
  bad["rounds"].as_array()[0].as_object()["votes"].as_array()[0] = 0;
  CHECK_FALSE(read(bad, features).has_value());
  bad = good;
  bad["grades"] = metafuse::JsonArray{0, 1, 2, 3, 4};
  CHECK_FALSE(read(bad, features).has_value());
}

TEST_CASE("NDCG@10 and exponential weights have the values of worked examples", "[fusion][adaboost_mh]") {
  // Order by score: grades 0, 2, 1: gains 0, 3, 1. DCG = 3/log2(3) + 1/2 = 2.3928; ideal 3 + 1/log2(3)
  // = 3.6309.
  const std::vector<int> classes = {2, 0, 1, 0};
  const std::vector<double> gains = {0.0, 1.0, 3.0};
  const std::vector<metafuse::lab::adaboost_mh::RowRange> queries = {{0, 3}, {3, 4}};
  const std::vector<double> scores = {0.5, 0.9, 0.1, 0.0};
  CHECK(metafuse::lab::adaboost_mh::ndcg_10(scores, {classes, gains, queries}) ==
        Approx(0.5 * 2.392789 / 3.630930).epsilon(1e-5));
  const std::vector<double> qualities = {0.4, 0.5};
  const auto weights = metafuse::lab::adaboost_mh::exponential_weights(qualities, 10.0);
  CHECK(weights[1] / weights[0] == Approx(std::exp(1.0)));
  CHECK(weights[0] + weights[1] == Approx(1.0));
  CHECK(metafuse::lab::adaboost_mh::exponential_weights(qualities, 0.0)[0] == 0.5);
}
