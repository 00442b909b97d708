#include "fusion/training/list_ordering.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/data/fused_order.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

std::vector<Feature> lists_named(const std::vector<std::string>& names) {
  std::vector<Feature> out;
  for (const std::string& name : names) out.push_back({name, FeatureKind::rank, 0});
  return out;
}

/// Three lists of one query each with the relevant documents x and y, and z, which is not relevant: "both"
/// holds x at rank 1 and y at rank 3, "same" x at rank 1, "other" y at rank 1.
TrainingSet overlapping(int queries) {
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    const std::string id = "q" + std::to_string(q);
    builder.add({id, "x", 1.0, true, std::vector<Cell>{{0, -1.0}, {1, -1.0}}});
    builder.add({id, "y", 1.0, true, std::vector<Cell>{{0, -3.0}, {2, -1.0}}});
    builder.add({id, "z", 0.0, true, std::vector<Cell>{{0, -2.0}}});
  }
  return builder.finish(lists_named({"both", "same", "other"}), {}).value();
}

/// RRF of a set's lists.
Model rrf_of(const TrainingSet& set) {
  TrainingRequest request;
  request.train = &set;
  return find_learner("reciprocal-ranks")->train(request).value().model;
}

double discounted(double grade, std::size_t place) {
  return grade / std::log2(1.0 + static_cast<double>(place));
}

/// What the rankings of some lists are worth, by the definition.
double slow_worth(const TrainingSet& set, const Ranker& ranker, const std::vector<std::uint64_t>& lists) {
  const TrainingSet some = with_lists_only(set, lists);
  const std::vector<double> scores = scores_of_listed(ranker, some);
  double sum = 0.0;
  for (const QueryRange& query : set.queries) {
    std::vector<double> grades(set.grades.begin() + static_cast<std::ptrdiff_t>(query.begin),
                               set.grades.begin() + static_cast<std::ptrdiff_t>(query.end));
    std::sort(grades.rbegin(), grades.rend());
    double best = 0.0, value = 0.0;
    for (std::size_t i = 0; i < std::min<std::size_t>(30, grades.size()); ++i)
      best += discounted(grades[i], i + 1);
    std::size_t place = 0;
    const std::span own(scores.data() + query.begin, query.end - query.begin);
    for (const std::size_t row : fused_order(some.matrix, query.begin, query.end, own, some.documents))
      if (scores[row] != kNotListed && ++place <= 30) value += discounted(set.grades[row], place);
    if (best > 0.0) sum += value / best;
  }
  return sum / static_cast<double>(set.queries.size() + 2);
}

}  // namespace

TEST_CASE("A list that repeats what another found comes after one that adds to it",
          "[fusion][list_ordering]") {
  // The best ranking has x and y first: 1 + 1/log2(3) = 1.631. "both" alone makes x z y, worth
  // 1 + 1/log2(4) = 1.5; the others find one document each, worth 1. With "other", y passes z, so the ranking
  // is the best one, to which "same" adds nothing. Two queries count as four.
  const TrainingSet set = overlapping(2);
  const Model model = rrf_of(set);
  const ListChoice choice = order_lists(set, *model.ranker);
  CHECK(choice.order == std::vector<std::uint64_t>{0, 2, 1});
  REQUIRE(choice.gains.size() == 3);
  const double best = 1.0 + 1.0 / std::log2(3.0);
  CHECK(choice.gains[0] == Approx(1.5 / best * 2 / 4));
  CHECK(choice.gains[1] == Approx((best - 1.5) / best * 2 / 4));
  CHECK(choice.gains[2] == Approx(0.0).margin(1e-12));
  CHECK(choice.queries == 2);
}

TEST_CASE("A grade that measures round up to a relevant one counts when lists are ordered",
          "[fusion][list_ordering]") {
  TrainingSet set = overlapping(2);
  const Model model = rrf_of(set);
  const ListChoice whole = order_lists(set, *model.ranker);
  for (double& grade : set.grades) grade *= 0.6;  // as a language model's calibrated grades are
  const ListChoice calibrated = order_lists(set, *model.ranker);
  CHECK(calibrated.queries == 2);
  CHECK(calibrated.order == whole.order);
  REQUIRE(calibrated.gains.size() == 3);
  CHECK(calibrated.gains[0] == Approx(whole.gains[0]));
}

