#include "core/portable_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random.below(1U << 30)) / (1U << 30);
}

}  // namespace

TEST_CASE("Portable exp and log agree with the C library to the last bits", "[core][portable_math]") {
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

TEST_CASE("Portable exp and log have the standard special values", "[core][portable_math]") {
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

TEST_CASE("Portable exp and log of arrays have the same bits as of single numbers", "[core][portable_math]") {
  Random random(4);
  const double least = std::numeric_limits<double>::denorm_min();
  const double most = std::numeric_limits<double>::max();
  std::vector<double> exponents = {0.0,   -0.0,   kInfinity, -kInfinity, 709.78, 709.79,
                                   710.0, -708.4, -744.4,    -745.2,     -746.0};
  std::vector<double> arguments = {0.0,  1.0, kInfinity, least, 3.0 * least, 2.2250738585072014e-308,
                                   most, 0.5, 2.0};
  for (int i = 0; i < 10'000; ++i) {
    exponents.push_back(uniform(random, -750.0, 715.0));
    exponents.push_back(uniform(random, -1e-3, 1e-3));
    arguments.push_back(portable_exp(uniform(random, -745.0, 709.0)));
    arguments.push_back(1.0 + uniform(random, -0.5, 0.5));
  }
  for (const std::size_t count :
       {arguments.size(), std::size_t{7}}) {  // also a count that is no multiple of the lanes
    std::vector<double> powers(exponents.begin(), exponents.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<double> logarithms(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(count));
    portable_exp(powers);
    portable_log(logarithms);
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(powers[i] == portable_exp(exponents[i]));
      REQUIRE(logarithms[i] == portable_log(arguments[i]));
    }
  }
  std::vector<double> none(9, std::nan(""));
  portable_exp(none);
  CHECK(std::isnan(none[0]));
  portable_log(none);
  CHECK(std::isnan(none[8]));
}

TEST_CASE("Portable exp rounds only once if its result is subnormal", "[core][portable_math]") {
  Random random(5);
  for (int i = 0; i < 10'000; ++i) {
    const double x = uniform(random, -745.2, -708.0);
    // The same series with twice as many digits, rounded to a double once.
    const double exact = static_cast<double>(std::exp(static_cast<long double>(x)));
    REQUIRE(std::abs(portable_exp(x) - exact) <=
            std::max(std::numeric_limits<double>::denorm_min(), 4e-16 * exact));
  }
}

TEST_CASE("Numbers up to 1e100 are moderate", "[core]") {
  for (const double value : {0.0, -1e100, 1e100}) CHECK(is_moderate(value));
  for (const double value : {1.1e100, -1e101, std::numeric_limits<double>::infinity(), std::nan("")})
    CHECK_FALSE(is_moderate(value));
}
