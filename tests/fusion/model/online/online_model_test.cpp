#include "fusion/model/online/online_model.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "core/random.h"

using metafuse::Code;
using metafuse::JsonObject;
using metafuse::Random;
using namespace metafuse::fusion::online;

namespace {

constexpr OnlineMethod kAll[] = {OnlineMethod::prank,   OnlineMethod::prank_vp, OnlineMethod::widrow_hoff,
                                 OnlineMethod::oap_bpm, OnlineMethod::oap_bagg, OnlineMethod::oap_vp};

struct Stream {
  std::vector<double> rows;
  std::vector<int> ranks;
};

Stream noisy_stream(std::uint64_t seed, std::size_t examples, std::size_t inputs, int ranks) {
  Random random(seed);
  Stream stream;
  for (std::size_t t = 0; t < examples; ++t) {
    double sum = random.normal() * 0.2;
    for (std::size_t i = 0; i < inputs; ++i) {
      stream.rows.push_back(random.uniform());
      sum += stream.rows.back();
    }
    const double share = sum / static_cast<double>(inputs);
    stream.ranks.push_back(std::min(ranks, std::max(1, 1 + static_cast<int>(share * ranks))));
  }
  return stream;
}

OnlineOptions options_for(OnlineMethod method, std::size_t inputs, int ranks) {
  OnlineOptions options;
  options.method = method;
  options.inputs = inputs;
  options.ranks = ranks;
  options.rankers = 7;
  options.tau = 0.5;
  return options;
}

}  // namespace

TEST_CASE("The inner products of the exact map are the polynomial kernel", "[fusion][online]") {
  Random random(3);
  for (const int degree : {1, 2, 3, 5}) {
    for (const std::size_t inputs : {1U, 2U, 4U}) {
      const ExactMap map(inputs, degree);
      REQUIRE(map.size() == exact_map_size(inputs, degree));
      std::vector<double> a(inputs);
      std::vector<double> b(inputs);
      for (double& value : a) value = random.normal();
      for (double& value : b) value = random.normal();
      std::vector<double> mapped_a(map.size());
      std::vector<double> mapped_b(map.size());
      map.apply(a, mapped_a.data());
      map.apply(b, mapped_b.data());
      double dot = 0.0;
      for (std::size_t i = 0; i < map.size(); ++i) dot += mapped_a[i] * mapped_b[i];
      CHECK(dot == Approx(polynomial_kernel(a, b, degree)).epsilon(1e-10));
    }
  }
}

TEST_CASE("Stored examples within the budget predict like the exact map", "[fusion][online]") {
  const Stream stream = noisy_stream(9, 250, 3, 4);
  for (const OnlineMethod method : kAll) {
    OnlineOptions options = options_for(method, 3, 4);
    options.kernel.is_polynomial = true;
    auto exact = OnlineModel::make(options);
    options.kernel.max_map = 0;
    options.kernel.budget = 300;
    auto stored = OnlineModel::make(options);
    REQUIRE(exact.has_value());
    REQUIRE(stored.has_value());
    const auto left = exact->learn(stream.rows, stream.ranks);
    const auto right = stored->learn(stream.rows, stream.ranks);
    REQUIRE(left.has_value());
    REQUIRE(right.has_value());
    for (std::size_t t = 0; t < left->size(); ++t)
      REQUIRE((*left)[t].score == Approx((*right)[t].score).margin(1e-8));
    const std::vector<double> fresh = {0.2, 0.9, 0.4};
    CHECK(exact->predict(fresh).rank == Approx(stored->predict(fresh).rank).margin(1e-8));
  }
}

