#include "core/simd.h"
#include "fusion/model/online/prank_bank.h"

namespace metafuse::fusion::online {
METAFUSE_CLONES double padded_dot(const double* left, const double* right, std::size_t padded_numbers) {
  double lanes[kSumLanes] = {};
  for (std::size_t i = 0; i < padded_numbers; i += kSumLanes)
    for (std::size_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += left[i + lane] * right[i + lane];
  return total_of_lanes(lanes);
}

METAFUSE_CLONES void add_row(double* weights, double step, const double* row, std::size_t padded_numbers) {
  for (std::size_t i = 0; i < padded_numbers; ++i) weights[i] += step * row[i];
}

METAFUSE_CLONES void scale_and_add_row(double* weights, const RommaStep& step, const double* row,
                                       double* sums, std::size_t padded_numbers) {
  const auto [scale, along] = step;
  for (std::size_t i = 0; i < padded_numbers; ++i) {
    const double moved = scale * weights[i] + along * row[i];
    sums[i] += moved - weights[i];
    weights[i] = moved;
  }
}

METAFUSE_CLONES double add_row_and_dot(double* weights, double step, const double* row, const double* next,
                                       std::size_t padded_numbers) {
  double lanes[kSumLanes] = {};
  for (std::size_t i = 0; i < padded_numbers; i += kSumLanes) {
    double sums[kSumLanes];
    for (std::size_t lane = 0; lane < kSumLanes; ++lane)
      sums[lane] = weights[i + lane] + step * row[i + lane];
    for (std::size_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += sums[lane] * next[i + lane];
    for (std::size_t lane = 0; lane < kSumLanes; ++lane) weights[i + lane] = sums[lane];
  }
  return total_of_lanes(lanes);
}

}  // namespace metafuse::fusion::online
