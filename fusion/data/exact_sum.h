#pragma once

#include <span>

namespace metafuse::fusion {

/// The sum of finite numbers >= 0 in fixed point of 127 bits, so that it does not depend on their order:
/// exact but for a rounding of 2^-90 of the largest a number.
double exact_sum(std::span<const double> numbers);

}  // namespace metafuse::fusion
