#include "fusion/learners/rankboost/weak_learner_2.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/parallel.h"
#include "core/portable_math.h"

namespace metafuse::fusion::rankboost {

namespace {

constexpr double kSideTieTolerance = 1e-9;
constexpr double kLeastTolerance = 1e-12;  // lower limit of the tolerance, for a least Z near 0
constexpr double kRounding = 1e-9;         // exceeds the rounding errors of a criterion and of W- + W+
// A smaller edge may be a rounding error, in which case alpha may turn out negative.
constexpr double kSurelyPositive = 1e-12;
constexpr double kLikelySide = 0.9;  // share of the best criterion of the previous round
constexpr std::uint8_t kHasRight = 1;
constexpr std::uint8_t kHasWrong = 2;

/// The largest (sqrt W- - sqrt W+)^2 with |W- - W+| = edge and W- + W+ of at least `separated`.
double criterion_bound(double edge, double separated) {
  const double sum = std::max(edge, separated);
  return sum > 0.0 ? edge * edge / (sum + std::sqrt((sum - edge) * (sum + edge))) : 0.0;
}

/// Potentials that count crucial pairs: for each document, the number of documents it belongs above minus the
/// number it belongs below.
std::vector<std::int64_t> counting_potentials(const Feedback& feedback, std::size_t documents) {
  std::vector<std::int64_t> potentials(documents, 0);
  for (const QueryFeedback& query : feedback.queries) {
    const auto members = feedback.members_of(query);
    std::vector<std::int64_t> counts(query.classes + 1U, 0);  // documents below each class
    std::partial_sum(members.begin(), members.end(), counts.begin() + 1);
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (const std::size_t place = feedback.classes[row]; place != Feedback::kNone)
        potentials[row] = counts[place] - (counts.back() - counts[place + 1]);
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      ++potentials[feedback.pairs[i].above];
      --potentials[feedback.pairs[i].below];
    }
  }
  return potentials;
}

}  // namespace

WeakLearner2::WeakLearner2(const Problem& problem, const Distribution& distribution)
    : problem_(problem),
      all_features_(problem.features.feature_count()),
      histograms_(problem.features, {0, problem.features.document_count()}, problem.communicator),
      separation_(problem.feedback, problem.features, problem.threads),
      // The tolerance applies to Z: any candidate within 1e-9 of the least Z may be chosen.
      search_(
          [](double best) { return std::max(kSideTieTolerance * std::abs(1.0 - best), kLeastTolerance); }),
      known_(all_features_.size()),
      swept_at_(all_features_.size(), std::numeric_limits<double>::infinity()) {
  std::iota(all_features_.begin(), all_features_.end(), std::size_t{0});
  find_possible_sides(distribution);
}

template <class Take>
void WeakLearner2::for_each_edge(std::size_t feature, const Take& take) const {
  const auto sums = histograms_.of(feature);
  if (sums.size() <= 1) return;  // unranked everywhere
  const std::size_t highest = sums.size() - 1;
  const std::int64_t ranked = std::accumulate(sums.begin(), sums.end(), std::int64_t{0});
  std::int64_t above = 0;
  std::int64_t separated[2] = {};
  for (std::size_t threshold = highest + 1; threshold-- > 0;) {
    if (threshold < highest) above += sums[threshold + 1];
    for (std::size_t q = 0; q < 2; ++q) {
      if (!is_tried(q)) continue;
      if (const Known& known = known_[feature][q]; !known.changes.empty())
        separated[q] += known.changes[threshold + 1];
      take(threshold, q, q == 0 ? above : above - ranked, separated[q]);
    }
  }
}

template <class Take>
void WeakLearner2::for_each_candidate(std::size_t feature, double total, const Take& take) const {
  const std::size_t highest = problem_.features.thresholds(feature).size();
  for_each_edge(
      feature, [&](std::size_t threshold, std::size_t q, std::int64_t edge, std::int64_t separated) {
        const std::uint8_t bits = known_[feature][q].possible[threshold];
        if (bits == 0 || threshold == (q == 0 ? highest : 0)) return;
        const auto weight = [&](std::int64_t twice, std::uint8_t bit) {
          return (bits & bit) != 0 ? 0.5 * static_cast<double>(std::max<std::int64_t>(twice, 0)) : 0.0;
        };
        const double right = weight(separated + edge, kHasRight);
        const double wrong = weight(separated - edge, kHasWrong);
        const double root = std::sqrt(right) - std::sqrt(wrong);
        Candidate candidate{static_cast<std::uint32_t>(feature), static_cast<std::uint32_t>(threshold),
                            static_cast<std::uint8_t>(q)};
        candidate.criterion = root * root / total;
        // If any pair lies on this side, give it at least one fixed-point unit: its weight may have rounded
        // to zero.
        candidate.right = std::max(right, (bits & kHasRight) != 0 ? 1.0 : 0.0) / total;
        candidate.wrong = std::max(wrong, (bits & kHasWrong) != 0 ? 1.0 : 0.0) / total;
        candidate.r = candidate.right - candidate.wrong;
        take(candidate);
      });
}

