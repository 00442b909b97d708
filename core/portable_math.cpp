#include "core/portable_math.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace metafuse {
namespace {

// ln 2 in two parts, the first with so few bits that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

/// 1 / n! from n = 13 down to 2.
constexpr auto kInverseFactorials = [] {
  std::array<double, 12> numbers{};
  double factorial = 1.0;  // exact up to 18!
  for (std::size_t n = 2; n <= 13; ++n) {
    factorial *= static_cast<double>(n);
    numbers[13 - n] = 1.0 / factorial;
  }
  return numbers;
}();

/// 1 / n for n = 23, 21, ... 3.
constexpr auto kInverseOdds = [] {
  std::array<double, 11> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1.0 / static_cast<double>(23 - 2 * i);
  return numbers;
}();

}  // namespace

double portable_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0.0;
  // x = k ln 2 + r with |r| <= ln 2 / 2, where 13 terms of the series leave less than 1e-17.
  const double k = std::nearbyint(x * std::numbers::log2e);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 0.0;
  for (const double inverse : kInverseFactorials) sum = (sum + inverse) * r;
  return std::ldexp(1.0 + (r + sum * r), static_cast<int>(k));
}

double portable_log(double x) {
  if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) return x;
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // within [1/2, 1)
  if (m < std::numbers::sqrt2 / 2.0) {
    m *= 2.0;
    --exponent;
  }
  // log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with |s| < 0.172: 12 terms leave less than 1e-17.
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (const double inverse : kInverseOdds) sum = (sum + inverse) * square;
  const double k = exponent;
  return k * kLn2High + (2.0 * s + (2.0 * s * sum + k * kLn2Low));
}

double portable_exp2(double x) {
  const double whole = std::nearbyint(x);
  if (!(std::abs(whole) <= 2000.0)) return portable_exp(x * std::numbers::ln2);
  const double rest = x - whole;
  return std::ldexp(rest == 0.0 ? 1.0 : portable_exp(rest * std::numbers::ln2), static_cast<int>(whole));
}

}  // namespace metafuse
