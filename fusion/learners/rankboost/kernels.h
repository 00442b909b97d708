#pragma once

#include <cstddef>
#include <cstdint>

#include "fusion/learners/rankboost/pair_factors.h"

namespace metafuse::fusion::rankboost {

// The inner loops over the documents of one grade class. Each is compiled for several widths of SIMD and
// chosen at run time; the order of additions is fixed (eight interleaved partial sums), so the width changes
// no bit.

/// The sum of count numbers.
double sum_in_lanes(const double* numbers, std::size_t count);

/// numbers[i] *= by_code[codes[rows[i]]]
void multiply_by_code(double* numbers, const double* by_code, const std::uint8_t* codes,
                      const std::uint32_t* rows, std::size_t count);

/// up[i] *= by_code[codes[rows[i]]].up and down[i] *= by_code[codes[rows[i]]].down
void multiply_both_by_code(double* up, double* down, const PairFactors* by_code, const std::uint8_t* codes,
                           const std::uint32_t* rows, std::size_t count);

/// What a document's potential is made of.
struct PotentialTerms {
  const double* down = nullptr;  ///< may be nullptr: gain is 0
  const double* up = nullptr;    ///< may be nullptr: cost is 0
  double gain = 0.0;
  double cost = 0.0;
};

/// fixed[i] = down[i] gain - up[i] cost, rounded to whole numbers, halves away from zero.
/// out: the sum of |potential[i] - old_factor before[i]|; before[i] becomes the potential
double make_potentials(const PotentialTerms& terms, double old_factor, float* before, std::int64_t* fixed,
                       std::size_t count);

/// to[rows[i]] = from[i]
void scatter(const std::int64_t* from, const std::uint32_t* rows, std::int64_t* to, std::size_t count);

}  // namespace metafuse::fusion::rankboost
