#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace metafuse::fusion::rankboost {

/// A document's factors in the weights of its pairs: `up` where it is the lower document, `down` where
/// the upper.
struct PairFactors {
  double up = 0.0;
  double down = 0.0;
};

// The inner loops over the documents of one grade class. Each is compiled for several SIMD widths, one of
// which is chosen at run time. The order of additions is fixed (eight interleaved partial sums), so the
// results are the same bit for bit at every width.

/// The sum of count numbers.
double sum_in_lanes(const double* numbers, std::size_t count);

/// numbers[i] *= by_code[codes[rows[i]]]
void multiply_by_code(double* numbers, const double* by_code, const std::uint8_t* codes,
                      const std::uint32_t* rows, std::size_t count);

/// up[i] *= by_code[codes[rows[i]]].up and down[i] *= by_code[codes[rows[i]]].down
void multiply_both_by_code(double* up, double* down, const PairFactors* by_code, const std::uint8_t* codes,
                           const std::uint32_t* rows, std::size_t count);

/// Two scores tie if they differ by no more than the larger of their reaches.
inline double tie_reach(double score) {
  return 1e-12 * std::max(1.0, std::abs(score));
}
/// Computes tie_reach() of each score.
void set_tie_reaches(const double* scores, double* reaches, std::size_t count);

/// The scores of the documents of one class, and their tie reaches.
struct ClassScores {
  const double* scores = nullptr;   ///< padded with NaN to a multiple of four
  const double* reaches = nullptr;  ///< padded likewise
  std::size_t documents = 0;
};

/// Counts each pair in which a document of `lower` stands above one of `upper` as 2, and each tie as 1.
/// cost: the product of the two numbers of documents, four pairs at a time
std::int64_t misordered_halves(const ClassScores& lower, const ClassScores& upper);

/// The terms of a document's potential: down x gain - up x cost.
struct PotentialTerms {
  const double* down = nullptr;  ///< may be nullptr: gain is 0
  const double* up = nullptr;    ///< may be nullptr: cost is 0
  double gain = 0.0;
  double cost = 0.0;
};

/// Sets fixed[i] = down[i] gain - up[i] cost, rounded to a whole number (halves away from zero), and
/// before[i] to the potential.
/// out: the sum of |potential[i] - old_factor before[i]| with the old before[i]
double make_potentials(const PotentialTerms& terms, double old_factor, float* before, std::int64_t* fixed,
                       std::size_t count);

/// to[rows[i]] = from[i]
void scatter(const std::int64_t* from, const std::uint32_t* rows, std::int64_t* to, std::size_t count);

constexpr std::size_t kKernelClasses = 8;

/// The state of a walk over the documents of one query, which moves them above the threshold one by one.
/// Moving a document of class c adds up x cost[c] + down x gain[c]. Then every cost falls by down x
/// by_down[c] and every gain by up x by_up[c].
struct SeparationState {
  alignas(64) double cost[kKernelClasses];
  alignas(64) double gain[kKernelClasses];
  alignas(64) double by_down[kKernelClasses][kKernelClasses];
  alignas(64) double by_up[kKernelClasses][kKernelClasses];
};

/// Documents in the order in which they move above the threshold.
struct MovingDocuments {
  const PairFactors* factors = nullptr;    ///< of the query's rows
  const std::uint16_t* classes = nullptr;  ///< of the query's rows; unused for two classes
  const std::uint8_t* order = nullptr;
  std::size_t count = 0;
};

/// Sets added[k] to what the k-th document adds. For two classes, with up = 0 in the upper and down = 0 in
/// the lower.
void separate_two(const MovingDocuments& documents, SeparationState& state, double* added);

/// The same for up to kKernelClasses classes. A document outside these classes, whose factors are 0, adds 0.
/// The results are the same bit for bit at every SIMD width.
void separate_several(const MovingDocuments& documents, SeparationState& state, double* added);

}  // namespace metafuse::fusion::rankboost
