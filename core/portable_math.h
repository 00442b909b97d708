#pragma once

#include <span>

namespace metafuse {

// exp and log that give the same bits on every processor, at any level of optimisation: only additions,
// multiplications and divisions in a fixed order (the C library chooses among versions that round
// differently, by the instructions that the processor has). Relative error below 4e-16 where the result
// is normal.

/// e^x; 0 and infinity where a double cannot hold it.
double portable_exp(double x);

/// The natural logarithm; minus infinity of 0. Requires x >= 0 or NaN.
double portable_log(double x);

/// The same of many numbers, in place, with the same bits; several at a time where the processor can.
void portable_exp(std::span<double> numbers);
void portable_log(std::span<double> numbers);

/// 2^x, exact for whole x.
double portable_exp2(double x);

}  // namespace metafuse
