#include "core/shortest_decimal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;

namespace {

std::string text_of(double value) {
  char text[kMostDecimalBytes];
  return {text, write_shortest(text, value)};
}

std::string slow_text_of(double value) {
  char text[400];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// How many of the numbers around this one are written otherwise than by std::to_chars().
int wrong_around(double value) {
  int wrong = 0;
  for (const double one : {value, -value, std::nextafter(value, 0.0), std::nextafter(value, 1e300)})
    if (text_of(one) != slow_text_of(one)) ++wrong;
  return wrong;
}

/// A double with this binary exponent.
double number_of(int exponent, std::uint64_t fraction) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52 | fraction >> 12);
}

}  // namespace

TEST_CASE("The shortest decimals of some numbers", "[core]") {
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(1.0 / 61) == "0.01639344262295082");
  CHECK(text_of(-1.0 / 3) == "-0.3333333333333333");
  CHECK(text_of(0.00123) == "0.00123");
  CHECK(text_of(12345.5) == "12345.5");
  CHECK(text_of(1073741823.0625) == "1073741823.0625");
  CHECK(text_of(-7) == "-7");
  CHECK(text_of(0.0) == "0");
  CHECK(text_of(-0.0) == "-0");
  CHECK(text_of(0.0001) == "1e-04");
}

TEST_CASE("Shortest decimals are those of std::to_chars, on both sides of each power of two and of ten",
          "[core]") {
  for (int exponent = -1022; exponent < 1023; ++exponent) CHECK(wrong_around(std::ldexp(1.0, exponent)) == 0);
  for (int exponent = -300; exponent < 300; ++exponent) CHECK(wrong_around(std::pow(10.0, exponent)) == 0);
  for (const double value :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()})
    CHECK(text_of(value) == slow_text_of(value));
}

TEST_CASE("Shortest decimals of random numbers are those of std::to_chars", "[core]") {
  Random random(11);
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto bits = random.next();
    for (const int exponent : {-12, -11, -10, -9, -1, 0, 3, 28, 29, 30})
      wrong += wrong_around(number_of(exponent, bits));
    // few bits, of which some lie in the middle between two decimals of as many digits
    wrong += wrong_around(number_of(static_cast<int>(bits % 42) - 11, bits << (bits >> 58)));
    // few digits
    wrong +=
        wrong_around(static_cast<double>(bits % 1'000'000) / std::pow(10.0, static_cast<double>(bits >> 61)));
    // sums of reciprocal ranks
    wrong += wrong_around(1.0 / static_cast<double>(60 + bits % 1000) +
                          1.0 / static_cast<double>(60 + (bits >> 50)));
  }
  CHECK(wrong == 0);
}
