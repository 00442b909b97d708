#include "fusion/unsupervised/query_lists.h"

#include <cmath>
#include <utility>

#include <catch2/catch.hpp>

using namespace metafuse::fusion;

// Three lists over z, y, x, w, numbered as the lists first name them.
static QueryLists named_lists() {
  return {{"z", "y", "x", "w"}, {{{0, 0}, {1, 0}}, {{1, 0}, {2, 0}}, {{3, 0}, {1, 0}}}};
}

TEST_CASE("callers' lists are ordered by score, then by best rank, then as first named", "[callers-order]") {
  const QueryLists query = named_lists();
  CHECK(callers_order(query, std::vector<double>{1, 2, 3, 4}) == std::vector<std::uint32_t>{3, 2, 1, 0});
  // z, y and w are each first in a list, x never
  CHECK(callers_order(query, std::vector<double>{1, 1, 1, 1}) == std::vector<std::uint32_t>{0, 1, 3, 2});
}

TEST_CASE("at equal scores the number of lists and the ids do not matter to a caller's order",
          "[callers-order]") {
  const QueryLists query = named_lists();
  const std::vector<double> scores{0, -0.0, 0, 5};
  CHECK(callers_order(query, scores) == std::vector<std::uint32_t>{3, 0, 1, 2});
  CHECK(fused_order(query, scores) == std::vector<std::uint32_t>{3, 1, 0, 2});
  CHECK(callers_order({}, {}).empty());
}

TEST_CASE("normalised scores keep the order of the largest and the smallest numbers", "[normalisation]") {
  const auto of = [](Normalisation normalisation, double first, double second) {
    std::vector<ListEntry> list{{0, first}, {1, second}};
    normalise(list, normalisation, 2);
    return std::pair(list[0].score, list[1].score);
  };
  for (const double most : {1e308, 1e155, 8.0, 1e-155, 1e-310}) {
    INFO(most);
    CHECK(of(Normalisation::min_max, most, -most) == std::pair(1.0, 0.0));
    CHECK(of(Normalisation::z_score, most, -most) == std::pair(1.0, -1.0));
    CHECK(of(Normalisation::sum, most, -most) == std::pair(1.0, 0.0));
    CHECK(of(Normalisation::max, most, most / 2).second == Approx(0.5));
    CHECK(of(Normalisation::l2, most, -most).first == Approx(std::sqrt(0.5)));
  }
}
