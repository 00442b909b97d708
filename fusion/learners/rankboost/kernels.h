#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace metafuse::fusion::rankboost {

/// What a document brings into the weight of its pairs: up as the lower one, down as the upper one.
struct PairFactors {
  double up = 0.0;
  double down = 0.0;
};

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

/// Scores tie within the larger of their reaches.
inline double tie_reach(double score) {
  return 1e-12 * std::max(1.0, std::abs(score));
}
/// The reach of each of count scores.
void set_tie_reaches(const double* scores, double* reaches, std::size_t count);

/// Scores of the documents of one class, with the distance within which each ties.
struct ClassScores {
  const double* scores = nullptr;   ///< NaN beyond the documents, up to a multiple of four
  const double* reaches = nullptr;  ///< as many
  std::size_t documents = 0;
};

/// Twice the number of pairs of a document of `lower` that stands above one of `upper`, plus the number of
/// those that tie.
/// cost:   the product of both numbers of documents, four pairs at a time
std::int64_t misordered_halves(const ClassScores& lower, const ClassScores& upper);

/// What a document's potential is made of.
struct PotentialTerms {
  const double* down = nullptr;  ///< may be nullptr: gain is 0
  const double* up = nullptr;    ///< may be nullptr: cost is 0
  double gain = 0.0;
  double cost = 0.0;
};

/// fixed[i] = down[i] gain - up[i] cost, rounded to whole numbers, halves away from zero.
/// out:    the sum of |potential[i] - old_factor before[i]|; before[i] becomes the potential
double make_potentials(const PotentialTerms& terms, double old_factor, float* before, std::int64_t* fixed,
                       std::size_t count);

/// to[rows[i]] = from[i]
void scatter(const std::int64_t* from, const std::uint32_t* rows, std::int64_t* to, std::size_t count);

constexpr std::size_t kKernelClasses = 8;

/// What separates the documents of one query that are still below the threshold: a document of class c that
/// moves above it adds up cost[c] + down gain[c]; after that the costs fall by down by_down[c] and the gains
/// by up by_up[c].
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

/// added[k] = what the k-th document adds. Two classes, with up = 0 in the upper and down = 0 in the lower.
void separate_two(const MovingDocuments& documents, SeparationState& state, double* added);

/// The same for up to kKernelClasses classes; a document of another class, with factors 0, adds 0. The same
/// bits for any width of SIMD.
void separate_several(const MovingDocuments& documents, SeparationState& state, double* added);

}  // namespace metafuse::fusion::rankboost
