#include "fusion/model/relevance_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

using Numbers = std::vector<double>;

Numbers ones(std::size_t count) {
  return Numbers(count, 1.0);
}

/// Isotonic regression by its max-min formula (Robertson, Wright, Dykstra 1988, sec. 1.4): the value at i is
/// the maximum over a <= i of the minimum over b >= i of the mean of a to b.
Numbers slow_isotonic(const Numbers& values, const Numbers& weights) {
  Numbers out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a <= i; ++a) {
      double least = std::numeric_limits<double>::infinity();
      double sum = 0.0, weight = 0.0;
      for (std::size_t b = a; b < values.size(); ++b) {
        sum += values[b] * weights[b];
        weight += weights[b];
        if (b >= i) least = std::min(least, sum / weight);
      }
      best = std::max(best, least);
    }
    out.push_back(best);
  }
  return out;
}

std::string model_with(const std::string& relevance) {
  return R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[{"name":"a",)"
         R"("kind":"rank","depth":10}],"unranked":"absent","body":{"weak_rankings":[]},)" +
         relevance + R"("training":{}})";
}

std::string mistake_of(const std::string& relevance) {
  const auto model = parse_model(model_with("\"relevance\":" + relevance + ","), "m.json");
  return model ? "" : model.error().text;
}

}  // namespace

TEST_CASE("Adjacent violators are pooled", "[fusion][relevance]") {
  // 1 3 2 4 2: 3 and 2 violate the order and become 2.5 2.5. Then 4 and 2 become 3 3, which is above 2.5.
  CHECK(pool_adjacent_violators(Numbers{1, 3, 2, 4, 2}, ones(5)) == Numbers{1, 2.5, 2.5, 3, 3});
  // With a weight of 3 for the last, 4 and 2 become (4 + 6) / 4 = 2.5, which joins the block before it.
  CHECK(pool_adjacent_violators(Numbers{1, 3, 2, 4, 2}, Numbers{1, 1, 1, 1, 3}) ==
        Numbers{1, 2.5, 2.5, 2.5, 2.5});
  // 0 1 1 0 0: 1 0 pool to 1/2, which with 1 before it makes 2/3, and with the last 0 makes 1/2.
  CHECK(pool_adjacent_violators(Numbers{0, 1, 1, 0, 0}, ones(5)) == Numbers{0, .5, .5, .5, .5});
  CHECK(pool_adjacent_violators(Numbers{3, 2, 1}, ones(3)) == Numbers{2, 2, 2});
  CHECK(pool_adjacent_violators(Numbers{1, 2, 3}, ones(3)) == Numbers{1, 2, 3});
  CHECK(pool_adjacent_violators({}, {}).empty());
}

TEST_CASE("Pooling agrees with the max-min formula", "[fusion][relevance]") {
  Random random(5);
  for (int run = 0; run < 300; ++run) {
    Numbers values, weights;
    const std::size_t count = 1 + random.below(12);
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(random.below(5)));
      weights.push_back(static_cast<double>(1 + random.below(4)));
    }
    const Numbers fast = pool_adjacent_violators(values, weights);
    const Numbers slow = slow_isotonic(values, weights);
    for (std::size_t i = 0; i < count; ++i) CHECK(fast[i] == Approx(slow[i]).margin(1e-12));
  }
}

TEST_CASE("A curve is read between its points and is constant beyond them", "[fusion][relevance]") {
  const RelevanceCurve curve{{-1, 1, 3}, {0.2, 0.4, 0.8}};
  CHECK(relevance_at(curve, -5) == 0.2);
  CHECK(relevance_at(curve, -1) == 0.2);
  CHECK(relevance_at(curve, 0) == Approx(0.3));
  CHECK(relevance_at(curve, 1) == 0.4);
  CHECK(relevance_at(curve, 2.5) == Approx(0.7));
  CHECK(relevance_at(curve, 9) == 0.8);
  const double most = std::numeric_limits<double>::max();
  CHECK(relevance_at({{-most, most}, {0, 1}}, 0) == Approx(0.5));
  CHECK(relevance_at({{-most, most}, {0, 1}}, most) == 1);
  CHECK(relevance_at({{2}, {0.3}}, 2) == 0.3);
}