void WeakLearner2::add_up_ranks(std::span<const std::size_t> features) {
  if (problem_.communicator == nullptr) return;
  std::vector<std::int64_t> packed;
  for (const std::size_t feature : features)
    for (const Known& known : known_[feature])
      packed.insert(packed.end(), known.changes.begin(), known.changes.end());
  problem_.communicator->sum(packed);
  auto from = packed.begin();
  for (const std::size_t feature : features)
    for (Known& known : known_[feature])
      for (std::int64_t& number : known.changes) number = *from++;
}

void WeakLearner2::sweep(std::span<const std::size_t> features) {
  parallel_for(features.size(), problem_.threads, [&](std::size_t i) {
    for (std::size_t q = 0; q < 2; ++q)
      if (is_tried(q)) known_[features[i]][q].changes = separation_.sweep(features[i], q == 1);
  });
  add_up_ranks(features);
}

void WeakLearner2::find_possible_sides(const Distribution& distribution) {
  const Feedback& feedback = problem_.feedback;
  histograms_.fill(all_features_, counting_potentials(feedback, problem_.features.document_count()),
                   problem_.threads);
  const std::vector<double> ones(std::max(feedback.weights.size(), feedback.pairs.size()), 1.0);
  separation_.prepare({&distribution, ones, ones, 1.0});
  sweep(all_features_);
  for (const std::size_t feature : all_features_) {
    const std::size_t size = problem_.features.thresholds(feature).size() + 1;
    for (std::size_t q = 0; q < 2; ++q)
      if (is_tried(q)) known_[feature][q].possible.assign(size, 0);
    for_each_edge(feature,
                  [&](std::size_t threshold, std::size_t q, std::int64_t edge, std::int64_t separated) {
                    known_[feature][q].possible[threshold] = static_cast<std::uint8_t>(
                        (separated + edge > 0 ? kHasRight : 0) | (separated - edge > 0 ? kHasWrong : 0));
                  });
    for (std::size_t q = 0; q < 2; ++q)
      if (is_tried(q)) known_[feature][q].separated.assign(size, 0.0);
  }
}

void WeakLearner2::distribution_changed(double alpha, double z) {
  log_kept_ -= std::abs(alpha) + portable_log(z);
}

double WeakLearner2::bound(std::size_t feature, const RoundState& round) const {
  // A pair keeps at most all of its weight, apart from rounding.
  const double kept = portable_exp(std::min(log_kept_ - swept_at_[feature], 0.0));
  double bound = -1.0;
  for_each_edge(feature, [&](std::size_t threshold, std::size_t q, std::int64_t edge, std::int64_t) {
    const bool may_be_negative =
        !problem_.options.weak_learner.is_cumulative || round.weights.at(feature, threshold, q) > 0.0;
    const double r = static_cast<double>(edge) / round.total;
    if (r < -kRounding && !may_be_negative) return;
    const double separated = known_[feature][q].separated[threshold] * kept - kRounding;
    bound = std::max(bound, criterion_bound(std::abs(r), separated));
  });
  return bound + kRounding;
}

double WeakLearner2::visit(std::size_t feature, const RoundState& round) {
  swept_at_[feature] = log_kept_;
  for_each_edge(feature, [&](std::size_t threshold, std::size_t q, std::int64_t, std::int64_t separated) {
    known_[feature][q].separated[threshold] = static_cast<double>(separated) / round.total;
  });
  double best = -1.0;
  for_each_candidate(feature, round.total, [&](const Candidate& candidate) {
    if (candidate.criterion > best && problem_.is_admissible(candidate, round, kSurelyPositive))
      best = candidate.criterion;
  });
  return best;
}

std::optional<Candidate> WeakLearner2::find(const Distribution& distribution,
                                            const CumulativeWeights& weights, const AlphaOf& alpha_of) {
  const RoundState round{weights, alpha_of, static_cast<double>(distribution.total())};
  histograms_.fill(all_features_, distribution.potentials(), problem_.threads);
  separation_.prepare(
      {&distribution, distribution.tables(), distribution.pair_weights(), distribution.factor()});
  std::vector<double> bounds;
  for (const std::size_t feature : all_features_) bounds.push_back(bound(feature, round));
  // With several MPI processes, all likely features are swept at once: one or two exchanges per round.
  const double likely = problem_.communicator != nullptr ? kLikelySide * search_.best()
                                                         : std::numeric_limits<double>::infinity();
  search_.run(
      bounds, problem_.threads, likely, [&](std::span<const std::size_t> batch) { sweep(batch); },
      [&](std::size_t feature) { return visit(feature, round); });
  auto chosen = search_.first_best(
      [&](std::size_t feature, const auto& take) { for_each_candidate(feature, round.total, take); },
      [&](const Candidate& candidate) { return problem_.is_admissible(candidate, round, kSurelyPositive); });
  if (chosen) {
    const PairWeights exact = distribution.pair_weights_of(problem_.ranking_of(*chosen));
    chosen->right = exact.right;
    chosen->wrong = exact.wrong;
    chosen->r = exact.right - exact.wrong;
    chosen->criterion = search_.best();  // the chosen candidate's may be lower by the tolerance
  }
  return chosen;
}

}  // namespace metafuse::fusion::rankboost
