#include "core/portable_math.h"

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random.below(1U << 30)) / (1U << 30);
}

}  // namespace

TEST_CASE("portable exp and log agree with the C library to the last bits", "[core][portable_math]") {
  Random random(3);
  for (int i = 0; i < 200'000; ++i) {
    const double x = uniform(random, -700.0, 700.0);
    REQUIRE(std::abs(portable_exp(x) / std::exp(x) - 1.0) < 4.5e-16);
    const double small = uniform(random, -1.0, 1.0);
    REQUIRE(std::abs(portable_exp(small) / std::exp(small) - 1.0) < 4.5e-16);
    const double y = std::exp(uniform(random, -700.0, 700.0));
    REQUIRE(std::abs(portable_log(y) - std::log(y)) <= 4.5e-16 * std::abs(std::log(y)));
    const double near_one = 1.0 + uniform(random, -0.5, 0.5);
    REQUIRE(std::abs(portable_log(near_one) - std::log(near_one)) <= 4.5e-16 * std::abs(std::log(near_one)));
    REQUIRE(std::abs(portable_exp2(small) / std::exp2(small) - 1.0) < 4.5e-16);
  }
}

TEST_CASE("portable exp and log keep their special values", "[core][portable_math]") {
  CHECK(portable_exp(0.0) == 1.0);
  CHECK(portable_exp(-kInfinity) == 0.0);
  CHECK(portable_exp(kInfinity) == kInfinity);
  CHECK(portable_exp(-746.0) == 0.0);
  CHECK(portable_exp(-744.0) > 0.0);
  CHECK(portable_exp(710.0) == kInfinity);
  CHECK(portable_exp(709.7) < kInfinity);
  CHECK(std::isnan(portable_exp(std::nan(""))));
  CHECK(portable_log(1.0) == 0.0);
  CHECK(portable_log(0.0) == -kInfinity);
  CHECK(portable_log(kInfinity) == kInfinity);
  CHECK(portable_log(5e-324) == Approx(std::log(5e-324)));
  CHECK(std::isnan(portable_log(std::nan(""))));
  for (int n = -1000; n <= 1000; n += 50) CHECK(portable_exp2(n) == std::ldexp(1.0, n));
}
