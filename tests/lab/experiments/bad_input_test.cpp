// Learners and experiments on ratings that are degenerate, missing or out of range.

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/rankboost_plus.h"
#include "lab/registry.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Two queries of six documents; value(document, feature) is NaN where unranked.
template <class Value, class Grade>
TrainingSet set_of(const Value& value, const Grade& grade) {
  constexpr std::size_t kDocuments = 12;
  constexpr std::size_t kFeatures = 4;
  TrainingSet set;
  std::vector<Feature> features;
  for (std::size_t f = 0; f < kFeatures; ++f)
    features.push_back({"f" + std::to_string(f), FeatureKind::value, 0});
  set.matrix = FeatureMatrix(features, kDocuments);
  set.queries = {{"q1", 0, 6, 1.0}, {"q2", 6, 12, 1.0}};
  for (std::size_t x = 0; x < kDocuments; ++x) {
    set.grades.push_back(grade(x));
    set.documents.push_back("d" + std::to_string(10 + x));
    set.in_feedback.push_back(1);
    for (std::size_t f = 0; f < kFeatures; ++f)
      if (const double v = value(x, f); !std::isnan(v)) set.matrix.set(x, f, v);
  }
  return set;
}

/// Input that can occur in a table of real ratings, by name.
std::map<std::string, TrainingSet> awkward_sets() {
  const auto ordinary = [](std::size_t x, std::size_t f) {
    return static_cast<double>((x * 7 + f * 5) % (6 + f));
  };
  const auto graded = [](std::size_t x) { return static_cast<double>(x % 3); };
  const auto equal = [](std::size_t) { return 3.0; };
  std::map<std::string, TrainingSet> sets;
  sets["all ratings equal"] = set_of(ordinary, equal);
  sets["identical features"] = set_of([&](std::size_t x, std::size_t) { return ordinary(x, 0); }, graded);
  sets["constant features"] = set_of([](std::size_t, std::size_t) { return 1.0; }, graded);
  sets["a singular matrix"] =
      set_of([](std::size_t x, std::size_t f) { return static_cast<double>(x * (f + 1)); }, graded);
  sets["nothing ranked"] = set_of([](std::size_t, std::size_t) { return std::nan(""); }, graded);
  sets["huge values"] =
      set_of([&](std::size_t x, std::size_t f) { return 1e300 * (ordinary(x, f) - 2.0); }, graded);
  TrainingSet pairs = set_of(ordinary, equal);
  pairs.pairs = {{0, 1, 1.0}, {1, 2, 2.0}, {2, 0, 1.0}, {7, 6, 1.0}};
  sets["pairs without a difference of grades, and in a circle"] = pairs;
  TrainingSet same = set_of([&](std::size_t x, std::size_t f) { return ordinary(x / 2, f); }, graded);
  same.pairs = {{0, 1, 1.0}, {2, 3, 1.0}};
  sets["pairs of documents with equal features"] = same;
  return sets;
}

const std::map<std::string, std::vector<std::map<std::string, std::string>>> kForms = {
    {"rankboost-plus",
     {{{"form", "plus"}},
      {{"form", "plus-optimal"}},
      {{"form", "rb-d"}},
      {{"form", "rb-c"}},
      {{"form", "pair-free"}}}},
    {"mpboost",
     {{{"distance", "binary"}}, {{"distance", "ldd"}}, {{"distance", "logdd"}}, {{"distance", "logitdd"}}}},
    {"nearest-neighbour", {{}}},
    {"regression", {{}}},
    {"vector-similarity", {{}}},
    {"best-feature", {{}}},
    {"random-guessing", {{}}}};

}  // namespace

TEST_CASE("Unusual ratings give a model with finite scores or an error with the reason",
          "[experiments][bad_input]") {
  for (const auto& [name, set] : awkward_sets())
    for (const auto& [learner, forms] : kForms)
      for (auto options : forms) {
        if (learner == "rankboost-plus" || learner == "mpboost") options["rounds"] = "20";
        TrainingRequest request;
        request.train = &set;
        request.options = options;
        const auto result = metafuse::lab::find_learner(learner)->train(request);
        CAPTURE(name, learner, options);
        if (!result) {
          // a learner that has no use for weights refuses sets that have them
          const bool is_refused = result.error().code == Code::bad_data || result.error().code == Code::usage;
          CHECK(is_refused);
          CHECK(result.error().text.size() > 20);
          continue;
        }
        for (const double score : result->model.ranker->score(set.matrix)) CHECK(std::isfinite(score));
        for (const JsonObject& line : result->trace)
          for (const auto& field : line)
            if (field.value().is_double()) CHECK(std::isfinite(field.value().as_double()));
      }
}

