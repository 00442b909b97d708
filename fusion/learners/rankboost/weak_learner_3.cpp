#include "fusion/learners/rankboost/weak_learner_3.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace metafuse::fusion::rankboost {

namespace {

constexpr double kTieTolerance = 1e-9;
constexpr double kLikely = 0.9;    // share of the best edge of the previous round
constexpr std::size_t kBatch = 4;  // features summed in one pass over the potentials

}  // namespace

WeakLearner3::WeakLearner3(const CodedFeatures& features, const Options& options, unsigned threads,
                           Communicator* communicator)
    : features_(&features),
      options_(&options),
      threads_(threads),
      is_alone_(communicator == nullptr),
      histograms_(features, communicator) {
  reach_.assign(features.feature_count(), std::numeric_limits<double>::infinity());
  best_.assign(features.feature_count(), -1.0);
}

template <class Take>
void WeakLearner3::for_each_edge(std::size_t feature, const Take& take) const {
  const auto sums = histograms_.of(feature);
  if (sums.size() <= 1) return;  // unranked everywhere
  const auto highest = static_cast<std::uint32_t>(sums.size() - 1);
  std::int64_t ranked = 0;
  for (const std::int64_t sum : sums) ranked += sum;
  if (options_->is_value) {
    const CodedRanking h = coded_ranking(*features_, *options_, feature, 0, 0.0);
    double edge = 0.0;
    for (std::size_t code = 1; code < sums.size(); ++code)
      edge += static_cast<double>(sums[code]) * h.values[code];
    if (options_->may_be_zero()) take(0, 0, edge);
    if (options_->may_be_one()) take(0, 1, edge - static_cast<double>(ranked));
    return;
  }
  std::int64_t above = 0;
  for (std::uint32_t threshold = highest;; --threshold) {
    if (threshold < highest) above += sums[threshold + 1];
    if (options_->may_be_zero() && threshold < highest) take(threshold, 0, static_cast<double>(above));
    if (options_->may_be_one() && threshold > 0) take(threshold, 1, static_cast<double>(above - ranked));
    if (threshold == 0) break;
  }
}

Candidate WeakLearner3::candidate_of(std::size_t feature, std::uint32_t threshold, std::uint8_t q_default,
                                     double edge, std::int64_t total) {
  Candidate candidate{static_cast<std::uint32_t>(feature), threshold, q_default};
  candidate.r = edge / static_cast<double>(total);
  candidate.criterion = std::abs(candidate.r);
  return candidate;
}

bool WeakLearner3::is_admissible(const Candidate& candidate, const CumulativeWeights& weights,
                                 const AlphaOf& alpha_of) const {
  if (!options_->weak_learner.is_cumulative || candidate.r > 0.0) return true;
  const double so_far = weights.at(candidate.feature, candidate.threshold, candidate.q_default);
  return so_far > 0.0 && so_far + alpha_of(candidate) > 0.0;
}

void WeakLearner3::distribution_changed(double change, double z, std::size_t feature) {
  for (double& reach : reach_) reach = (reach + change) / z * (1.0 + 1e-12);
  reach_[feature] = std::numeric_limits<double>::infinity();  // its cumulative weights changed
}

void WeakLearner3::forget() {
  std::fill(reach_.begin(), reach_.end(), std::numeric_limits<double>::infinity());
}

double WeakLearner3::visit(std::size_t feature, std::int64_t total, const CumulativeWeights& weights,
                           const AlphaOf& alpha_of) {
  // Edges are compared before division by the total, which does not change their order.
  double best = -1.0;
  double reach = 0.0;
  for_each_edge(feature, [&](std::uint32_t threshold, std::uint8_t q_default, double edge) {
    // Candidates that may become admissible while this feature is not chosen: those whose edge is or becomes
    // positive, and those that already have weight, with any edge.
    const double size = std::abs(edge);
    const bool may_be_negative =
        !options_->weak_learner.is_cumulative || weights.at(feature, threshold, q_default) > 0.0;
    if (edge > 0.0 || may_be_negative) reach = std::max(reach, size);
    if (size <= best || (edge <= 0.0 && !may_be_negative)) return;
    if (is_admissible(candidate_of(feature, threshold, q_default, edge, total), weights, alpha_of))
      best = size;
  });
  reach_[feature] = reach / static_cast<double>(total);
  return best < 0.0 ? best : best / static_cast<double>(total);
}

std::optional<Candidate> WeakLearner3::find(const Distribution& distribution,
                                            const CumulativeWeights& weights, const AlphaOf& alpha_of) {
  std::vector<std::size_t> order(reach_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return reach_[a] != reach_[b] ? reach_[a] > reach_[b] : a < b;
  });
  std::fill(best_.begin(), best_.end(), -1.0);
  double best = -1.0;
  for (std::size_t done = 0; done < order.size();) {
    std::size_t end = done;
    std::size_t most = done + kBatch * threads_;
    // The best edge is rarely larger than in the previous round. So features that can reach kLikely of
    // it are summed together, which takes fewer passes over the potentials and fewer exchanges between
    // MPI processes.
    const double likely = (is_alone_ ? 1.0 : kLikely) * last_best_;
    while (most < order.size() && reach_[order[most]] >= likely) ++most;
    while (end < std::min(most, order.size()) && reach_[order[end]] >= best * (1.0 - 2.0 * kTieTolerance))
      ++end;
    if (end == done) break;
    const std::span<const std::size_t> batch(order.data() + done, end - done);
    histograms_.fill(batch, distribution.potentials(), threads_);
    for (const std::size_t feature : batch) {
      best_[feature] = visit(feature, distribution.total(), weights, alpha_of);
      best = std::max(best, best_[feature]);
    }
    done = end;
  }
  last_best_ = best;
  std::optional<Candidate> chosen;
  for (std::size_t feature = 0; best >= 0.0 && !chosen && feature < best_.size(); ++feature) {
    if (best - best_[feature] > kTieTolerance * best) continue;
    for_each_edge(feature, [&](std::uint32_t threshold, std::uint8_t q_default, double edge) {
      const Candidate candidate = candidate_of(feature, threshold, q_default, edge, distribution.total());
      if (!chosen && best - candidate.criterion <= kTieTolerance * best &&
          is_admissible(candidate, weights, alpha_of))
        chosen = candidate;
    });
  }
  return chosen;
}

}  // namespace metafuse::fusion::rankboost
