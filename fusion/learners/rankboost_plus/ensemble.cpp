#include "fusion/learners/rankboost_plus/ensemble.h"

#include <cmath>

namespace metafuse::fusion::rankboost_plus {
namespace {

// Coordinates smaller than this are rounding of the solve: stumps have coordinates that are simple fractions.
constexpr double kNoWeight = 1e-9;

PairFactors plus_factors(double alpha, double accumulated, double z) {
  return {std::exp(-alpha) / z, std::exp(alpha) / z, tie_factor(alpha, accumulated) / z};
}

}  // namespace

IndependentEnsemble::IndependentEnsemble(const StumpTable& stumps, const PairRows& pairs, unsigned threads)
    : stumps_(stumps), set_(stumps, components(pairs), threads), distribution_(pairs, threads) {}

std::ptrdiff_t IndependentEnsemble::place(std::size_t stump) const {
  const auto found = places_.find(stump);
  return found == places_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second);
}

std::size_t IndependentEnsemble::include(std::size_t stump) {
  set_.add(stump);
  return include_unchecked(stump);
}

std::size_t IndependentEnsemble::include_unchecked(std::size_t stump) {
  places_[stump] = eta_.size();
  stumps_of_.push_back(stump);
  eta_.push_back(0.0);
  return eta_.size() - 1;
}

void IndependentEnsemble::add(std::size_t stump, double alpha) {
  std::ptrdiff_t member = place(stump);
  if (member < 0 && set_.is_dependent(stump)) {
    std::vector<double> step = set_.coordinates(stump);
    for (double& weight : step) weight *= std::abs(weight) < kNoWeight ? 0.0 : alpha;
    move(step);
    return;
  }
  if (member < 0) member = static_cast<std::ptrdiff_t>(include(stump));
  const auto at = static_cast<std::size_t>(member);
  const Edges edges = distribution_.edges(stumps_.firing(stump));
  move(at, alpha, z_plus(edges, alpha, eta_[at]));
}

void IndependentEnsemble::move(std::size_t member, double alpha, double z) {
  if (e2_ >= kLargestE2) return;
  if (!(e2_ * z < kLargestE2)) {
    e2_ = kLargestE2;
    return;
  }
  distribution_.multiply(stumps_.firing(stumps_of_[member]), plus_factors(alpha, eta_[member], z));
  eta_[member] += alpha;
  e2_ *= z;
}

void IndependentEnsemble::move(const std::vector<double>& step) {
  for (std::size_t k = 0; k < step.size(); ++k) {
    if (step[k] == 0.0) continue;
    const Edges edges = distribution_.edges(stumps_.firing(stumps_of_[k]));
    move(k, step[k], z_plus(edges, step[k], eta_[k]));
  }
}

double IndependentEnsemble::ratio_after(const std::vector<double>& step) const {
  PairDistribution trial = distribution_;
  double ratio = 1.0;
  for (std::size_t k = 0; k < step.size(); ++k) {
    if (step[k] == 0.0) continue;
    const std::vector<std::uint8_t> fires = stumps_.firing(stumps_of_[k]);
    const double z = z_plus(trial.edges(fires), step[k], eta_[k]);
    trial.multiply(fires, plus_factors(step[k], eta_[k], z));
    ratio *= z;
  }
  return ratio;
}

}  // namespace metafuse::fusion::rankboost_plus
