#include "fusion/data/communicator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace metafuse::fusion {

void sum_over_processes(Communicator* communicator, std::span<std::int64_t> numbers) {
  if (communicator != nullptr) communicator->sum(numbers);
}

std::int64_t sum_over_processes(Communicator* communicator, std::int64_t number) {
  sum_over_processes(communicator, std::span(&number, 1));
  return number;
}

__extension__ typedef __int128 Wide;

double exact_sum(std::span<const double> numbers) {
  double largest = 0.0;
  for (const double number : numbers) largest = std::max(largest, number);
  if (largest == 0.0) return 0.0;
  const int exponent = std::ilogb(largest) + 1;
  Wide sum = 0;
  for (const double number : numbers) {
    // Two halves of 45 bits each: a double has 53 bits, so subtracting the high half leaves the low
    // half exact.
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
