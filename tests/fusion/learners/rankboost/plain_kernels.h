#pragma once

#include <cstddef>
#include <cstdint>

namespace metafuse::test {

// The kernels of fusion/rankboost compiled for the baseline x86-64 instruction set.

double plain_sum(const double* numbers, std::size_t count);

/// in: gain_and_cost - two numbers
double plain_potentials(const double* down, const double* up, const double* gain_and_cost, double old_factor,
                        float* before, std::int64_t* fixed, std::size_t count);

/// in: lower and upper - scores, padded to a multiple of four after the documents
std::int64_t plain_misordered_halves(const double* lower, std::size_t lower_documents, const double* upper,
                                     std::size_t upper_documents);

/// in: factors - alternating up and down; state - in the layout of SeparationState
void plain_separation(const double* factors, const std::uint16_t* classes, const std::uint8_t* order,
                      std::size_t count, double* state, double* added);

}  // namespace metafuse::test