TEST_CASE("A full store of examples stays within its budget and still learns", "[fusion][online]") {
  const Stream stream = noisy_stream(10, 600, 3, 3);
  for (const OnlineMethod method : kAll) {
    OnlineOptions options = options_for(method, 3, 3);
    options.kernel = {true, 2, 0, 20};
    auto model = OnlineModel::make(options);
    REQUIRE(model.has_value());
    const auto predictions = model->learn(stream.rows, stream.ranks);
    REQUIRE(predictions.has_value());
    const auto state = model->state();
    CHECK(state.at("stored").get_array().size() == 20 * 3);
    auto again = OnlineModel::read(state);
    REQUIRE(again.has_value());
    CHECK(*again == *model);
  }
}

TEST_CASE("A saved state resumes bit for bit", "[fusion][online]") {
  const Stream stream = noisy_stream(12, 400, 5, 3);
  const std::size_t cut = 170;
  for (const bool is_polynomial : {false, true}) {
    for (const std::size_t max_map : {std::size_t{0}, std::size_t{1000}}) {
      for (const OnlineMethod method : kAll) {
        OnlineOptions options = options_for(method, 5, 3);
        options.kernel = {is_polynomial, 2, max_map, 30};
        auto whole = OnlineModel::make(options);
        auto first = OnlineModel::make(options);
        REQUIRE(whole.has_value());
        REQUIRE(first.has_value());
        const auto expected = whole->learn(stream.rows, stream.ranks, 2);
        const std::span rows(stream.rows);
        const std::span ranks(stream.ranks);
        REQUIRE(first->learn(rows.first(cut * 5), ranks.first(cut)).has_value());
        const auto text = metafuse::to_text(first->state());
        auto parsed = metafuse::parse_json(text, "state");
        REQUIRE(parsed.has_value());
        auto second = OnlineModel::read(parsed->as_object());
        REQUIRE(second.has_value());
        CHECK(*second == *first);
        const auto rest = second->learn(rows.subspan(cut * 5), ranks.subspan(cut), 3);
        REQUIRE(expected.has_value());
        REQUIRE(rest.has_value());
        CHECK(std::equal(rest->begin(), rest->end(), expected->begin() + cut));
        CHECK(metafuse::to_text(second->state()) == metafuse::to_text(whole->state()));
      }
    }
  }
}

TEST_CASE("The state of ROMMA's rules resumes bit for bit on any number of threads", "[fusion][online]") {
  const Stream stream = noisy_stream(13, 300, 5, 3);
  const std::size_t cut = 120;
  for (const StepRule rule : {StepRule::romma, StepRule::aggressive_romma}) {
    for (const OnlineMethod method :
         {OnlineMethod::prank, OnlineMethod::oap_bpm, OnlineMethod::oap_bagg, OnlineMethod::oap_vp}) {
      OnlineOptions options = options_for(method, 5, 3);
      options.prank_step = {rule, 0.5};
      auto whole = OnlineModel::make(options);
      auto first = OnlineModel::make(options);
      REQUIRE(whole.has_value());
      REQUIRE(first.has_value());
      REQUIRE(whole->learn(stream.rows, stream.ranks, 2).has_value());
      const std::span rows(stream.rows);
      const std::span ranks(stream.ranks);
      REQUIRE(first->learn(rows.first(cut * 5), ranks.first(cut)).has_value());
      auto parsed = metafuse::parse_json(metafuse::to_text(first->state()), "state");
      REQUIRE(parsed.has_value());
      auto second = OnlineModel::read(parsed->as_object());
      REQUIRE(second.has_value());
      CHECK(*second == *first);
      REQUIRE(second->learn(rows.subspan(cut * 5), ranks.subspan(cut), 3).has_value());
      CHECK(metafuse::to_text(second->state()) == metafuse::to_text(whole->state()));
    }
  }
}

