#pragma once

#include <span>

namespace metafuse {

// exp and log with the same bits on every processor and at every optimisation level. They use only additions,
// multiplications and divisions in a fixed order; the C library instead picks a version by the processor's
// instructions, and the versions round differently. The relative error is below 4e-16 where the result is a
// normal number.

/// e^x; 0 or infinity where a double cannot hold the result.
double portable_exp(double x);

/// The natural logarithm; minus infinity for 0. Requires x >= 0 or NaN.
double portable_log(double x);

/// The same for many numbers, in place and with the same bits; several at a time where the processor can.
void portable_exp(std::span<double> numbers);
void portable_log(std::span<double> numbers);

/// 2^x, exact for whole x.
double portable_exp2(double x);

/// Whether sums and products of a few such numbers stay finite; false for NaN.
inline bool is_moderate(double number) {
  return number >= -1e100 && number <= 1e100;
}

}  // namespace metafuse
