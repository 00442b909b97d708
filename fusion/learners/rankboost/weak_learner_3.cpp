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
constexpr double kRoundedUp = 1.0 + 1e-12;
constexpr double kSumError = 1e-13;  // per threshold: of sums in floating point and of the factors

Candidate edge_candidate(std::size_t feature, std::uint32_t threshold, std::uint8_t q_default, double r) {
  Candidate candidate{static_cast<std::uint32_t>(feature), threshold, q_default};
  candidate.r = r;
  candidate.criterion = std::abs(r);
  return candidate;
}

}  // namespace

WeakLearner3::WeakLearner3(const Problem& problem, const Distribution& distribution)
    : problem_(problem),
      search_([](double best) { return kTieTolerance * best; }),
      reach_(problem.features.feature_count()) {
  const std::vector<std::size_t>& rows = distribution.part_rows();
  for (std::size_t part = 0; part + 1 < rows.size(); ++part)
    parts_.emplace_back(problem.features, RowRange{rows[part], rows[part + 1]}, problem.communicator);
  known_.resize(reach_.size() * parts_.size());
  forget();
}

template <class Number, class Take>
void WeakLearner3::for_each_edge(std::size_t feature, const std::vector<Number>& sums,
                                 const Take& take) const {
  if (sums.size() <= 1) return;  // unranked everywhere
  const auto highest = static_cast<std::uint32_t>(sums.size() - 1);
  const Number ranked = std::accumulate(sums.begin(), sums.end(), Number{0});
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
  Number above{0};
  for (std::uint32_t threshold = highest;; --threshold) {
    if (threshold < highest) above += sums[threshold + 1];
    if (options.may_be_zero() && threshold < highest) take(threshold, 0, static_cast<double>(above));
    if (options.may_be_one() && threshold > 0) take(threshold, 1, static_cast<double>(above - ranked));
    if (threshold == 0) break;
  }
}

std::vector<std::int64_t> WeakLearner3::sums_of(std::size_t feature) const {
  std::vector<std::int64_t> sums(parts_[0].of(feature).size(), 0);
  for (const Histograms& part : parts_)
    for (std::size_t code = 0; code < sums.size(); ++code) sums[code] += part.of(feature)[code];
  return sums;
}

std::vector<double> WeakLearner3::known_sums_of(std::size_t feature) {
  std::vector<double> sums(parts_[0].of(feature).size(), 0.0);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const double factor = known(feature)[part].factor;
    const std::span<const std::int64_t> own = parts_[part].of(feature);
    for (std::size_t code = 0; code < sums.size(); ++code)
      sums[code] += factor * static_cast<double>(own[code]);
  }
  return sums;
}

void WeakLearner3::distribution_changed(std::span<const double> changes, double z, std::size_t feature) {
  const double change = std::accumulate(changes.begin(), changes.end(), 0.0);
  for (double& reach : reach_) reach = (reach + change) / z * kRoundedUp;
  reach_[feature] = std::numeric_limits<double>::infinity();  // its cumulative weights changed
  for (std::size_t i = 0; i < known_.size(); ++i) {
    known_[i].factor /= z;
    known_[i].error = (known_[i].error + changes[i % changes.size()]) / z * kRoundedUp;
  }
}

void WeakLearner3::forget() {
  constexpr double kAnything = std::numeric_limits<double>::infinity();
  std::fill(reach_.begin(), reach_.end(), kAnything);
  std::fill(known_.begin(), known_.end(), Known{0.0, kAnything});
}

void WeakLearner3::sum_next_parts(std::span<const std::size_t> features, const Distribution& distribution) {
  std::vector<std::vector<std::size_t>> features_of(parts_.size());
  for (const std::size_t feature : features) {
    const auto next = std::ranges::max_element(known(feature), {}, &Known::error);
    features_of[static_cast<std::size_t>(next - known(feature).begin())].push_back(feature);
    *next = {1.0 / static_cast<double>(distribution.total()), 0.0};
  }
  for (std::size_t part = 0; part < parts_.size(); ++part)
    if (!features_of[part].empty())
      parts_[part].fill(features_of[part], distribution.potentials(), problem_.threads);
}

std::optional<double> WeakLearner3::visit(std::size_t feature, const RoundState& round) {
  double error = 0.0;
  for (const Known& part : known(feature)) error += part.error;
  double best = -1.0;
  double reach = 0.0;
  const auto take = [&](std::uint32_t threshold, std::uint8_t q_default, double r) {
    // Candidates that may become admissible while this feature is not chosen: those whose edge is or becomes
    // positive, and those that already have weight, with any edge.
    const double size = std::abs(r);
    const bool may_be_negative =
        !problem_.options.weak_learner.is_cumulative || round.weights.at(feature, threshold, q_default) > 0.0;
    reach = std::max(reach, (may_be_negative ? size : r) + error);
    if (error > 0.0 || size <= best || (r <= 0.0 && !may_be_negative)) return;
    if (problem_.is_admissible(edge_candidate(feature, threshold, q_default, r), round, 0.0)) best = size;
  };
  if (error == 0.0)
    for_each_edge(feature, sums_of(feature),
                  [&](std::uint32_t threshold, std::uint8_t q_default, double edge) {
                    take(threshold, q_default, edge / round.total);
                  });
  else if (std::isfinite(error))
    for_each_edge(feature, known_sums_of(feature), take);
  else
    reach = error;
  reach_[feature] = reach + kSumError * static_cast<double>(parts_[0].of(feature).size());
  return error > 0.0 ? std::nullopt : std::optional(best);
}

std::optional<Candidate> WeakLearner3::find(const Distribution& distribution,
                                            const CumulativeWeights& weights, const AlphaOf& alpha_of) {
  const RoundState round{weights, alpha_of, static_cast<double>(distribution.total())};
  // The best edge is rarely larger than in the previous round. So features that can reach kLikely of it are
  // summed together, which takes fewer passes over the potentials and fewer exchanges between MPI processes.
  const double likely = (problem_.communicator == nullptr ? 1.0 : kLikely) * search_.best();
  search_.run(
      reach_, kBatch * problem_.threads, likely,
      [&](std::span<const std::size_t> batch) { sum_next_parts(batch, distribution); },
      [&](std::size_t feature) { return visit(feature, round); });
  return search_.first_best(
      [&](std::size_t feature, const auto& take) {
        for_each_edge(feature, sums_of(feature),
                      [&](std::uint32_t threshold, std::uint8_t q_default, double edge) {
                        take(edge_candidate(feature, threshold, q_default, edge / round.total));
                      });
      },
      [&](const Candidate& candidate) { return problem_.is_admissible(candidate, round, 0.0); });
}

}  // namespace metafuse::fusion::rankboost