TEST_CASE("ROMMA with incompatible options is refused with the option's name", "[fusion][online]") {
  const auto error_of = [](const OnlineOptions& options) {
    const auto made = OnlineModel::make(options);
    return made ? std::string() : made.error().text;
  };
  OnlineOptions options = options_for(OnlineMethod::oap_bpm, 3, 3);
  options.prank_step.rule = StepRule::romma;
  CHECK(error_of(options).empty());
  options.kernel.is_polynomial = true;
  CHECK(error_of(options).empty());
  options.kernel.max_map = 9;
  CHECK(error_of(options).find("--max-map") != std::string::npos);
  options = options_for(OnlineMethod::prank_vp, 3, 3);
  options.prank_step.rule = StepRule::romma;
  CHECK(error_of(options).find("--update") != std::string::npos);
  options = options_for(OnlineMethod::prank, 3, 3);
  options.prank_step = {StepRule::romma, 0.0};
  CHECK(error_of(options).find("--slack") != std::string::npos);
  options.prank_step = {StepRule::romma, 1.0};
  auto model = OnlineModel::make(options);
  REQUIRE(model.has_value());
  JsonObject state = model->state();
  state["update"] = "leap";
  CHECK(OnlineModel::read(state).error().text.find("body.update") != std::string::npos);
  state["update"] = "romma";
  state["slack_squares"] = metafuse::JsonArray{-1.0};
  CHECK(OnlineModel::read(state).error().text.find("body.slack_squares") != std::string::npos);
}

TEST_CASE("PRank-VP weights each rule by the number of examples that it survived", "[fusion][online]") {
  // k = 2, one input. Start: w = 0, c = 0: rank 2 for every x.
  // (1, 2) right: one vote. (1, 1) wrong: rule (0; 0) kept with 1 vote; w = -1, c = 1: rank 2 iff -x >= 1.
  // (1, 1), (0, 1) right: two votes for the current rule.
  OnlineOptions options = options_for(OnlineMethod::prank_vp, 1, 2);
  auto model = OnlineModel::make(options);
  REQUIRE(model.has_value());
  const std::vector<double> rows = {1.0, 1.0, 1.0, 0.0};
  const std::vector<int> ranks = {2, 1, 1, 1};
  REQUIRE(model->learn(rows, ranks).has_value());
  // x = 1: old rule says 2 (1 vote), current says 1 (2 votes): (2 + 2) / 3.
  CHECK(model->predict(std::vector<double>{1.0}).rank == Approx(4.0 / 3.0));
  CHECK(model->predict(std::vector<double>{-5.0}).rank == Approx(2.0));
}

TEST_CASE("Widrow-Hoff takes the gradient step of a worked example", "[fusion][online]") {
  OnlineOptions options = options_for(OnlineMethod::widrow_hoff, 2, 3);
  options.step = 0.5;
  auto model = OnlineModel::make(options);
  REQUIRE(model.has_value());
  // w = 0: predicts 0; w = .5 (3 - 0) (1, 0) = (1.5, 0). Then 1.5 for (1, 1); w += .5 (2 - 1.5) (1, 1).
  const auto predictions = model->learn(std::vector<double>{1.0, 0.0, 1.0, 1.0}, std::vector<int>{3, 2});
  REQUIRE(predictions.has_value());
  CHECK((*predictions)[0].rank == 0.0);
  CHECK((*predictions)[0].rounded == 1);
  CHECK((*predictions)[1].rank == 1.5);
  CHECK((*predictions)[1].rounded == 2);
  CHECK(model->linear_weights() == std::vector<double>{1.75, 0.25});
}

TEST_CASE("A step that makes Widrow-Hoff diverge is an error and never an infinity", "[fusion][online]") {
  OnlineOptions options = options_for(OnlineMethod::widrow_hoff, 1, 3);
  options.step = 10.0;
  auto model = OnlineModel::make(options);
  REQUIRE(model.has_value());
  const std::vector<double> rows(2000, 9.0);
  const std::vector<int> ranks(2000, 3);
  const auto predictions = model->learn(rows, ranks);
  REQUIRE_FALSE(predictions.has_value());
  CHECK(predictions.error().code == Code::bad_data);
  CHECK(predictions.error().text.find("--step") != std::string::npos);
}

