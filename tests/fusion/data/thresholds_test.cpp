#include "fusion/data/thresholds.h"

#include <limits>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse::fusion;

TEST_CASE("A bin of values is closed as soon as it holds its share of the remaining documents",
          "[fusion][thresholds]") {
  const double least = -std::numeric_limits<double>::infinity();
  const std::vector<double> values = {1, 2, 3, 4};
  const auto chosen = [&](const std::vector<std::size_t>& counts) {
    ThresholdOptions options;
    options.max_thresholds = 3;
    return choose_thresholds(values, counts, options).values;
  };
  // a third of six documents, then half of the other four
  CHECK(chosen({2, 1, 1, 2}) == std::vector<double>{least, 1, 3});
  CHECK(chosen({1, 1, 2, 2}) == std::vector<double>{least, 2, 3});
  // one of seven is less than a third, and then each value can have a bin of its own
  CHECK(chosen({1, 1, 1, 4}) == std::vector<double>{least, 2, 3});
}