TEST_CASE("Each list of the order adds most to those before it", "[fusion][list_ordering]") {
  Random random(7);
  for (int trial = 0; trial < 30; ++trial) {
    TrainingSetBuilder builder;
    for (int q = 0; q < 4; ++q)
      for (int d = 0; d < 50; ++d) {
        std::vector<Cell> cells;
        for (std::uint32_t f = 0; f < 5; ++f)
          if (random.below(3) == 0) cells.push_back({f, -1.0 - static_cast<double>(random.below(40))});
        const auto grade = static_cast<double>(random.below(3));
        builder.add({"q" + std::to_string(q), std::to_string(d), grade, true, cells});
      }
    const TrainingSet set = builder.finish(lists_named({"a", "b", "c", "d", "e"}), {}).value();
    const Model model = rrf_of(set);
    const ListChoice choice = order_lists(set, *model.ranker);
    REQUIRE(choice.queries == 4);
    REQUIRE(choice.order.size() == 5);
    std::vector<std::uint64_t> chosen;
    for (std::size_t i = 0; i < choice.order.size(); ++i) {
      const double before = slow_worth(set, *model.ranker, chosen);
      double best = -1.0;
      for (std::uint64_t f = 0; f < 5; ++f) {
        if (std::find(chosen.begin(), chosen.end(), f) != chosen.end()) continue;
        std::vector<std::uint64_t> with = chosen;
        with.push_back(f);
        best = std::max(best, slow_worth(set, *model.ranker, with) - before);
      }
      CHECK(choice.gains[i] == Approx(best).margin(1e-12));
      chosen.push_back(choice.order[i]);
      CHECK(slow_worth(set, *model.ranker, chosen) - before == Approx(best).margin(1e-12));
    }
  }
}

TEST_CASE("Without a relevant document no list is chosen; a preferred one counts as relevant",
          "[fusion][list_ordering]") {
  TrainingSet set = overlapping(1);
  const Model model = rrf_of(set);
  std::fill(set.grades.begin(), set.grades.end(), 0.0);
  CHECK(order_lists(set, *model.ranker) == ListChoice());
  set.pairs.push_back({0, 1, 0.5});  // y above x
  const ListChoice choice = order_lists(set, *model.ranker);
  CHECK(choice.order.front() == 2);  // "other" has y at rank 1
  CHECK(choice.queries == 1);
}

TEST_CASE("A list's gain is its mean over the queries that asked for it", "[fusion][list_ordering]") {
  TrainingSet set = overlapping(4);
  set.queries[0].unasked = {1};
  set.queries[1].unasked = {1, 2};
  const Model model = rrf_of(set);
  const ListChoice all = order_lists(overlapping(4), *model.ranker);
  const ListChoice some = order_lists(set, *model.ranker);
  CHECK(some.order == all.order);
  // One of the four did not ask for "other" (its ranks there are for this test's sake), so the denominator is
  // 3 + 2 in place of 4 + 2.
  const double gain = 1.0 - 1.5 / (1.0 + 1.0 / std::log2(3.0));
  CHECK(all.gains[1] == Approx(gain * 4 / 6));
  CHECK(some.gains[1] == Approx(gain * 4 / 5));
  CHECK(order_lists(set, *model.ranker, std::vector<std::string>{"both"}).order ==
        std::vector<std::uint64_t>{1, 2});
}

namespace {

/// "main" has the relevant document of the first `easy` queries and nothing for the others; "other" has it
/// first for all.
TrainingSet easy_and_hard(int queries, int easy) {
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    const std::string id = "q" + std::to_string(100 + q);
    std::vector<Cell> right{{1, -1.0}};
    if (q < easy) right.insert(right.begin(), {0, -1.0});
    builder.add({id, "right", 1.0, true, right});
    builder.add({id, "wrong", 0.0, true, std::vector<Cell>{{1, -2.0}}});
  }
  return builder.finish(lists_named({"main", "other"}), {}).value();
}

