#include "lab/learners/rankboost_plus/pair_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.h"

namespace metafuse::lab::rankboost_plus {

namespace {

double log_cosh(double x) {
  const double size = std::abs(x);
  return size + std::log1p(std::exp(-2.0 * size)) - std::log(2.0);
}

/// ln(a / b) / 2, the form of every alpha below; if a or b is zero, `epsilon` is added to both.
double half_log_ratio(double a, double b, double epsilon) {
  if (a <= 0.0 || b <= 0.0) return 0.5 * std::log((a + epsilon) / (b + epsilon));
  return 0.5 * std::log(a / b);
}

// Weights have this lower limit, so that none stays zero for ever and no denormal number slows a pass down.
// The sum of all weights at the limit is below 1e-270 of the total.
constexpr double kLeastWeight = 1e-290;

/// Four partial sums in a fixed order, so that the result does not depend on how vector registers are used.
struct Sum4 {
  double part[4] = {0.0, 0.0, 0.0, 0.0};
  double total() const { return (part[0] + part[1]) + (part[2] + part[3]); }
};

/// weights *= factors, below_sums += weights; returns the sum of the new weights.
double multiply_row(double* __restrict weights, const double* __restrict factors,
                    double* __restrict below_sums, std::size_t count) {
  Sum4 sum;
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const double weight = std::max(weights[j + lane] * factors[j + lane], kLeastWeight);
      weights[j + lane] = weight;
      below_sums[j + lane] += weight;
      sum.part[lane] += weight;
    }
  for (; j < count; ++j) {
    const double weight = std::max(weights[j] * factors[j], kLeastWeight);
    weights[j] = weight;
    below_sums[j] += weight;
    sum.part[0] += weight;
  }
  return sum.total();
}

/// The sum of the weights for which `fires` is 0.
double dot_silent(const double* __restrict weights, const double* __restrict fires, std::size_t count) {
  Sum4 sum;
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4)
    for (std::size_t lane = 0; lane < 4; ++lane)
      sum.part[lane] += weights[j + lane] * (1.0 - fires[j + lane]);
  for (; j < count; ++j) sum.part[0] += weights[j] * (1.0 - fires[j]);
  return sum.total();
}

/// D_1, one number per pair.
std::vector<double> initial_weights(const PairRows& pairs) {
  std::vector<double> weights(pairs.pair_count);
  for (const PairRow& row : pairs.rows)
    std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(row.offset),
                pairs.classes[row.below_class].count, row.initial);
  return weights;
}

}  // namespace

double alpha_discrete(const Edges& edges, double epsilon) {
  return half_log_ratio(edges.right, edges.reversed, epsilon);
}

double alpha_continuous(const Edges& edges, double epsilon) {
  // (1 + r) / 2 and (1 - r) / 2, written as in eq. (39), which loses no digits for r near 1.
  const double half_tied = 0.5 * edges.tied;
  return half_log_ratio(edges.right + half_tied, edges.reversed + half_tied, epsilon);
}

double alpha_plus(const Edges& edges, double accumulated, double epsilon) {
  // exp(-a) / (2 cosh a) = 1 / (1 + exp(2a)), which does not overflow for a large accumulated weight.
  const double tied_right = edges.tied / (1.0 + std::exp(2.0 * accumulated));
  const double tied_reversed = edges.tied / (1.0 + std::exp(-2.0 * accumulated));
  return half_log_ratio(edges.right + tied_right, edges.reversed + tied_reversed, epsilon);
}

double delta_plus(const Edges& edges, double accumulated) {
  return edges.reversed - edges.right + edges.tied * std::tanh(accumulated);
}

double z_rankboost(const Edges& edges, double alpha) {
  return edges.tied + edges.right * std::exp(-alpha) + edges.reversed * std::exp(alpha);
}

double z_plus(const Edges& edges, double alpha, double accumulated) {
  return edges.right * std::exp(-alpha) + edges.reversed * std::exp(alpha) +
         edges.tied * tie_factor(alpha, accumulated);
}

double tie_factor(double alpha, double accumulated) {
  return std::exp(log_cosh(alpha + accumulated) - log_cosh(accumulated));
}

