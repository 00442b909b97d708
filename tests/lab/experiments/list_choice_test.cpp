#include "lab/experiments/list_choice.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"

using namespace metafuse;
using namespace metafuse::fusion;
using lab::experiments::learn_list_choice;
using lab::experiments::ListChoice;

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

/// What some lists of a set are worth, by the definition.
double slow_worth(const TrainingSet& set, const std::vector<std::uint64_t>& lists) {
  double sum = 0.0;
  for (const QueryRange& query : set.queries) {
    double some = 0.0, all = 0.0;
    for (std::size_t row = query.begin; row < query.end; ++row) {
      double best_of_some = 0.0, best_of_all = 0.0;
      for (std::size_t f = 0; f < set.matrix.feature_count(); ++f) {
        if (set.matrix.is_unranked(row, f)) continue;
        const double share = 1.0 / std::log2(1.0 - set.matrix.value(row, f));
        best_of_all = std::max(best_of_all, share);
        if (std::find(lists.begin(), lists.end(), f) != lists.end())
          best_of_some = std::max(best_of_some, share);
      }
      some += set.grades[row] * best_of_some;
      all += set.grades[row] * best_of_all;
    }
    if (all > 0.0) sum += some / all;
  }
  return sum / static_cast<double>(set.queries.size() + 2);
}

}  // namespace

TEST_CASE("A list that repeats what another found comes after one that adds to it",
          "[experiments][list_choice]") {
  // All lists together find x and y at rank 1: 1 + 1. "both" alone has 1 + 1/log2(4) = 1.5, the others 1.
  // After "both", "other" adds the 0.5 that y lacked, and "same" nothing. Two queries count as four.
  const ListChoice choice = learn_list_choice(overlapping(2));
  CHECK(choice.order == std::vector<std::uint64_t>{0, 2, 1});
  REQUIRE(choice.gains.size() == 3);
  CHECK(choice.gains[0] == Approx(0.75 * 2 / 4));
  CHECK(choice.gains[1] == Approx(0.25 * 2 / 4));
  CHECK(choice.gains[2] == 0.0);
  CHECK(choice.queries == 2);
}

TEST_CASE("Each list of the order adds most to those before it", "[experiments][list_choice]") {
  Random random(7);
  for (int trial = 0; trial < 30; ++trial) {
    TrainingSetBuilder builder;
    for (int q = 0; q < 4; ++q)
      for (int d = 0; d < 8; ++d) {
        std::vector<Cell> cells;
        for (std::uint32_t f = 0; f < 5; ++f)
          if (random.below(3) == 0) cells.push_back({f, -1.0 - static_cast<double>(random.below(10))});
        const auto grade = static_cast<double>(random.below(3));
        builder.add({"q" + std::to_string(q), "d" + std::to_string(d), grade, true, cells});
      }
    const TrainingSet set = builder.finish(lists_named({"a", "b", "c", "d", "e"}), {}).value();
    const ListChoice choice = learn_list_choice(set);
    REQUIRE(choice.queries == 4);
    REQUIRE(choice.order.size() == 5);
    std::vector<std::uint64_t> chosen;
    for (std::size_t i = 0; i < choice.order.size(); ++i) {
      const double before = slow_worth(set, chosen);
      double best = 0.0;
      for (std::uint64_t f = 0; f < 5; ++f) {
        std::vector<std::uint64_t> with = chosen;
        with.push_back(f);
        best = std::max(best, slow_worth(set, with) - before);
      }
      CHECK(choice.gains[i] == Approx(best).margin(1e-12));
      chosen.push_back(choice.order[i]);
      CHECK(slow_worth(set, chosen) - before == Approx(best).margin(1e-12));
    }
  }
}

TEST_CASE("Without a relevant document no list is chosen; a preferred one counts as relevant",
          "[experiments][list_choice]") {
  TrainingSet set = overlapping(1);
  std::fill(set.grades.begin(), set.grades.end(), 0.0);
  CHECK(learn_list_choice(set) == ListChoice());
  set.pairs.push_back({0, 1, 0.5});  // y above x
  const ListChoice choice = learn_list_choice(set);
  CHECK(choice.order.front() == 2);  // "other" has y at rank 1
  CHECK(choice.queries == 1);
}
