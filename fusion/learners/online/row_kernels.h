#pragma once

#include <cstddef>

namespace metafuse::fusion::online {

/// Numbers a row holds, rounded up so that rows can be read eight at a time.
inline std::size_t padded(std::size_t numbers) {
  return (numbers + 7) / 8 * 8;
}

// Sums run in eight fixed lanes, so that vectors of any width give the same bytes.

/// Sum of products of two padded rows.
double padded_dot(const double* left, const double* right, std::size_t padded_numbers);

/// Adds `step` times `row` to `weights`.
void add_row(double* weights, double step, const double* row, std::size_t padded_numbers);

/// Replaces `weights` by `scale` times them plus `step` times `row`, and adds the difference to `sums`.
void scale_and_add_row(double* weights, double scale, double step, const double* row, double* sums,
                       std::size_t padded_numbers);

/// add_row(weights, step, row), then padded_dot(weights, next): the same numbers from one pass
/// over `weights`.
double add_row_and_dot(double* weights, double step, const double* row, const double* next,
                       std::size_t padded_numbers);

}  // namespace metafuse::fusion::online
