#pragma once

#include <cstddef>

namespace metafuse::fusion::online {

/// The size of a row of `numbers` numbers, rounded up so that rows can be read eight numbers at a time.
inline std::size_t padded(std::size_t numbers) {
  return (numbers + 7) / 8 * 8;
}

// Sums use eight fixed lanes, so that the results are the same bit for bit at any vector width.

/// The dot product of two padded rows.
double padded_dot(const double* left, const double* right, std::size_t padded_numbers);

/// Adds `step` times `row` to `weights`.
void add_row(double* weights, double step, const double* row, std::size_t padded_numbers);

/// Replaces `weights` by scale x weights + step x row, and adds the difference to `sums`.
void scale_and_add_row(double* weights, double scale, double step, const double* row, double* sums,
                       std::size_t padded_numbers);

/// add_row(weights, step, row) followed by padded_dot(weights, next), with the same results but one pass
/// over `weights`.
double add_row_and_dot(double* weights, double step, const double* row, const double* next,
                       std::size_t padded_numbers);

}  // namespace metafuse::fusion::online