TEST_CASE("Options out of range are refused by name", "[fusion][online]") {
  OnlineOptions good = options_for(OnlineMethod::oap_bpm, 2, 3);
  const auto refused = [](OnlineOptions options) { return !OnlineModel::make(options).has_value(); };
  CHECK_FALSE(refused(good));
  OnlineOptions bad = good;
  bad.ranks = 1;
  CHECK(refused(bad));
  bad = good;
  bad.tau = 0.0;
  CHECK(refused(bad));
  bad = good;
  bad.tau = 1.5;
  CHECK(refused(bad));
  bad = good;
  bad.rankers = 0;
  CHECK(refused(bad));
  bad = good;
  bad.step = -1.0;
  CHECK(refused(bad));
  bad = good;
  bad.inputs = 0;
  CHECK(refused(bad));
}

TEST_CASE("A state with other dimensions or a damaged field is refused with the field", "[fusion][online]") {
  auto model = OnlineModel::make(options_for(OnlineMethod::oap_bpm, 3, 4));
  REQUIRE(model.has_value());
  const JsonObject good = model->state();
  REQUIRE(OnlineModel::read(good).has_value());
  const auto error_with = [&](const char* field, metafuse::Json value) {
    JsonObject bad = good;
    bad[field] = std::move(value);
    const auto read = OnlineModel::read(bad);
    return read ? std::string() : read.error().text;
  };
  CHECK(error_with("inputs", 4).find("body.weights") != std::string::npos);
  CHECK(error_with("ranks", 5).find("body.thresholds") != std::string::npos);
  CHECK(error_with("method", "nothing").find("body.method") != std::string::npos);
  CHECK(error_with("tau", "x").find("body.tau") != std::string::npos);
  CHECK(error_with("tau", 0.0).find("--tau") != std::string::npos);
  CHECK(error_with("steps", -1).find("body.steps") != std::string::npos);
  CHECK(error_with("correct", metafuse::JsonArray{}).find("body.correct") != std::string::npos);
  for (const char* field : {"weights", "thresholds", "weight_sums"}) {
    metafuse::JsonArray numbers = good.at(field).get_array();
    numbers.back() = 1e101;
    CHECK(error_with(field, numbers) == std::string("body.") + field + ": must be from -1e100 to 1e100");
  }
  for (const auto& field : good) {
    JsonObject bad = good;
    bad.erase(field.key());
    CHECK_FALSE(OnlineModel::read(bad).has_value());
  }
}

TEST_CASE("The options of online rankers are accepted up to exactly their limits", "[fusion][online]") {
  const auto refusal = [](const OnlineOptions& options) {
    const auto made = OnlineModel::make(options);
    return made ? std::string() : made.error().text;
  };
  OnlineOptions options = options_for(OnlineMethod::prank, 1, 2);
  CHECK(refusal(options).empty());
  options.ranks = 1;
  CHECK(refusal(options).find("at least two grades") != std::string::npos);
  options = options_for(OnlineMethod::oap_bpm, 1, 2);
  options.rankers = 1;
  CHECK(refusal(options).empty());
  options.rankers = 1'000'001;
  CHECK(refusal(options) == "--rankers must be from 1 to 1000000");
  options = options_for(OnlineMethod::oap_bpm, 1, 2);
  options.tau = 1.0;
  CHECK(refusal(options).empty());
  for (const double tau : {0.0, 1.0000001, std::nan("")}) {
    options.tau = tau;
    CHECK(refusal(options) == "--tau must be above 0 and at most 1");
  }
  options = options_for(OnlineMethod::widrow_hoff, 1, 2);
  for (const double step : {0.0, HUGE_VAL, std::nan("")}) {
    options.step = step;
    CHECK(refusal(options) == "--step must be above 0");
  }
  options = options_for(OnlineMethod::prank, 1, 2);
  for (const int degree : {1, 20}) {
    options.kernel.degree = degree;
    CHECK(refusal(options).empty());
  }
  for (const int degree : {0, 21}) {
    options.kernel.degree = degree;
    CHECK(refusal(options) == "--degree must be from 1 to 20");
  }
  options = options_for(OnlineMethod::prank, 1, 2);
  options.kernel.budget = 1;
  CHECK(refusal(options).empty());
  options.kernel.budget = 0;
  CHECK(refusal(options) == "--budget must be 1 or more");
  options = options_for(OnlineMethod::prank_vp, 1, 2);
  options.max_votes = 1;
  CHECK(refusal(options).empty());
  options.max_votes = 0;
  CHECK(refusal(options) == "--max-votes must be 1 or more");
  options = options_for(OnlineMethod::prank, 1, 2);
  for (const double slack : {1e-6, 1e6}) {
    options.prank_step = {StepRule::romma, slack};
    CHECK(refusal(options).empty());
  }
  for (const double slack : {0.9e-6, 1.1e6, std::nan("")}) {
    options.prank_step = {StepRule::romma, slack};
    CHECK(refusal(options) == "--slack must be from 0.000001 to 1000000");
  }
}

