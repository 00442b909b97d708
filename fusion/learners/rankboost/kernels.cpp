#include "fusion/learners/rankboost/kernels.h"

#include <cmath>
#include <cstring>

#include "core/simd.h"

namespace metafuse::fusion::rankboost {

METAFUSE_CLONES double sum_in_lanes(const double* numbers, std::size_t count) {
  double lanes[kSumLanes] = {};
  std::size_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes)
    for (std::size_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += numbers[i + lane];
  for (std::size_t lane = 0; i + lane < count; ++lane) lanes[lane] += numbers[i + lane];
  return total_of_lanes(lanes);
}

void multiply_by_code(double* numbers, const double* by_code, const std::uint8_t* codes,
                      const std::uint32_t* rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] *= by_code[codes[rows[i]]];
}

void multiply_both_by_code(double* up, double* down, const PairFactors* by_code, const std::uint8_t* codes,
                           const std::uint32_t* rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const PairFactors& factors = by_code[codes[rows[i]]];
    up[i] *= factors.up;
    down[i] *= factors.down;
  }
}

namespace {

using Doubles __attribute__((vector_size(64))) = double;
using Floats __attribute__((vector_size(32))) = float;
using Whole __attribute__((vector_size(64))) = std::int64_t;

/// Computes the potentials of one or eight documents, from index `i` on.
template <class Numbers>
inline void set_potentials(const PotentialTerms& terms, std::size_t i, Numbers& potentials) {
  Numbers down{};
  Numbers up{};
  if (terms.down != nullptr) std::memcpy(&down, terms.down + i, sizeof down);
  if (terms.up != nullptr) std::memcpy(&up, terms.up + i, sizeof up);
  potentials = down * terms.gain - up * terms.cost;
}

}  // namespace

METAFUSE_CLONES double make_potentials(const PotentialTerms& terms, double old_factor, float* before,
                                       std::int64_t* fixed, std::size_t count) {
  Doubles change{};
  std::size_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    Doubles potentials;
    set_potentials(terms, i, potentials);
    Floats old;
    std::memcpy(&old, before + i, sizeof old);
    const Doubles moved = potentials - __builtin_convertvector(old, Doubles) * old_factor;
    change += moved < 0.0 ? -moved : moved;
    old = __builtin_convertvector(potentials, Floats);
    std::memcpy(before + i, &old, sizeof old);
    const auto rounded =
        __builtin_convertvector(potentials + (potentials < 0.0 ? Doubles{} - 0.5 : Doubles{} + 0.5), Whole);
    std::memcpy(fixed + i, &rounded, sizeof rounded);
  }
  double lanes[kSumLanes];
  std::memcpy(lanes, &change, sizeof lanes);
  for (std::size_t lane = 0; i + lane < count; ++lane) {
    double potential = 0.0;
    set_potentials(terms, i + lane, potential);
    lanes[lane] += std::fabs(potential - static_cast<double>(before[i + lane]) * old_factor);
    before[i + lane] = static_cast<float>(potential);
    fixed[i + lane] = static_cast<std::int64_t>(potential + (potential < 0.0 ? -0.5 : 0.5));
  }
  return total_of_lanes(lanes);
}

namespace {

using FourDoubles __attribute__((vector_size(32))) = double;
using FourWhole __attribute__((vector_size(32))) = std::int64_t;

/// in: sign - 1 if `many` belongs to the lower class, else -1
inline void count_halves(const ClassScores& few, const ClassScores& many, double sign, FourWhole& halves) {
  for (std::size_t i = 0; i < few.documents; ++i) {
    const FourDoubles score = FourDoubles{} + few.scores[i];
    const FourDoubles reach = FourDoubles{} + few.reaches[i];
    for (std::size_t k = 0; k < many.documents; k += 4) {
      FourDoubles scores;
      FourDoubles reaches;
      std::memcpy(&scores, many.scores + k, sizeof scores);
      std::memcpy(&reaches, many.reaches + k, sizeof reaches);
      const FourDoubles above =
          sign * (scores - score);  // by how much the lower one stands above the upper one
      reaches = reaches > reach ? reaches : reach;
      halves -= (above > reaches) + (above >= -reaches);  // true is -1
    }
  }
}

}  // namespace

METAFUSE_CLONES void set_tie_reaches(const double* scores, double* reaches, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) reaches[i] = tie_reach(scores[i]);
}

METAFUSE_CLONES std::int64_t misordered_halves(const ClassScores& lower, const ClassScores& upper) {
  FourWhole halves{};
  if (lower.documents < upper.documents)
    count_halves(lower, upper, -1.0, halves);
  else
    count_halves(upper, lower, 1.0, halves);
  return (halves[0] + halves[1]) + (halves[2] + halves[3]);
}

void scatter(const std::int64_t* from, const std::uint32_t* rows, std::int64_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[rows[i]] = from[i];
}

void separate_two(const MovingDocuments& documents, SeparationState& state, double* added) {
  double cost = state.cost[0];
  double gain = state.gain[1];
  const double step = state.by_down[1][0];
  for (std::size_t k = 0; k < documents.count; ++k) {
    const PairFactors& document = documents.factors[documents.order[k]];
    added[k] = document.up * cost + document.down * gain;
    cost -= step * document.down;
    gain -= step * document.up;
  }
  state.cost[0] = cost;
  state.gain[1] = gain;
}

METAFUSE_CLONES void separate_several(const MovingDocuments& documents, SeparationState& state,
                                      double* added) {
  using Lanes __attribute__((vector_size(64), may_alias)) = double;
  Lanes cost = *reinterpret_cast<const Lanes*>(state.cost);
  Lanes gain = *reinterpret_cast<const Lanes*>(state.gain);
  for (std::size_t k = 0; k < documents.count; ++k) {
    const std::size_t row = documents.order[k];
    const PairFactors& document = documents.factors[row];
    const std::size_t place = documents.classes[row] % kKernelClasses;
    *reinterpret_cast<Lanes*>(state.cost) = cost;
    *reinterpret_cast<Lanes*>(state.gain) = gain;
    added[k] = document.up * state.cost[place] + document.down * state.gain[place];
    cost -= document.down * *reinterpret_cast<const Lanes*>(state.by_down[place]);
    gain -= document.up * *reinterpret_cast<const Lanes*>(state.by_up[place]);
  }
  *reinterpret_cast<Lanes*>(state.cost) = cost;
  *reinterpret_cast<Lanes*>(state.gain) = gain;
}

}  // namespace metafuse::fusion::rankboost
