#include "fusion/learners/rankboost/kernels.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/fusion/learners/rankboost/plain_kernels.h"

using namespace metafuse;
using namespace metafuse::fusion::rankboost;

namespace {

std::vector<double> numbers(Random& random, std::size_t count, double scale) {
  std::vector<double> made;
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(scale * static_cast<double>(random.next() >> 11) / static_cast<double>(1ULL << 53));
  return made;
}

bool are_same(const void* a, const void* b, std::size_t bytes) {
  return std::memcmp(a, b, bytes) == 0;
}

}  // namespace

TEST_CASE("Sums and potentials have the same bits at every width of SIMD", "[fusion][rankboost]") {
  Random random(11);
  for (std::size_t count = 0; count < 200; ++count) {
    const auto up = numbers(random, count, 1.0);
    const auto down = numbers(random, count, 3.0);
    const double sum = sum_in_lanes(up.data(), count);
    const double plain = test::plain_sum(up.data(), count);
    REQUIRE(are_same(&sum, &plain, sizeof sum));
    for (int form = 0; form < 3; ++form) {
      const double both[] = {0x1p40 / 3.0, 0x1p41 / 7.0};
      const PotentialTerms terms{form == 0 ? nullptr : down.data(), form == 1 ? nullptr : up.data(), both[0],
                                 both[1]};
      std::vector<float> before(count, 12345.0F);
      std::vector<float> before_again = before;
      std::vector<std::int64_t> fixed(count);
      std::vector<std::int64_t> again(count);
      const double change = make_potentials(terms, 0.3, before.data(), fixed.data(), count);
      const double other =
          test::plain_potentials(terms.down, terms.up, both, 0.3, before_again.data(), again.data(), count);
      REQUIRE(are_same(&change, &other, sizeof change));
      REQUIRE(fixed == again);
      REQUIRE(before == before_again);
    }
  }
}

TEST_CASE("The separation by a threshold has the same bits at every width of SIMD", "[fusion][rankboost]") {
  Random random(12);
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::vector<PairFactors> factors;
    std::vector<std::uint16_t> classes;
    std::vector<std::uint8_t> order;
    for (std::size_t i = 0; i < 100; ++i) {
      const auto both = numbers(random, 2, 1.0);
      factors.push_back({both[0], both[1]});
      classes.push_back(static_cast<std::uint16_t>(random.below(kKernelClasses)));
      order.push_back(static_cast<std::uint8_t>(99 - i));
    }
    SeparationState state;
    const auto content = numbers(random, sizeof(SeparationState) / sizeof(double), 1.0);
    std::memcpy(&state, content.data(), sizeof state);
    SeparationState again = state;
    std::vector<double> added(100);
    std::vector<double> other(100);
    separate_several({factors.data(), classes.data(), order.data(), 100}, state, added.data());
    test::plain_separation(&factors[0].up, classes.data(), order.data(), 100, &again.cost[0], other.data());
    REQUIRE(are_same(added.data(), other.data(), 100 * sizeof(double)));
    REQUIRE(are_same(&state, &again, sizeof state));
  }
}

TEST_CASE("The number of misordered pairs is the same at every width of SIMD", "[fusion][rankboost]") {
  Random random(13);
  for (std::size_t lower_count = 0; lower_count < 20; ++lower_count)
    for (std::size_t upper_count = 0; upper_count < 20; ++upper_count) {
      const auto scores = [&](std::size_t count) {
        std::vector<double> made((count + 3) / 4 * 4, std::numeric_limits<double>::quiet_NaN());
        for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<double>(random.below(6)) - 3.0;
        return made;
      };
      const auto lower = scores(lower_count);
      const auto upper = scores(upper_count);
      std::int64_t halves = 0;
      for (std::size_t i = 0; i < lower_count; ++i)
        for (std::size_t k = 0; k < upper_count; ++k)
          halves += lower[i] > upper[k] ? 2 : lower[i] == upper[k] ? 1 : 0;
      std::vector<double> lower_reaches(lower.size());
      std::vector<double> upper_reaches(upper.size());
      set_tie_reaches(lower.data(), lower_reaches.data(), lower.size());
      set_tie_reaches(upper.data(), upper_reaches.data(), upper.size());
      REQUIRE(misordered_halves({lower.data(), lower_reaches.data(), lower_count},
                                {upper.data(), upper_reaches.data(), upper_count}) == halves);
      REQUIRE(test::plain_misordered_halves(lower.data(), lower_count, upper.data(), upper_count) == halves);
    }
}
