#pragma once

#include <cstddef>
#include <cstdint>

#include "fusion/learners/rankboost/pair_factors.h"

namespace metafuse::fusion::rankboost {

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
