#include "core/portable_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>

#include "core/simd.h"

namespace metafuse {
namespace {

// ln 2 in two parts. The first has so few bits that its product with an exponent is exact.
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

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kBias = 1023;  // of a double's exponent, which lies above the 52 bits of the mantissa
constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;

/// One number, or eight that undergo the same operations.
struct One {
  using Number = double;
  using Bits = std::uint64_t;
};
struct Eight {
  using Number __attribute__((vector_size(64))) = double;
  using Bits __attribute__((vector_size(64))) = std::uint64_t;
};

template <class To, class From>
inline void copy_bits(To& to, const From& from) {
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
}

template <class Kind>
inline void exp_of(const typename Kind::Number& x, typename Kind::Number& result) {
  using Number = typename Kind::Number;
  using Bits = typename Kind::Bits;
  // Outside these bounds the result is 0 or infinity, the same as at the bounds.
  Number in_range = x < -746.0 ? Number{} - 746.0 : x;
  in_range = in_range > 710.0 ? Number{} + 710.0 : in_range;
  // x = k ln 2 + r with |r| <= ln 2 / 2, where 13 terms of the series leave an error below 1e-17. Adding
  // kShift rounds to an integer: a double this large has no fraction, and its last bits hold the nearest k.
  constexpr double kShift = 0x1.8p52;
  const Number shifted = in_range * std::numbers::log2e + kShift;
  const Number k = shifted - kShift;
  const Number r = (in_range - k * kLn2High) - k * kLn2Low;
  Number sum{};
  for (const double inverse : kInverseFactorials) sum = (sum + inverse) * r;
  const Number rest = 1.0 + (r + sum * r);
  // Multiply by 2^k in two factors that a double can hold, so that a subnormal result is rounded only once.
  Bits whole;
  copy_bits(whole, shifted);
  whole -= std::bit_cast<std::uint64_t>(kShift);
  const Bits half = ((whole + std::uint64_t{2048}) >> 1) - std::uint64_t{1024};
  Number first;
  Number second;
  copy_bits(first, (half + kBias) << 52);
  copy_bits(second, (whole - half + kBias) << 52);
  result = rest * first * second;
}

template <class Kind>
inline void log_of(const typename Kind::Number& x, typename Kind::Number& result) {
  using Number = typename Kind::Number;
  using Bits = typename Kind::Bits;
  const auto is_subnormal = x < std::numeric_limits<double>::min();
  const Number normal = is_subnormal ? x * 0x1p54 : x;
  Bits bits;
  copy_bits(bits, normal);
  Number m;  // within [1/2, 1)
  copy_bits(m, (bits & kMantissa) | ((kBias - 1) << 52));
  // The exponent bits, first read as the last bits of 2^52.
  Number exponent;
  copy_bits(exponent, (bits >> 52) | std::bit_cast<std::uint64_t>(0x1p52));
  exponent = exponent - (0x1p52 + static_cast<double>(kBias - 1));
  exponent = is_subnormal ? exponent - 54.0 : exponent;
  const auto is_low = m < std::numbers::sqrt2 / 2.0;
  m = is_low ? m * 2.0 : m;
  exponent = is_low ? exponent - 1.0 : exponent;
  // log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with |s| < 0.172: 12 terms leave an error below 1e-17.
  const Number s = (m - 1.0) / (m + 1.0);
  const Number square = s * s;
  Number sum{};
  for (const double inverse : kInverseOdds) sum = (sum + inverse) * square;
  const Number finite = exponent * kLn2High + (2.0 * s + (2.0 * s * sum + exponent * kLn2Low));
  const Number of_zero_too = x == 0.0 ? Number{} - kInfinity : finite;
  result = x < kInfinity ? of_zero_too : x;  // log of infinity and of NaN is x itself; x may alias the result
}

}  // namespace

double portable_exp(double x) {
  double result = 0.0;
  exp_of<One>(x, result);
  return result;
}

double portable_log(double x) {
  double result = 0.0;
  log_of<One>(x, result);
  return result;
}

METAFUSE_CLONES void portable_exp(std::span<double> numbers) {
  std::size_t i = 0;
  for (; i + 8 <= numbers.size(); i += 8) {
    Eight::Number eight;
    std::memcpy(&eight, &numbers[i], sizeof eight);
    exp_of<Eight>(eight, eight);
    std::memcpy(&numbers[i], &eight, sizeof eight);
  }
  for (; i < numbers.size(); ++i) exp_of<One>(numbers[i], numbers[i]);
}

METAFUSE_CLONES void portable_log(std::span<double> numbers) {
  std::size_t i = 0;
  for (; i + 8 <= numbers.size(); i += 8) {
    Eight::Number eight;
    std::memcpy(&eight, &numbers[i], sizeof eight);
    log_of<Eight>(eight, eight);
    std::memcpy(&numbers[i], &eight, sizeof eight);
  }
  for (; i < numbers.size(); ++i) log_of<One>(numbers[i], numbers[i]);
}

double portable_exp2(double x) {
  const double whole = std::nearbyint(x);
  if (!(std::abs(whole) <= 2000.0)) return portable_exp(x * std::numbers::ln2);
  const double rest = x - whole;
  return std::ldexp(rest == 0.0 ? 1.0 : portable_exp(rest * std::numbers::ln2), static_cast<int>(whole));
}

}  // namespace metafuse
