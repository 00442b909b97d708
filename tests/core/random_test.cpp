#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "core/portable_math.h"
#include "core/random_numbers.h"

using metafuse::Random;

TEST_CASE("The same seed gives the same numbers on every platform", "[core][random]") {
  Random random(42);
  const std::uint64_t first = random.next();
  Random again(42);
  CHECK(again.next() == first);
  CHECK(Random(43).next() != first);
  CHECK(Random(1).split(1).next() != Random(1).split(2).next());
}

TEST_CASE("Normal draws are made by arithmetic that is the same on every platform", "[core][random]") {
  Random random(11);
  Random uniform(11);
  for (int pair = 0; pair < 20'000; ++pair) {
    double u = 0.0, v = 0.0, s = 0.0;
    do {
      u = 2.0 * uniform.uniform() - 1.0;
      v = 2.0 * uniform.uniform() - 1.0;
      s = u * u + v * v;
    } while (s >= 1.0 || s == 0.0);
    const double factor = std::sqrt(-2.0 * metafuse::portable_log(s) / s);
    REQUIRE(random.normal() == u * factor);
    REQUIRE(random.normal() == v * factor);
  }
}

TEST_CASE("Uniform and normal draws have the moments of their distributions", "[core][random]") {
  Random random(3);
  const int n = 200'000;
  double sum = 0.0;
  double normal_sum = 0.0;
  double normal_squares = 0.0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform();
    REQUIRE(u >= 0.0);
    REQUIRE(u < 1.0);
    sum += u;
    const double z = random.normal();
    normal_sum += z;
    normal_squares += z * z;
  }
  CHECK(sum / n == Approx(0.5).margin(0.01));
  CHECK(normal_sum / n == Approx(0.0).margin(0.01));
  CHECK(normal_squares / n == Approx(1.0).margin(0.02));
}

TEST_CASE("A bounded draw is uniform and a shuffle is a permutation", "[core][random]") {
  Random random(5);
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 70'000; ++i) ++counts[random.below(7)];
  for (const int count : counts) CHECK(count == Approx(10'000).margin(500));
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  auto shuffled = items;
  random.shuffle(shuffled);
  CHECK(shuffled != items);
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == items);
}

TEST_CASE("Many bounded draws at once are those of as many single draws", "[core][random]") {
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{7}, (std::uint64_t{1} << 63) + 1}) {
    Random one_by_one(bound);
    Random at_once(bound);
    std::vector<std::uint64_t> numbers(1000);
    draw_below(at_once, bound, numbers);
    for (const std::uint64_t number : numbers) REQUIRE(number == one_by_one.below(bound));
    CHECK(at_once.next() == one_by_one.next());
  }
}
