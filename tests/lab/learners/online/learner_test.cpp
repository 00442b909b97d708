#include "lab/learners/online/learner.h"

#include <cmath>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/model/online/reranker.h"
#include "lab/registry.h"
#include "tests/support/ordered_pairs.h"

using metafuse::Code;
using metafuse::Random;
using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::fusion::online;

namespace {

/// A ranker whose scores are those of another ranker times a constant.
class ScaledRanker final : public Ranker {
 public:
  ScaledRanker(SharedRanker base, double factor) : base_(std::move(base)), factor_(factor) {}

  std::vector<double> score(const FeatureMatrix& documents) const override {
    return scaled(base_->score(documents));
  }
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override {
    return scaled(base_->contributions(documents, document));
  }
  metafuse::JsonObject body() const override { return {}; }
  std::string describe(const std::vector<Feature>&) const override { return {}; }

 private:
  std::vector<double> scaled(std::vector<double> numbers) const {
    for (double& number : numbers) number *= factor_;
    return numbers;
  }

  SharedRanker base_;
  double factor_;
};

/// The grade is 2 where the first feature is large and 1 where it is medium; the second feature is noise and
/// the third is often unranked.
TrainingSet small_set(std::uint64_t seed, bool is_reversed = false, bool has_one_class = false) {
  Random random(seed);
  struct Row {
    std::string query;
    std::string document;
    double grade;
    std::vector<Cell> cells;
  };
  std::vector<Row> rows;
  for (int q = 0; q < 20; ++q)
    for (int d = 0; d < 15; ++d) {
      const double signal = random.uniform();
      std::vector<Cell> cells = {{0, 100.0 * signal}, {1, random.normal()}};
      if (random.uniform() < 0.3) cells.push_back({2, random.uniform()});
      const double grade = has_one_class ? 1.0 : signal > 0.8 ? 2.0 : signal > 0.5 ? 1.0 : 0.0;
      rows.push_back({"q" + std::to_string(q), "d" + std::to_string(d), grade, cells});
    }
  if (is_reversed) std::reverse(rows.begin(), rows.end());
  TrainingSetBuilder builder;
  for (const Row& row : rows) builder.add({row.query, row.document, row.grade, true, row.cells});
  auto set = builder.finish({{"1"}, {"2"}, {"3"}}, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

metafuse::Result<TrainingResult> train(const std::string& learner, const TrainingSet& set,
                                       std::map<std::string, std::string> options, unsigned threads = 1) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  request.threads = threads;
  return metafuse::lab::find_learner(learner)->train(request);
}

const char* const kNames[] = {"prank", "prank-vp", "widrow-hoff", "oap-bpm", "oap-bagg", "oap-vp"};

}  // namespace

TEST_CASE("Every online learner orders unseen documents by what it has learned", "[fusion][online]") {
  const TrainingSet set = small_set(3);
  const TrainingSet fresh = small_set(4);
  for (const char* name : kNames)
    for (const char* kernel : {"linear", "polynomial"}) {
      const auto result = train(name, set, {{"passes", "10"}, {"kernel", kernel}});
      REQUIRE(result.has_value());
      INFO(name << ' ' << kernel);
      CHECK(metafuse::test::share_of_rightly_ordered_pairs(fresh, result->model.ranker->score(fresh.matrix)) >
            0.85);
      CHECK(result->trace.size() == 10);
    }
}

TEST_CASE("Online training does not depend on input order or threads and survives its file",
          "[fusion][online]") {
  const TrainingSet set = small_set(5);
  const TrainingSet reversed = small_set(5, true);
  for (const char* name : kNames) {
    const auto one = train(name, set, {{"passes", "2"}});
    const auto two = train(name, reversed, {{"passes", "2"}}, 4);
    REQUIRE(one.has_value());
    REQUIRE(two.has_value());
    const std::string text = model_text(one->model);
    CHECK(text == model_text(two->model));
    auto read = parse_model(text, "model");
    REQUIRE(read.has_value());
    CHECK(model_text(*read) == text);
    CHECK(read->ranker->score(set.matrix) == one->model.ranker->score(set.matrix));
    CHECK(one->model.ranker->describe(set.matrix.features()).find(name) == 0);
  }
}

TEST_CASE("Contributions of a linear online model sum to its score", "[fusion][online]") {
  const TrainingSet set = small_set(6);
  for (const char* name : {"prank", "oap-bpm"}) {
    const auto result = train(name, set, {});
    REQUIRE(result.has_value());
    const auto scores = result->model.ranker->score(set.matrix);
    for (std::size_t d = 0; d < scores.size(); ++d) {
      double sum = 0.0;
      for (const double part : result->model.ranker->contributions(set.matrix, d)) sum += part;
      REQUIRE(sum == Approx(scores[d]).margin(1e-9));
    }
  }
}

TEST_CASE("Two passes equal one pass resumed by another", "[fusion][online]") {
  const TrainingSet set = small_set(7);
  for (const char* name : kNames) {
    const auto whole = train(name, set, {{"passes", "2"}});
    const auto first = train(name, set, {});
    REQUIRE(whole.has_value());
    REQUIRE(first.has_value());
    TrainingRequest request;
    request.train = &set;
    request.resume = &first->model;
    const auto second = metafuse::lab::find_learner(name)->train(request);
    REQUIRE(second.has_value());
    CHECK(metafuse::to_text(second->model.ranker->body()) == metafuse::to_text(whole->model.ranker->body()));
  }
}

TEST_CASE("Grades that do not fit the options are refused", "[fusion][online]") {
  const TrainingSet set = small_set(8);
  CHECK(train("oap-bpm", small_set(8, false, true), {}).error().text.find("same grade") != std::string::npos);
  CHECK(train("oap-bpm", set, {{"grades", "0,1"}}).error().code == Code::bad_data);
  CHECK(train("oap-bpm", set, {{"grades", "0,2,1"}}).error().code == Code::usage);
  CHECK(train("oap-bpm", set, {{"grades", "0,,1"}}).error().code == Code::usage);
  CHECK(train("oap-bpm", set, {{"grades", "0,1,2,3"}}).has_value());
  TrainingSet paired = small_set(8);
  paired.pairs.push_back({0, 1, 1.0});
  CHECK(train("oap-bpm", paired, {}).error().text.find("--pairs") != std::string::npos);
  // A grade that is missing in the training part keeps its rank between the others.
  TrainingSet gap = small_set(8);
  for (double& grade : gap.grades) grade = grade == 1.0 ? 0.0 : grade;
  const auto result = train("prank", gap, {});
  REQUIRE(result.has_value());
  CHECK(result->model.ranker->body().at("grades").get_array().size() == 3);
}

TEST_CASE("A resumed stream equals the whole and a bad document changes nothing", "[fusion][online]") {
  Random random(17);
  for (const char* name : kNames) {
    const OnlineMethod method = *online::method_of(name);
    std::map<std::string, std::string> options = {{"grades", "0,1,2"}};
    if (is_ensemble(method)) options["rankers"] = "7";
    const auto settings = metafuse::lab::online::read_settings(method, options, 3);
    REQUIRE(settings.has_value());
    auto whole = metafuse::lab::online::DocumentStream::start(*settings);
    auto part = metafuse::lab::online::DocumentStream::start(*settings);
    REQUIRE(whole.has_value());
    REQUIRE(part.has_value());
    CHECK_FALSE(part->model().has_value());
    const std::vector<metafuse::lab::online::StreamCell> wrong = {{9, false, 1.0}};
    CHECK_FALSE(part->take(5.0, wrong).has_value());
    for (int t = 0; t < 200; ++t) {
      const double a = random.uniform();
      const std::vector<metafuse::lab::online::StreamCell> cells = {
          {1, false, a}, {2, t % 3 == 0, a}, {4, false, 1.0}};
      const double grade = std::floor(a * 3.0);
      const auto expected = whole->take(grade, cells);
      const auto said = part->take(grade, cells);
      REQUIRE(expected.has_value());
      REQUIRE(said.has_value());
      REQUIRE(said->score == expected->score);
      CHECK_FALSE(part->take(7.0, cells).has_value());
      CHECK_FALSE(part->take(grade, wrong).has_value());
      CHECK_FALSE(
          part->take(grade, std::vector<metafuse::lab::online::StreamCell>{{1, false, 1e300}}).has_value());
      if (t != 120) continue;
      auto model = parse_model(model_text(*part->model()), "model");
      REQUIRE(model.has_value());
      auto resumed = metafuse::lab::online::DocumentStream::resume(*model);
      REQUIRE(resumed.has_value());
      part = std::move(resumed);
    }
    CHECK(model_text(*part->model()) == model_text(*whole->model()));
  }
}

TEST_CASE("A document that would make weights overflow is refused and changes nothing", "[fusion][online]") {
  Random random(18);
  for (const char* name : kNames)
    for (const char* kernel : {"linear", "polynomial"})
      for (const char* map : {"1000", "0"}) {
        INFO(name << ' ' << kernel << ' ' << map);
        std::map<std::string, std::string> options = {{"grades", "0,1,2"}, {"kernel", kernel}};
        if (kernel[0] == 'p') options.insert({{"degree", "5"}, {"max-map", map}});
        const auto settings = metafuse::lab::online::read_settings(*online::method_of(name), options, 3);
        REQUIRE(settings.has_value());
        auto clean = metafuse::lab::online::DocumentStream::start(*settings);
        auto mixed = metafuse::lab::online::DocumentStream::start(*settings);
        REQUIRE(clean.has_value());
        REQUIRE(mixed.has_value());
        for (int t = 0; t < 40; ++t) {
          const double a = random.uniform();
          const std::vector<metafuse::lab::online::StreamCell> cells = {{1, false, a}, {2, false, 1.0}};
          const std::vector<metafuse::lab::online::StreamCell> huge = {{1, false, 1e110}, {2, false, 1e110}};
          const auto refused = mixed->take(2.0, huge);
          REQUIRE(!refused.has_value());
          CHECK(refused.error().code == Code::bad_data);
          const auto one = clean->take(std::floor(a * 3.0), cells);
          const auto two = mixed->take(std::floor(a * 3.0), cells);
          CHECK(one.has_value() == two.has_value());  // Widrow-Hoff may diverge on either
          if (one && two) CHECK(one->score == two->score);
        }
        CHECK(model_text(*clean->model()) == model_text(*mixed->model()));
      }
}

TEST_CASE("Training on values that the kernel makes overflow is refused as bad data", "[fusion][online]") {
  TrainingSetBuilder builder;
  for (int d = 0; d < 6; ++d) {
    const std::string document = "d" + std::to_string(d);
    const std::vector<Cell> cells = {{0, d == 0 ? 1e99 : 0.1 * d}, {1, 0.5}};
    builder.add({"q", document, static_cast<double>(d % 3), true, cells});
  }
  const auto set = builder.finish({{"1"}, {"2"}}, {});
  REQUIRE(set.has_value());
  for (const char* name : kNames) {
    INFO(name);
    const auto result = train(name, *set, {{"kernel", "polynomial"}, {"degree", "5"}, {"scale", "none"}});
    REQUIRE(!result.has_value());
    CHECK(result.error().code == Code::bad_data);
  }
}

TEST_CASE("Online learners refuse options that only another kernel or update reads", "[fusion][online]") {
  const TrainingSet set = small_set(20);
  for (const char* option : {"degree", "max-map", "budget", "slack"}) {
    const auto result = train("prank", set, {{option, "5"}});
    REQUIRE(!result.has_value());
    CHECK(result.error().code == Code::usage);
    CHECK(result.error().text.find(std::string("--") + option + " needs --") == 0);
  }
}

TEST_CASE("A reranker starts with its model's order and learns what people choose", "[fusion][online]") {
  const TrainingSet set = small_set(9);
  const auto base = train("oap-bpm", set, {});
  REQUIRE(base.has_value());
  auto reranker = online::Reranker::over(base->model, {});
  REQUIRE(reranker.has_value());
  FeatureMatrix search({{"1"}, {"2"}, {"3"}}, 6);
  Random random(2);
  for (std::size_t d = 0; d < 6; ++d) {
    search.set(d, 0, 100.0 * random.uniform());
    search.set(d, 1, static_cast<double>(d) - 3.0);
  }
  const auto plain = base->model.ranker->score(search);
  const auto before = reranker->score(search);
  for (std::size_t a = 0; a < 6; ++a)
    for (std::size_t b = 0; b < 6; ++b) CHECK((plain[a] < plain[b]) == (before[a] < before[b]));
  // People always choose the document with the largest second feature.
  const std::vector<online::RerankerFeedback> feedback = {{5, 2}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}};
  for (int i = 0; i < 200; ++i) REQUIRE(reranker->learn(search, feedback).has_value());
  const auto after = reranker->score(search);
  CHECK(std::max_element(after.begin(), after.end()) - after.begin() == 5);

  auto again = online::Reranker::resume(base->model, reranker->state());
  REQUIRE(again.has_value());
  CHECK(again->score(search) == after);

  // A model with scores 1024 times larger is reranked identically to the last bit.
  Model larger = base->model;
  larger.ranker = std::make_shared<ScaledRanker>(base->model.ranker, 1024.0);
  auto scaled = online::Reranker::over(larger, {});
  REQUIRE(scaled.has_value());
  CHECK(scaled->score(search) == before);
  for (int i = 0; i < 200; ++i) REQUIRE(scaled->learn(search, feedback).has_value());
  CHECK(scaled->score(search) == after);
  CHECK(again->steps() == 1200);
  const std::vector<online::RerankerFeedback> no_such = {{6, 1}};
  const std::vector<online::RerankerFeedback> no_level = {{0, 3}};
  CHECK(reranker->learn(search, no_such).error().code == Code::bad_data);
  CHECK(reranker->learn(search, no_level).error().code == Code::bad_data);
  Model other = base->model;
  other.features.pop_back();
  CHECK(online::Reranker::resume(other, reranker->state()).error().text.find("features") !=
        std::string::npos);
}