TEST_CASE("A state whose thresholds fall is refused", "[fusion][online]") {
  OnlineOptions options = options_for(OnlineMethod::prank, 1, 4);
  auto model = OnlineModel::make(options);
  REQUIRE(model.has_value());
  JsonObject state = model->state();
  const auto with_thresholds = [&](metafuse::JsonArray thresholds) {
    state["thresholds"] = std::move(thresholds);
    const auto read = OnlineModel::read(state);
    return read ? std::string() : read.error().text;
  };
  CHECK(with_thresholds({0.0, 0.0, 1.0}).empty());
  CHECK(with_thresholds({0.0, -1.0, 1.0}) == "body.thresholds: not ascending");
  CHECK(with_thresholds({0.0, 1.0, 0.5}) == "body.thresholds: not ascending");
  // Each ranker has its own thresholds: the first of one may lie below the last of another.
  options = options_for(OnlineMethod::oap_bpm, 1, 3);
  options.rankers = 2;
  state = OnlineModel::make(options)->state();
  CHECK(with_thresholds({0.0, 1.0, -1.0, 0.0}).empty());
  CHECK(with_thresholds({0.0, 1.0, 0.0, -1.0}) == "body.thresholds: not ascending");
}

TEST_CASE("PRank-VP predicts by its first rule before it has learned anything", "[fusion][online]") {
  auto model = OnlineModel::make(options_for(OnlineMethod::prank_vp, 1, 3));
  REQUIRE(model.has_value());
  const auto first =
      OnlineModel::make(options_for(OnlineMethod::prank, 1, 3))->predict(std::vector<double>{1.0});
  CHECK(model->predict(std::vector<double>{1.0}) == first);
}

TEST_CASE("A small state that claims to be huge is refused before anything is allocated",
          "[fusion][online][security]") {
  const JsonObject good = OnlineModel::make(options_for(OnlineMethod::oap_bpm, 3, 4))->state();
  const auto refusal = [](const JsonObject& state) {
    const auto read = OnlineModel::read(state);
    return read ? std::string() : read.error().text;
  };
  JsonObject bad = good;
  bad["inputs"] = 10'000'000;
  bad["rankers"] = 1'000'000;
  CHECK(refusal(bad).find("body.weights") != std::string::npos);
  bad["kernel"] = JsonObject{{"polynomial", true}, {"degree", 2}, {"max_map", 0}, {"budget", 1'000'000}};
  CHECK(refusal(bad).find("body.weights") != std::string::npos);
  bad["method"] = "widrow-hoff";
  CHECK(refusal(bad).find("body.weights") != std::string::npos);
  bad["kernel"].as_object()["max_map"] = std::uint64_t{1} << 60;
  CHECK(refusal(bad).find("--max-map must be at most 10000000") != std::string::npos);
}
