#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/model/model_file.h"
#include "lab/learners/rankboost_plus/pair_rows.h"
#include "lab/registry.h"
#include "tests/support/rankboost_plus_reference.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::fusion::test;

namespace {

TrainingSet noisy_set() {
  Random random(5);
  BinaryRankings rankings(6, std::vector<int>(20));
  std::vector<double> grades;
  for (std::size_t x = 0; x < 20; ++x) {
    grades.push_back(static_cast<double>(random.below(3)));
    for (auto& ranking : rankings) ranking[x] = random.uniform() < 0.3 + 0.2 * grades[x] ? 1 : 0;
  }
  return binary_set(rankings, grades);
}

/// A set with enough pairs for several chunks and threads.
TrainingSet many_pairs() {
  Random random(17);
  TrainingSet set;
  const std::vector<Feature> features(3, {"f", FeatureKind::value, 0});
  set.matrix = FeatureMatrix(features, 60 * 100);
  for (std::size_t x = 0; x < set.matrix.document_count(); ++x) {
    if (x % 100 == 0) set.queries.push_back({"q" + std::to_string(x), x, x + 100, 1.0});
    set.grades.push_back(static_cast<double>(random.below(3)));
    set.documents.push_back(std::to_string(x));
    set.in_feedback.push_back(1);
    for (std::size_t f = 0; f < features.size(); ++f)
      set.matrix.set(x, f, std::floor(set.grades.back() + 3.0 * random.normal()));
  }
  return set;
}

Result<TrainingResult> train_with(const TrainingSet& set, std::map<std::string, std::string> options,
                                  unsigned threads = 1) {
  TrainingRequest request;
  request.threads = threads;
  request.train = &set;
  request.options = std::move(options);
  return metafuse::lab::find_learner("rankboost-plus")->train(request);
}

}  // namespace

TEST_CASE("A model of rankboost-plus survives its file bit for bit", "[fusion][rankboost_plus]") {
  const TrainingSet set = noisy_set();
  for (const char* form : {"plus", "plus-optimal", "rb-d", "rb-c", "pair-free"}) {
    const auto result = train_with(set, {{"form", form}, {"rounds", "12"}});
    REQUIRE(result.has_value());
    const std::string text = model_text(result->model);
    const auto again = parse_model(text, "m.json");
    REQUIRE(again.has_value());
    CHECK(model_text(*again) == text);
    CHECK(again->ranker->score(set.matrix) == result->model.ranker->score(set.matrix));
    CHECK(!result->trace.empty());
    CHECK(model_text(train_with(set, {{"form", form}, {"rounds", "12"}})->model) == text);
  }
}

TEST_CASE("Learner rankboost-plus refuses options out of range by name", "[fusion][rankboost_plus]") {
  const TrainingSet set = noisy_set();
  for (const auto& [name, value] : std::map<std::string, std::string>{{"form", "rb-e"},
                                                                      {"rounds", "0"},
                                                                      {"max-thresholds", "-1"},
                                                                      {"prune", "maybe"},
                                                                      {"memory", "1e3"}}) {
    const auto result = train_with(set, {{name, value}});
    REQUIRE(!result.has_value());
    CHECK(result.error().code == Code::usage);
    CHECK(result.error().text.find("--" + name) != std::string::npos);
  }
}

TEST_CASE("Learner rankboost-plus limits the thresholds per feature to the memory and says so",
          "[fusion][rankboost_plus]") {
  Random random(9);
  const std::size_t documents = 3000;
  TrainingSet set;
  std::vector<Feature> features;
  for (int f = 0; f < 12; ++f) features.push_back({"f" + std::to_string(f), FeatureKind::value, 0});
  set.matrix = FeatureMatrix(features, documents);
  for (std::size_t x = 0; x < documents; ++x) {
    if (x % 10 == 0) set.queries.push_back({"q" + std::to_string(x), x, x + 10, 1.0});
    set.documents.push_back({});
    set.in_feedback.push_back(1);
    set.grades.push_back(static_cast<double>(random.below(2)));
    for (std::size_t f = 0; f < features.size(); ++f)
      set.matrix.set(x, f, static_cast<double>(random.below(500)));
  }
  const auto result = train_with(set, {{"rounds", "3"}, {"memory", "16"}, {"prune", "yes"}});
  REQUIRE(result.has_value());
  CHECK(result->summary.find("thresholds per feature, so that training stays within 16 MB") !=
        std::string::npos);
  // Each pair of candidates takes 12 bytes, so there are at most sqrt(16 MB / 12) candidates.
  CHECK(result->model.training.at("max_thresholds").to_number<int>() < 100);
}