double dot_product(const double* __restrict a, const double* __restrict b, std::size_t count) {
  Sum4 sum;
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sum.part[lane] += a[j + lane] * b[j + lane];
  for (; j < count; ++j) sum.part[0] += a[j] * b[j];
  return sum.total();
}

PairDistribution::PairDistribution(const PairRows& pairs, unsigned threads)
    : pairs_(&pairs),
      threads_(useful_threads(pairs, threads)),
      weights_(initial_weights(pairs)),
      potentials_(pairs.document_count, 0.0),
      below_sums_(pairs.below.size(), 0.0),
      if_fires_(pairs.below.size(), 1.0),
      if_silent_(pairs.below.size(), 1.0),
      below_fires_(pairs.below.size(), 0.0) {
  multiply(std::vector<std::uint8_t>(pairs.document_count, 0), PairFactors{});
}

Edges PairDistribution::edges(const std::vector<std::uint8_t>& fires, std::optional<double> r) const {
  for (std::size_t k = 0; k < below_fires_.size(); ++k) below_fires_[k] = fires[pairs_->below[k]];
  std::vector<Edges> parts(pairs_->chunks.size());
  parallel_for(parts.size(), threads_, [&](std::size_t c) {
    for (std::size_t i = pairs_->chunks[c].first; i < pairs_->chunks[c].end; ++i) {
      const PairRow& row = pairs_->rows[i];
      const BelowClass& below = pairs_->classes[row.below_class];
      const double* weights = weights_.data() + row.offset;
      if (fires[row.above] == 0)
        parts[c].reversed += dot_product(weights, below_fires_.data() + below.first, below.count);
      else if (!r)
        parts[c].right += dot_silent(weights, below_fires_.data() + below.first, below.count);
    }
  });
  Edges edges;
  for (const Edges& part : parts) {
    edges.right += part.right;
    edges.reversed += part.reversed;
  }
  edges.reversed /= total_;
  edges.right = r ? std::max(0.0, edges.reversed + *r) : edges.right / total_;
  edges.tied = std::max(0.0, 1.0 - edges.right - edges.reversed);
  return edges;
}

bool PairDistribution::is_perfect(const std::vector<std::uint8_t>& fires) const {
  const std::uint8_t above = fires[pairs_->rows.front().above];
  for (const PairRow& row : pairs_->rows) {
    if (fires[row.above] != above) return false;
    const BelowClass& below = pairs_->classes[row.below_class];
    for (std::uint32_t k = below.first; k < below.first + below.count; ++k)
      if (fires[pairs_->below[k]] == above) return false;
  }
  return true;
}

/// Multiplies the weights of a chunk and adds the new weights to `total`.
void PairDistribution::multiply(const RowChunk& chunk, const std::vector<std::uint8_t>& fires,
                                double& total) {
  for (std::size_t r = chunk.first; r < chunk.end; ++r) {
    const PairRow& row = pairs_->rows[r];
    const BelowClass& below = pairs_->classes[row.below_class];
    const std::vector<double>& factor = fires[row.above] != 0 ? if_fires_ : if_silent_;
    const double sum = multiply_row(weights_.data() + row.offset, factor.data() + below.first,
                                    below_sums_.data() + below.first, below.count);
    potentials_[row.above] += sum;
    total += sum;
  }
}

void PairDistribution::multiply(const std::vector<std::uint8_t>& fires, const PairFactors& factors) {
  for (std::size_t k = 0; k < pairs_->below.size(); ++k) {
    const bool below_fires = fires[pairs_->below[k]] != 0;
    if_fires_[k] = below_fires ? factors.tied : factors.right;
    if_silent_[k] = below_fires ? factors.reversed : factors.tied;
  }
  std::fill(below_sums_.begin(), below_sums_.end(), 0.0);
  std::fill(potentials_.begin(), potentials_.end(), 0.0);
  std::vector<double> totals(pairs_->chunks.size(), 0.0);
  parallel_for(totals.size(), threads_,
               [&](std::size_t c) { multiply(pairs_->chunks[c], fires, totals[c]); });
  total_ = std::accumulate(totals.begin(), totals.end(), 0.0);
  for (std::size_t k = 0; k < pairs_->below.size(); ++k) potentials_[pairs_->below[k]] -= below_sums_[k];
}

}  // namespace metafuse::lab::rankboost_plus
