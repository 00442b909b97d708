#include "fusion/data/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace metafuse::fusion {

__extension__ typedef __int128 Wide;

double exact_sum(std::span<const double> numbers) {
  double largest = 0.0;
  for (const double number : numbers) largest = std::max(largest, number);
  if (largest == 0.0) return 0.0;
  const int exponent = std::ilogb(largest) + 1;
  Wide sum = 0;
  for (const double number : numbers) {
    // Two halves of 60 bits each: a double has 53, so the second only takes what lies below the first.
    const double high = std::floor(std::ldexp(number, 45 - exponent));
    const double low = std::floor(std::ldexp(number, 90 - exponent) - std::ldexp(high, 45));
    sum += (static_cast<Wide>(high) << 45) + static_cast<Wide>(low);
  }
  const auto high = static_cast<std::int64_t>(sum >> 60);
  const auto low = static_cast<std::int64_t>(sum & ((Wide{1} << 60) - 1));
  return std::ldexp(static_cast<double>(high), 60 + exponent - 90) +
         std::ldexp(static_cast<double>(low), exponent - 90);
}

}  // namespace metafuse::fusion