TEST_CASE("Features whose size no model file can have are refused at training", "[experiments][bad_input]") {
  const TrainingSet set = awkward_sets().at("huge values");
  TrainingRequest request;
  request.train = &set;
  for (const char* learner : {"regression", "vector-similarity", "nearest-neighbour", "best-feature", "prank",
                              "prank-vp", "widrow-hoff", "oap-bpm"}) {
    INFO(learner);
    const auto result = metafuse::lab::find_learner(learner)->train(request);
    REQUIRE(result.has_error());
    CHECK(result.error().text.ends_with("exceeds 1e100; scale it"));
  }
}

TEST_CASE("Boosting reports that it cannot learn from equal ratings", "[experiments][bad_input]") {
  const TrainingSet set = awkward_sets().at("all ratings equal");
  for (const char* learner : {"rankboost-plus", "mpboost"}) {
    TrainingRequest request;
    request.train = &set;
    const auto result = metafuse::lab::find_learner(learner)->train(request);
    REQUIRE(!result.has_value());
    CHECK(result.error().text.find("no crucial pair") != std::string::npos);
  }
}

TEST_CASE("Parameters out of range are refused by name", "[experiments][bad_input]") {
  const TrainingSet set = awkward_sets().at("identical features");
  const std::vector<std::tuple<std::string, std::string, std::string>> wrong = {
      {"mpboost", "distance", "cubic"},         {"mpboost", "parameter", "0"},
      {"mpboost", "parameter", "nan"},          {"mpboost", "rounds", "0"},
      {"mpboost", "max-thresholds", "0"},       {"mpboost", "memory", "1"},
      {"rankboost-plus", "rounds", "-3"},       {"rankboost-plus", "losses", "some"},
      {"rankboost-plus", "undefined-alpha", ""}};
  for (const auto& [learner, option, value] : wrong) {
    TrainingRequest request;
    request.train = &set;
    request.options = {{option, value}};
    const auto result = metafuse::lab::find_learner(learner)->train(request);
    CAPTURE(learner, option, value);
    REQUIRE(!result.has_value());
    CHECK(result.error().code == Code::usage);
    CHECK(result.error().text.find("--" + option) != std::string::npos);
  }
}

TEST_CASE("A user whose ratings leave a part without feedback is skipped", "[experiments][bad_input]") {
  const auto value = [](std::size_t x, std::size_t f) { return static_cast<double>((x + f) % 5); };
  TrainingSet set = set_of(value, [](std::size_t) { return 4.0; });
  set.queries = {{"user", 0, 12, 1.0}};
  CHECK(metafuse::lab::experiments::rankboost_plus::split_documents(set, Random(1)).empty());
  for (std::size_t x = 0; x < set.grades.size(); ++x) set.grades[x] = x == 0 ? 5.0 : 4.0;
  CHECK(metafuse::lab::experiments::rankboost_plus::split_documents(set, Random(1)).empty());
  for (std::size_t x = 0; x < set.grades.size(); ++x) set.grades[x] = static_cast<double>(x % 2);
  CHECK(metafuse::lab::experiments::rankboost_plus::split_documents(set, Random(1)).size() <= 5);
}

TEST_CASE("Judged queries without their slot are named", "[experiments][bad_input]") {
  const test::TemporaryFolder folder;
  metafuse::lab::experiments::ExperimentOptions options;
  options.data = folder.path("data");
  folder.write("data/text-collections/cacm/judged.jsonl",
               R"({"id":"q7","slots":{"WORDS":"a b"},"relevant":[]})");
  const auto table = metafuse::lab::experiments::find_experiment("judges")->run(options);
  REQUIRE(!table.has_value());
  CHECK(table.error().code == Code::bad_data);
  CHECK(table.error().text.find("judged.jsonl: the query q7 has no slot QUERY") != std::string::npos);
}

TEST_CASE("Every experiment names the data that is missing", "[experiments][bad_input]") {
  const test::TemporaryFolder folder;
  for (const auto& experiment : metafuse::lab::experiments::experiments()) {
    metafuse::lab::experiments::ExperimentOptions options;
    options.data = folder.path("nothing");
    options.size = metafuse::lab::experiments::ExperimentOptions::Size::quick;
    const auto table = experiment.run(options);
    CAPTURE(experiment.name);
    REQUIRE(!table.has_value());
    CHECK(table.error().code == Code::no_input);
    CHECK(table.error().text.find("nothing") != std::string::npos);
  }
}
