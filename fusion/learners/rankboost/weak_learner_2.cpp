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
constexpr double kLikelySide = 0.9;        // share of the best criterion of the previous round
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
  std::vector<std::int64_t> counts;
  for (const QueryFeedback& query : feedback.queries) {
    counts.assign(query.classes + 1U, 0);
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (feedback.classes[row] != Feedback::kNone) ++counts[feedback.classes[row] + 1U];
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
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

std::vector<std::size_t> all_of(const CodedFeatures& features) {
  std::vector<std::size_t> all(features.feature_count());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

WeakLearner2::WeakLearner2(const Distribution& distribution, const CodedFeatures& features,
                           const Options& options, unsigned threads, Communicator* communicator)
    : features_(&features),
      options_(&options),
      threads_(threads),
      communicator_(communicator),
      histograms_(features, communicator),
      separation_(distribution.feedback(), features, threads),
      known_(features.feature_count()),
      swept_at_(features.feature_count(), std::numeric_limits<double>::infinity()),
      best_(features.feature_count(), -1.0) {
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
void WeakLearner2::for_each_candidate(std::size_t feature, const Round& round, const Take& take) const {
  const std::size_t highest = features_->thresholds(feature).size();
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
        candidate.criterion = root * root / round.total;
        // If any pair lies on this side, give it at least one fixed-point unit: its weight may have rounded
        // to zero.
        candidate.right = std::max(right, (bits & kHasRight) != 0 ? 1.0 : 0.0) / round.total;
        candidate.wrong = std::max(wrong, (bits & kHasWrong) != 0 ? 1.0 : 0.0) / round.total;
        candidate.r = candidate.right - candidate.wrong;
        take(candidate);
      });
}

void WeakLearner2::add_up_ranks(std::span<const std::size_t> features) {
  if (communicator_ == nullptr) return;
  std::vector<std::int64_t> packed;
  for (const std::size_t feature : features)
    for (const Known& known : known_[feature])
      packed.insert(packed.end(), known.changes.begin(), known.changes.end());
  communicator_->sum(packed);
  auto from = packed.begin();
  for (const std::size_t feature : features)
    for (Known& known : known_[feature])
      for (std::int64_t& number : known.changes) number = *from++;
}

void WeakLearner2::sweep(std::span<const std::size_t> features) {
  parallel_for(features.size(), threads_, [&](std::size_t i) {
    for (std::size_t q = 0; q < 2; ++q)
      if (is_tried(q)) known_[features[i]][q].changes = separation_.sweep(features[i], q == 1);
  });
  add_up_ranks(features);
}

void WeakLearner2::find_possible_sides(const Distribution& distribution) {
  const Feedback& feedback = distribution.feedback();
  const std::vector<std::size_t> all = all_of(*features_);
  histograms_.fill(all, counting_potentials(feedback, features_->document_count()), threads_);
  const std::vector<double> ones(std::max(feedback.weights.size(), feedback.pairs.size()), 1.0);
  separation_.prepare({&distribution, ones, ones, 1.0});
  sweep(all);
  for (const std::size_t feature : all) {
    const std::size_t size = features_->thresholds(feature).size() + 1;
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

bool WeakLearner2::is_admissible(const Candidate& candidate, const Round& round) const {
  // A tiny edge may be a rounding error, in which case alpha may turn out negative.
  if (!options_->weak_learner.is_cumulative || candidate.r > kLeastTolerance) return true;
  const double so_far = round.weights.at(candidate.feature, candidate.threshold, candidate.q_default);
  return so_far > 0.0 && so_far + round.alpha_of(candidate) > 0.0;
}

double WeakLearner2::bound(std::size_t feature, const Round& round) const {
  // A pair keeps at most all of its weight, apart from rounding.
  const double kept = portable_exp(std::min(log_kept_ - swept_at_[feature], 0.0));
  double bound = -1.0;
  for_each_edge(feature, [&](std::size_t threshold, std::size_t q, std::int64_t edge, std::int64_t) {
    const bool may_be_negative =
        !options_->weak_learner.is_cumulative || round.weights.at(feature, threshold, q) > 0.0;
    const double r = static_cast<double>(edge) / round.total;
    if (r < -kRounding && !may_be_negative) return;
    const double separated = known_[feature][q].separated[threshold] * kept - kRounding;
    bound = std::max(bound, criterion_bound(std::abs(r), separated));
  });
  return bound + kRounding;
}

double WeakLearner2::visit(std::size_t feature, const Round& round) {
  swept_at_[feature] = log_kept_;
  for_each_edge(feature, [&](std::size_t threshold, std::size_t q, std::int64_t, std::int64_t separated) {
    known_[feature][q].separated[threshold] = static_cast<double>(separated) / round.total;
  });
  double best = -1.0;
  for_each_candidate(feature, round, [&](const Candidate& candidate) {
    if (candidate.criterion > best && is_admissible(candidate, round)) best = candidate.criterion;
  });
  return best;
}

std::optional<Candidate> WeakLearner2::find(const Distribution& distribution,
                                            const CumulativeWeights& weights, const AlphaOf& alpha_of) {
  const Round round{weights, alpha_of, static_cast<double>(distribution.total())};
  std::vector<std::size_t> order = all_of(*features_);
  histograms_.fill(order, distribution.potentials(), threads_);
  separation_.prepare(
      {&distribution, distribution.tables(), distribution.pair_weights(), distribution.factor()});
  std::vector<double> bounds;
  for (const std::size_t feature : order) bounds.push_back(bound(feature, round));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bounds[a] != bounds[b] ? bounds[a] > bounds[b] : a < b;
  });
  std::fill(best_.begin(), best_.end(), -1.0);
  // The tolerance applies to Z: any candidate within 1e-9 of the least Z may be chosen.
  const auto tolerance = [](double best) {
    return std::max(kSideTieTolerance * std::abs(1.0 - best), kLeastTolerance);
  };
  double best = -1.0;
  for (std::size_t done = 0; done < order.size();) {
    std::size_t most = done + threads_;
    // With several MPI processes, sweep all likely features at once: one or two exchanges per round.
    if (communicator_ != nullptr)
      while (most < order.size() && bounds[order[most]] >= kLikelySide * last_best_) ++most;
    std::size_t end = done;
    while (end < std::min(most, order.size()) && bounds[order[end]] >= best - tolerance(best)) ++end;
    if (end == done) break;
    const std::span<const std::size_t> batch(order.data() + done, end - done);
    sweep(batch);
    for (const std::size_t feature : batch) best = std::max(best, best_[feature] = visit(feature, round));
    done = end;
  }
  last_best_ = best;
  std::optional<Candidate> chosen;
  for (std::size_t feature = 0; best >= 0.0 && !chosen && feature < best_.size(); ++feature) {
    if (best - best_[feature] > tolerance(best)) continue;
    for_each_candidate(feature, round, [&](const Candidate& candidate) {
      if (!chosen && best - candidate.criterion <= tolerance(best) && is_admissible(candidate, round))
        chosen = candidate;
    });
  }
  if (chosen) {
    const PairWeights exact = distribution.pair_weights_of(
        coded_ranking(*features_, *options_, chosen->feature, chosen->threshold, chosen->q_default));
    chosen->right = exact.right;
    chosen->wrong = exact.wrong;
    chosen->r = exact.right - exact.wrong;
    chosen->criterion = best;  // the best; the chosen candidate's may be lower by the tolerance
  }
  return chosen;
}

}  // namespace metafuse::fusion::rankboost