/// What is learned with "main" first in the order.
ListChoice choice_of(const TrainingSet& set, double may_lose) {
  const Learner& learner = *find_learner("reciprocal-ranks");
  TrainingRequest request;
  request.train = &set;
  auto result = learner.train(request).value();
  REQUIRE(choose_lists(request, learner, {may_lose, {}}, result).has_value());
  REQUIRE(result.model.choice.has_value());
  // reading the file gives the same
  CHECK(parse_model(model_text(result.model), "m").value().choice == result.model.choice);
  return *result.model.choice;
}

}  // namespace

TEST_CASE("A list suffices from the score at which leaving out the others loses nothing",
          "[fusion][list_ordering]") {
  // "other" comes first, always finds the document, and suffices.
  const ListChoice choice = choice_of(easy_and_hard(30, 20), 0.0);
  CHECK(choice.order.front() == 1);
  CHECK(choice.settled.contains(1));
  CHECK(choice.queries == 30);
}

TEST_CASE("A list does not suffice where its first results mislead, unless that may be lost",
          "[fusion][list_ordering]") {
  // "main" has the relevant document of three quarters of the queries; for the others only "other" has it,
  // and "main" puts a wrong one first, with the same score.
  const auto misleading = [] {
    TrainingSetBuilder builder;
    for (int q = 0; q < 40; ++q) {
      const std::string id = "q" + std::to_string(100 + q);
      const bool is_easy = q % 4 != 0;
      builder.add(
          {id, "right", 1.0, true, is_easy ? std::vector<Cell>{{0, -1.0}} : std::vector<Cell>{{1, -1.0}}});
      builder.add({id, "wrong", 0.0, true,
                   is_easy ? std::vector<Cell>{{1, -2.0}} : std::vector<Cell>{{0, -1.0}, {1, -9.0}}});
    }
    return builder.finish(lists_named({"main", "other"}), {}).value();
  }();
  CHECK(choice_of(misleading, 0.001).order.front() == 0);
  CHECK_FALSE(choice_of(misleading, 0.001).settled.contains(1));
  CHECK(choice_of(misleading, 1.0).settled.contains(1));
}

TEST_CASE("Few queries, or queries that were not asked of all lists, say only the order",
          "[fusion][list_ordering]") {
  CHECK(choice_of(easy_and_hard(19, 10), 1.0).settled.empty());
  CHECK_FALSE(choice_of(easy_and_hard(20, 10), 1.0).settled.empty());
  TrainingSet set = easy_and_hard(30, 20);
  CHECK_FALSE(choice_of(set, 1.0).settled.empty());
  for (std::size_t q = 0; q < 11; ++q) set.queries[q].unasked = {0};
  const ListChoice choice = choice_of(set, 1.0);
  CHECK(choice.settled.empty());
  CHECK(choice.order.size() == 2);
}

TEST_CASE("The choice of a model file is read with care", "[fusion][list_ordering]") {
  const auto mistake = [](const std::string& choice) {
    const auto model = parse_model(
        R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[{"name":"a","kind":"rank",)"
        R"("depth":10}],"unranked":"absent","body":{"weak_rankings":[]},"choice":)" +
            choice + R"(,"training":{}})",
        "m.json");
    return model ? std::string() : model.error().text;
  };
  const std::string rest = R"("queries":2,"settled":{"lists":[1],"leads":[0.5]})";
  CHECK(mistake(R"({"order":[0],"gains":[0.5],)" + rest + "}").empty());
  CHECK(mistake("3").find("\"choice\" must be an object") != std::string::npos);
  CHECK(mistake(R"({"order":[1],"gains":[0.5],)" + rest + "}").find("choice.order") != std::string::npos);
  CHECK(mistake(R"({"order":[0,0],"gains":[1,1],)" + rest + "}").find("each once") != std::string::npos);
  CHECK(mistake(R"({"order":[0],"gains":[],)" + rest + "}").find("choice.gains") != std::string::npos);
  CHECK(mistake(R"({"order":[0],"gains":[1],"queries":2,"settled":{"lists":[2,1],"leads":[1,1]}})")
            .find("must rise") != std::string::npos);
  CHECK(mistake(R"({"order":[0],"gains":[1],"queries":2,"settled":{"lists":[1],"leads":[]}})")
            .find("as many leads") != std::string::npos);
}
