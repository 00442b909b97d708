#include "core/simd.h"
#include "fusion/model/online/prank_bank.h"

namespace metafuse::fusion::online {
namespace {

constexpr std::size_t kLanes = 8;

double total_of(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

METAFUSE_CLONES double padded_dot(const double* left, const double* right, std::size_t padded_numbers) {
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < padded_numbers; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += left[i + lane] * right[i + lane];
  return total_of(lanes);
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
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < padded_numbers; i += kLanes) {
    double sums[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] = weights[i + lane] + step * row[i + lane];
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += sums[lane] * next[i + lane];
    for (std::size_t lane = 0; lane < kLanes; ++lane) weights[i + lane] = sums[lane];
  }
  return total_of(lanes);
}

}  // namespace metafuse::fusion::online
