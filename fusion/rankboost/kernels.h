#pragma once

#include <cstddef>
#include <cstdint>

namespace metafuse::fusion::rankboost {

// The inner loops over the documents of one grade class. Each is compiled for several widths of SIMD and
// chosen at run time; the order of additions is fixed (eight interleaved partial sums), so the width changes
// no bit.

/// The sum of count numbers.
double sum_in_lanes(const double* numbers, std::size_t count);

/// numbers[i] *= by_code[codes[rows[i]]]
void multiply_by_code(double* numbers, const double* by_code, const std::uint8_t* codes,
                      const std::uint32_t* rows, std::size_t count);

/// What a document's potential is made of.
struct PotentialTerms {
  const double* down = nullptr;  ///< may be nullptr: gain is 0
  const double* up = nullptr;    ///< may be nullptr: cost is 0
  double gain = 0.0;
  double cost = 0.0;
};

/// fixed[i] = down[i] gain - up[i] cost, rounded to whole numbers.
/// out: the sum of |fixed[i] - old_factor before[i]|, where before is what fixed held
double make_potentials(const PotentialTerms& terms, double old_factor, std::int64_t* fixed,
                       std::size_t count);

/// to[rows[i]] = from[i]
void scatter(const std::int64_t* from, const std::uint32_t* rows, std::int64_t* to, std::size_t count);

}  // namespace metafuse::fusion::rankboost
