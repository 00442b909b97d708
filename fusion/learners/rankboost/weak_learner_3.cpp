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

Candidate edge_candidate(std::size_t feature, std::uint32_t threshold, std::uint8_t q_default, double r) {
  Candidate candidate{static_cast<std::uint32_t>(feature), threshold, q_default};
  candidate.r = r;
  candidate.criterion = std::abs(r);
  return candidate;
}

}  // namespace

WeakLearner3::WeakLearner3(const Problem& problem)
    : problem_(problem),
      histograms_(problem.features, problem.communicator),
      search_([](double best) { return kTieTolerance * best; }),
      reach_(problem.features.feature_count(), std::numeric_limits<double>::infinity()) {}

template <class Take>
void WeakLearner3::for_each_edge(std::size_t feature, const Take& take) const {
  const auto sums = histograms_.of(feature);
  if (sums.size() <= 1) return;  // unranked everywhere
  const auto highest = static_cast<std::uint32_t>(sums.size() - 1);
  const std::int64_t ranked = std::accumulate(sums.begin(), sums.end(), std::int64_t{0});
  const Options& options = problem_.options;
  if (options.is_value) {
    const CodedRanking h = problem_.ranking_of({static_cast<std::uint32_t>(feature)});
    double edge = 0.0;
    for (std::size_t code = 1; code < sums.size(); ++code)
      edge += static_cast<double>(sums[code]) * h.values[code];
    if (options.may_be_zero()) take(0, 0, edge);
    if (options.may_be_one()) take(0, 1, edge - static_cast<double>(ranked));
    return;
  }
  std::int64_t above = 0;
  for (std::uint32_t threshold = highest;; --threshold) {
    if (threshold < highest) above += sums[threshold + 1];
    if (options.may_be_zero() && threshold < highest) take(threshold, 0, static_cast<double>(above));
    if (options.may_be_one() && threshold > 0) take(threshold, 1, static_cast<double>(above - ranked));
    if (threshold == 0) break;
  }
}

void WeakLearner3::distribution_changed(double change, double z, std::size_t feature) {
  for (double& reach : reach_) reach = (reach + change) / z * (1.0 + 1e-12);
  reach_[feature] = std::numeric_limits<double>::infinity();  // its cumulative weights changed
}

void WeakLearner3::forget() {
  std::fill(reach_.begin(), reach_.end(), std::numeric_limits<double>::infinity());
}

double WeakLearner3::visit(std::size_t feature, const RoundState& round) {
  // Edges are compared before division by the total, which does not change their order.
  double best = -1.0;
  double reach = 0.0;
  for_each_edge(feature, [&](std::uint32_t threshold, std::uint8_t q_default, double edge) {
    // Candidates that may become admissible while this feature is not chosen: those whose edge is or becomes
    // positive, and those that already have weight, with any edge.
    const double size = std::abs(edge);
    const bool may_be_negative =
        !problem_.options.weak_learner.is_cumulative || round.weights.at(feature, threshold, q_default) > 0.0;
    if (edge > 0.0 || may_be_negative) reach = std::max(reach, size);
    if (size <= best || (edge <= 0.0 && !may_be_negative)) return;
    const Candidate candidate = edge_candidate(feature, threshold, q_default, edge / round.total);
    if (problem_.is_admissible(candidate, round, 0.0)) best = size;
  });
  reach_[feature] = reach / round.total;
  return best < 0.0 ? best : best / round.total;
}

std::optional<Candidate> WeakLearner3::find(const Distribution& distribution,
                                            const CumulativeWeights& weights, const AlphaOf& alpha_of) {
  const RoundState round{weights, alpha_of, static_cast<double>(distribution.total())};
  // The best edge is rarely larger than in the previous round. So features that can reach kLikely of it are
  // summed together, which takes fewer passes over the potentials and fewer exchanges between MPI processes.
  const double likely = (problem_.communicator == nullptr ? 1.0 : kLikely) * search_.best();
  search_.run(
      reach_, kBatch * problem_.threads, likely,
      [&](std::span<const std::size_t> batch) {
        histograms_.fill(batch, distribution.potentials(), problem_.threads);
      },
      [&](std::size_t feature) { return visit(feature, round); });
  return search_.first_best(
      [&](std::size_t feature, const auto& take) {
        for_each_edge(feature, [&](std::uint32_t threshold, std::uint8_t q_default, double edge) {
          take(edge_candidate(feature, threshold, q_default, edge / round.total));
        });
      },
      [&](const Candidate& candidate) { return problem_.is_admissible(candidate, round, 0.0); });
}

}  // namespace metafuse::fusion::rankboost
