#include "lab/learners/rankboost_plus/independent_ensemble.h"

#include <cmath>
#include <map>
#include <numeric>

#include "core/contract.h"

namespace metafuse::lab::rankboost_plus {

namespace {

/// The connected component of each document in the graph whose edges are the crucial pairs, numbered from 0;
/// -1 for a document that is in no pair.
///
/// cost:   O(pairs)
std::vector<std::int32_t> components(const PairRows& pairs) {
  std::vector<std::uint32_t> parent(pairs.document_count);
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::uint32_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  std::vector<std::uint8_t> is_paired(pairs.document_count, 0);
  for (const PairRow& row : pairs.rows) {
    const BelowClass& below = pairs.classes[row.below_class];
    is_paired[row.above] = 1;
    for (std::uint32_t k = below.first; k < below.first + below.count; ++k) {
      is_paired[pairs.below[k]] = 1;
      parent[root(pairs.below[k])] = root(row.above);
    }
  }
  std::vector<std::int32_t> component(pairs.document_count, -1);
  std::map<std::uint32_t, std::int32_t> number;
  for (std::uint32_t x = 0; x < pairs.document_count; ++x)
    if (is_paired[x] != 0)
      component[x] = number.try_emplace(root(x), static_cast<std::int32_t>(number.size())).first->second;
  return component;
}

// Smaller coordinates are rounding errors of the solution, since coordinates of stumps are simple fractions.
constexpr double kNoWeight = 1e-9;

PairFactors plus_factors(double alpha, double accumulated, double z) {
  return {std::exp(-alpha) / z, std::exp(alpha) / z, tie_factor(alpha, accumulated) / z};
}

}  // namespace

IndependentSet::IndependentSet(const StumpTable& stumps, const PairRows& pairs, unsigned threads)
    : stumps_(stumps),
      threads_(threads),
      component_(components(pairs)),
      factor_(stumps.stumps().size()),
      length_(stumps.stumps().size(), -1.0),
      left_(stumps.stumps().size(), 0.0) {
  for (const std::int32_t c : component_) {
    if (c < 0) continue;
    if (component_size_.size() <= static_cast<std::size_t>(c))
      component_size_.resize(static_cast<std::size_t>(c) + 1);
    component_size_[static_cast<std::size_t>(c)] += 1.0;
  }
}

std::vector<double> IndependentSet::centred(std::size_t stump) const {
  std::vector<double> mean(component_size_.size(), 0.0);
  std::vector<double> vector(component_.size(), 0.0);
  const std::vector<std::uint8_t> fires = stumps_.firing(stump);
  for (std::size_t x = 0; x < vector.size(); ++x) {
    if (component_[x] < 0 || fires[x] == 0) continue;
    vector[x] = 1.0;
    mean[static_cast<std::size_t>(component_[x])] += 1.0;
  }
  for (std::size_t c = 0; c < mean.size(); ++c) mean[c] /= component_size_[c];
  for (std::size_t x = 0; x < vector.size(); ++x)
    if (component_[x] >= 0) vector[x] -= mean[static_cast<std::size_t>(component_[x])];
  return vector;
}

const std::vector<double>& IndependentSet::extend(std::size_t stump) {
  std::vector<double>& row = factor_[stump];
  if (length_[stump] < 0.0) {
    length_[stump] = 0.0;
    for (const double value : centred(stump)) length_[stump] += value * value;
    left_[stump] = length_[stump];
  }
  for (std::size_t k = row.size(); k < members_.size(); ++k) {
    const std::vector<double>& pivot = factor_[members_[k]];
    const double entry = (gram_[k][stump] - dot_product(row.data(), pivot.data(), k)) / pivot[k];
    row.push_back(entry);
    left_[stump] -= entry * entry;
  }
  return row;
}

bool IndependentSet::is_dependent(std::size_t stump) {
  extend(stump);
  return left_[stump] <= kTolerance * length_[stump];
}

std::vector<double> IndependentSet::coordinates(std::size_t stump) {
  std::vector<double> weights = extend(stump);
  // Solve transpose(L) weights = row of the stump by back substitution.
  for (std::size_t k = members_.size(); k-- > 0;) {
    weights[k] /= factor_[members_[k]][k];
    for (std::size_t i = 0; i < k; ++i) weights[i] -= factor_[members_[k]][i] * weights[k];
  }
  return weights;
}

void IndependentSet::add(std::size_t stump) {
  require(!is_dependent(stump), "a member must be independent of the others");
  // Centring one of the two vectors of an inner product is enough.
  gram_.push_back(stumps_.sums_where_fires(centred(stump), threads_));
  factor_[stump].push_back(std::sqrt(left_[stump]));
  left_[stump] = 0.0;
  members_.push_back(stump);
}

IndependentEnsemble::IndependentEnsemble(const StumpTable& stumps, const PairRows& pairs, unsigned threads)
    : stumps_(stumps), set_(stumps, pairs, threads), distribution_(pairs, threads) {}

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

}  // namespace metafuse::lab::rankboost_plus