TEST_CASE("Learner rankboost-plus refuses options that its form does not read", "[fusion][rankboost_plus]") {
  const TrainingSet set = noisy_set();
  for (const auto& [form, option, value] :
       std::vector<std::array<std::string, 3>>{{"rb-c", "prune", "yes"},
                                               {"rb-c", "undefined-alpha", "finite"},
                                               {"plus", "undefined-alpha", "finite"},
                                               {"plus", "losses", "own"},
                                               {"pair-free", "prune", "no"}}) {
    CAPTURE(form, option);
    const auto result = train_with(set, {{"form", form}, {option, value}});
    REQUIRE(!result.has_value());
    CHECK(result.error().code == Code::usage);
    CHECK(result.error().text.find("--" + option + " needs --form") == 0);
  }
}

// The 200 million pairs of the first set would need 5 GB for their rows alone; those of the second fit the
// memory once but not twice, and no feature has a threshold to give up.
TEST_CASE("Learner rankboost-plus refuses pairs that do not fit, before they are made",
          "[fusion][rankboost_plus]") {
  for (const auto& [documents, grades] : {std::pair{20'000U, 20'000U}, {2'400U, 2U}}) {
    TrainingSet set;
    set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, documents);
    set.queries = {{"q", 0, documents, 1.0}};
    for (unsigned x = 0; x < documents; ++x) {
      set.grades.push_back(static_cast<double>(x % grades));
      set.in_feedback.push_back(1);
      set.documents.push_back({});
    }
    for (const std::string form : {"rb-c", "plus-optimal", "pair-free"}) {
      if (form == "pair-free" && grades == 2) continue;  // needs a table of grades only
      CAPTURE(documents, form);
      const auto result = train_with(set, {{"form", form}, {"memory", "16"}});
      REQUIRE(!result.has_value());
      CHECK(result.error().code == Code::bad_data);
      CHECK(result.error().text.find("--memory") != std::string::npos);
    }
  }
}

TEST_CASE("Losses of large classes equal their definition over pairs", "[fusion][rankboost_plus]") {
  Random random(23);
  TrainingSet set;
  constexpr std::size_t kDocuments = 1'500;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, kDocuments);
  set.queries = {{"q", 0, kDocuments, 1.0}};
  std::vector<double> scores;
  for (std::size_t x = 0; x < kDocuments; ++x) {
    set.grades.push_back(static_cast<double>(random.below(3)));
    set.in_feedback.push_back(1);
    set.documents.push_back({});
    // Ties, exact ones and such as differ by rounding, of small numbers and of large ones.
    scores.push_back(std::floor(40.0 * random.normal()) * (x % 5 == 0 ? 1e7 : 1.0) *
                     (1.0 + 1e-13 * static_cast<double>(random.below(3))));
  }
  const auto pairs = metafuse::lab::rankboost_plus::pair_rows(set, std::size_t{1} << 30);
  REQUIRE(pairs.has_value());
  double reversed = 0.0;
  double tied = 0.0;
  double count = 0.0;
  for (std::size_t a = 0; a < kDocuments; ++a)
    for (std::size_t b = 0; b < kDocuments; ++b) {
      if (set.grades[a] <= set.grades[b]) continue;
      count += 1.0;
      const double slack = 1e-12 * std::max({1.0, std::abs(scores[a]), std::abs(scores[b])});
      if (std::abs(scores[a] - scores[b]) <= slack)
        tied += 1.0;
      else if (scores[a] < scores[b])
        reversed += 1.0;
    }
  REQUIRE(tied > 100.0);
  const auto losses = metafuse::lab::rankboost_plus::rank_losses(*pairs, scores);
  CHECK(losses.r1 == Approx((reversed + tied) / count).epsilon(1e-12));
  CHECK(losses.r2 == Approx((reversed + 0.5 * tied) / count).epsilon(1e-12));
}

TEST_CASE("Learner rankboost-plus learns the same bytes on any number of threads",
          "[fusion][rankboost_plus]") {
  const TrainingSet set = many_pairs();
  REQUIRE(metafuse::lab::rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1))->chunks.size() > 3);
  for (const char* form : {"plus", "rb-d", "rb-c", "pair-free"}) {
    const auto one = train_with(set, {{"form", form}, {"rounds", "6"}});
    REQUIRE(one.has_value());
    for (const unsigned threads : {2U, 5U}) {
      const auto many = train_with(set, {{"form", form}, {"rounds", "6"}}, threads);
      REQUIRE(many.has_value());
      CHECK(model_text(many->model) == model_text(one->model));
      CHECK(many->trace == one->trace);
    }
  }
}