TEST_CASE("A fitted curve has the shares of groups of at least ten documents", "[fusion][relevance]") {
  std::vector<ScoredRelevance> documents;
  // Scores 1 to 10 with one relevant, 11 to 20 with 4, 21 to 25, too few for a group, with 5: 9 of 15.
  for (int i = 1; i <= 25; ++i)
    documents.push_back({static_cast<double>(i), i == 3 || (i > 10 && i < 15) || i > 20});
  const RelevanceCurve curve = fit_relevance(documents);
  CHECK(curve.scores == Numbers{1, 10, 11, 25});
  REQUIRE(curve.values.size() == 4);
  CHECK(curve.values[0] == Approx(0.1));
  CHECK(curve.values[1] == Approx(0.1));
  CHECK(curve.values[2] == Approx(0.6));
  CHECK(curve.values[3] == Approx(0.6));
  std::ranges::reverse(documents);
  CHECK(fit_relevance(documents) == curve);
  // Equal scores are never divided, however many there are.
  const RelevanceCurve flat = fit_relevance(std::vector<ScoredRelevance>(30, {7.0, true}));
  CHECK(flat == RelevanceCurve{{7}, {1}});
}

TEST_CASE("Fitted curves never fall, whatever the scores say", "[fusion][relevance]") {
  Random random(8);
  for (int run = 0; run < 100; ++run) {
    std::vector<ScoredRelevance> documents;
    for (std::size_t i = 0; i < 1 + random.below(400); ++i)
      documents.push_back({static_cast<double>(random.below(60)), random.below(3) == 0});
    const RelevanceCurve curve = fit_relevance(documents);
    CHECK(read_relevance_curve(to_json(curve)).value() == curve);
    double before = 0.0;
    for (double score = -1; score < 61; score += 0.5) {
      CHECK(relevance_at(curve, score) >= before);
      before = relevance_at(curve, score);
    }
    CHECK(before <= 1.0);
  }
}

TEST_CASE("A model file keeps the curve bit for bit, and files without one still load",
          "[fusion][relevance]") {
  auto model = parse_model(model_with(""), "m.json");
  REQUIRE(model.has_value());
  CHECK_FALSE(model->relevance.has_value());
  CHECK(model_text(*model).find("relevance") == std::string::npos);
  model->relevance = RelevanceCurve{{-0.1, 1.0 / 3.0, 2}, {0, 0.1 + 0.2, 1}};
  const auto again = parse_model(model_text(*model), "m.json");
  REQUIRE(again.has_value());
  CHECK(again->relevance == model->relevance);
  CHECK(model_text(*again) == model_text(*model));
}

TEST_CASE("A damaged curve is refused with the file and the member", "[fusion][relevance]") {
  CHECK(mistake_of(R"({"scores":[0,1],"values":[0.1,0.9]})").empty());
  CHECK(mistake_of("[]") == "m.json: \"relevance\" must be an object; train the model again");
  const auto names = [](const std::string& relevance, const std::string& member) {
    const std::string text = mistake_of(relevance);
    INFO(relevance << ": " << text);
    return text.starts_with("m.json: relevance." + member);
  };
  CHECK(names("{}", "scores"));
  CHECK(names(R"({"scores":[0,1]})", "values"));
  CHECK(names(R"({"scores":[],"values":[]})", "scores"));
  CHECK(names(R"({"scores":[0,1],"values":[0.5]})", "values"));
  CHECK(names(R"({"scores":[0,0],"values":[0.1,0.2]})", "scores"));
  CHECK(names(R"({"scores":[1,0],"values":[0.1,0.2]})", "scores"));
  CHECK(names(R"({"scores":[0,1],"values":[0.2,0.1]})", "values"));
  CHECK(names(R"({"scores":[0,1],"values":[-0.1,0.1]})", "values"));
  CHECK(names(R"({"scores":[0,1],"values":[0.1,1.1]})", "values"));
  CHECK(names(R"({"scores":[0,"1"],"values":[0.1,1]})", "scores"));
  CHECK(names(R"({"scores":[0,null],"values":[0.1,1]})", "scores"));
  CHECK_FALSE(mistake_of(R"({"scores":[0,NaN],"values":[0.1,1]})").empty());
  CHECK_FALSE(mistake_of(R"({"scores":[0,1e999],"values":[0.1,1]})").empty());
  std::string many = "0";
  std::string values = "0.5";
  for (int i = 1; i <= 10'000; ++i) {
    many += ',' + std::to_string(i);
    values += ",0.5";
  }
  CHECK(names("{\"scores\":[" + many + "],\"values\":[" + values + "]}", "scores"));
}
