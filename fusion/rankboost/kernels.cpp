#include "fusion/rankboost/kernels.h"

#include <cmath>

#include "core/clones.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::size_t kLanes = 8;

double total_of(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

METAFUSE_CLONES double sum_in_lanes(const double* numbers, std::size_t count) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += numbers[i + lane];
  for (std::size_t lane = 0; i + lane < count; ++lane) lanes[lane] += numbers[i + lane];
  return total_of(lanes);
}

void multiply_by_code(double* numbers, const double* by_code, const std::uint8_t* codes,
                      const std::uint32_t* rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] *= by_code[codes[rows[i]]];
}

METAFUSE_CLONES double make_potentials(const PotentialTerms& terms, double old_factor, std::int64_t* fixed,
                                       std::size_t count) {
  const double* const down = terms.down;
  const double* const up = terms.up;
  const double gain = terms.gain;
  const double cost = terms.cost;
  double change[kLanes] = {};
  const auto put = [&](std::size_t i, std::size_t lane, double potential) {
    change[lane] += std::fabs(potential - static_cast<double>(fixed[i]) * old_factor);
    fixed[i] = std::llrint(potential);
  };
  std::size_t i = 0;
  if (down == nullptr) {
    for (; i + kLanes <= count; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) put(i + lane, lane, -(up[i + lane] * cost));
    for (std::size_t lane = 0; i + lane < count; ++lane) put(i + lane, lane, -(up[i + lane] * cost));
  } else if (up == nullptr) {
    for (std::size_t lane = 0; i < count; ++i, lane = (lane + 1) % kLanes) put(i, lane, down[i] * gain);
  } else {
    for (; i + kLanes <= count; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        put(i + lane, lane, down[i + lane] * gain - up[i + lane] * cost);
    for (std::size_t lane = 0; i + lane < count; ++lane)
      put(i + lane, lane, down[i + lane] * gain - up[i + lane] * cost);
  }
  return total_of(change);
}

void scatter(const std::int64_t* from, const std::uint32_t* rows, std::int64_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[rows[i]] = from[i];
}

}  // namespace metafuse::fusion::rankboost
