#include "tests/support/slow_rankboost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace metafuse::test {
namespace {

using fusion::FeedbackOptions;
using fusion::TrainingSet;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Pair {
  std::size_t below;
  std::size_t above;
  double weight;
};

double grade_of(const TrainingSet& set, std::size_t row) {
  if (!set.feedback.is_bipartite) return set.grades[row];
  return set.grades[row] >= set.feedback.relevance_level ? 1.0 : 0.0;
}

double weight_of(const TrainingSet& set, double lower, double upper) {
  if (set.feedback.grade_weights == FeedbackOptions::GradeWeights::difference) return upper - lower;
  if (set.feedback.grade_weights == FeedbackOptions::GradeWeights::gain)
    return std::pow(2.0, upper) - std::pow(2.0, lower);
  return 1.0;
}

/// All crucial pairs with their D_1, and which rows belong to a query that has such a pair.
std::vector<Pair> crucial_pairs(const TrainingSet& set, std::vector<bool>& is_used) {
  std::vector<Pair> pairs;
  for (const auto& query : set.queries) {
    std::vector<Pair> own;
    for (std::size_t a = query.begin; a < query.end; ++a)
      for (std::size_t b = query.begin; b < query.end; ++b)
        if (set.in_feedback[a] && set.in_feedback[b] && grade_of(set, a) < grade_of(set, b))
          own.push_back({a, b, weight_of(set, grade_of(set, a), grade_of(set, b))});
    for (const auto& pair : set.pairs)
      if (pair.below >= query.begin && pair.below < query.end)
        own.push_back({pair.below, pair.above, pair.weight});
    double total = 0.0;
    for (const Pair& pair : own) total += pair.weight;
    double share = query.weight;
    if (set.feedback.query_weights != FeedbackOptions::QueryWeights::pairs) share /= total;
    if (own.empty() || share == 0.0) continue;
    for (std::size_t row = query.begin; row < query.end; ++row) is_used[row] = true;
    for (Pair& pair : own) {
      pair.weight *= share;
      pairs.push_back(pair);
    }
  }
  double total = 0.0;
  for (const Pair& pair : pairs) total += pair.weight;
  for (Pair& pair : pairs) pair.weight /= total;
  return pairs;
}

struct Candidate {
  std::size_t feature;
  double threshold;
  int q_default;
  double goodness;  // |r|, or 1 - Z
  double alpha;
  double r;
};

class Slow {
 public:
  Slow(const TrainingSet& set, const SlowOptions& options)
      : set_(set), options_(options), is_used_(set.grades.size(), false) {
    pairs_ = crucial_pairs(set, is_used_);
    for (const Pair& pair : pairs_) distribution_.push_back(pair.weight);
    epsilon_ = 1.0 / (2.0 * static_cast<double>(pairs_.size()));
  }

  std::vector<SlowRound> run() {
    std::vector<SlowRound> rounds;
    double bound = 1.0;
    for (int t = 0; t < options_.rounds; ++t) {
      const auto chosen = choose();
      if (!chosen) break;
      const double z = update(*chosen);
      bound *= z;
      rounds.push_back({chosen->feature, chosen->threshold, chosen->q_default, chosen->alpha, chosen->r, z,
                        bound, ranking_loss()});
      if (std::all_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
            return value(*chosen, pair.above) > value(*chosen, pair.below);
          }))
        break;
    }
    return rounds;
  }

 private:
  double value(std::size_t feature, double threshold, int q_default, std::size_t row) const {
    if (set_.matrix.is_unranked(row, feature)) return q_default;
    const double f = set_.matrix.value(row, feature);
    if (!options_.is_value) return f > threshold ? 1.0 : 0.0;
    const auto [low, high] = range_of(feature);
    return high > low ? (f - low) / (high - low) : 0.0;
  }
  double value(const Candidate& c, std::size_t row) const {
    return value(c.feature, c.threshold, c.q_default, row);
  }

  std::set<double> values_of(std::size_t feature) const {
    std::set<double> values;
    for (std::size_t row = 0; row < is_used_.size(); ++row)
      if (is_used_[row] && !set_.matrix.is_unranked(row, feature))
        values.insert(set_.matrix.value(row, feature));
    return values;
  }
  std::pair<double, double> range_of(std::size_t feature) const {
    const auto values = values_of(feature);
    return {*values.begin(), *values.rbegin()};
  }

  std::vector<std::tuple<std::size_t, double, int>> all_candidates() const {
    std::vector<std::tuple<std::size_t, double, int>> all;
    for (std::size_t feature = 0; feature < set_.matrix.feature_count(); ++feature) {
      const auto values = values_of(feature);
      if (values.empty()) continue;
      if (options_.is_value) {
        if (options_.tries_zero) all.emplace_back(feature, 0.0, 0);
        if (options_.tries_one) all.emplace_back(feature, 0.0, 1);
        continue;
      }
      for (auto at = values.rbegin(); at != values.rend(); ++at) {
        if (options_.tries_zero && at != values.rbegin()) all.emplace_back(feature, *at, 0);
        if (options_.tries_one) all.emplace_back(feature, *at, 1);
      }
      if (options_.tries_zero) all.emplace_back(feature, -kInfinity, 0);
    }
    return all;
  }

  double smoothed_by_edge(double r) const {
    return 0.5 * std::log((1.0 + r + 2.0 * epsilon_) / (1.0 - r + 2.0 * epsilon_));
  }

  /// The root of Z' over all pairs, by bisection; nullopt if Z has no minimum.
  std::optional<double> numeric_alpha(const std::vector<double>& differences) const {
    const bool has_right =
        std::any_of(differences.begin(), differences.end(), [](double d) { return d > 0; });
    const bool has_wrong =
        std::any_of(differences.begin(), differences.end(), [](double d) { return d < 0; });
    if (!has_right || !has_wrong) return std::nullopt;
    double low = -60.0;
    double high = 60.0;
    for (int i = 0; i < 200; ++i) {
      const double middle = 0.5 * (low + high);
      double slope = 0.0;
      for (std::size_t i2 = 0; i2 < differences.size(); ++i2)
        slope -= distribution_[i2] * differences[i2] * std::exp(-middle * differences[i2]);
      (slope < 0.0 ? low : high) = middle;
    }
    return 0.5 * (low + high);
  }

  std::optional<Candidate> judge(std::size_t feature, double threshold, int q) const {
    std::vector<double> differences;
    double r = 0.0;
    double right = 0.0;
    double wrong = 0.0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const double d =
          value(feature, threshold, q, pairs_[i].above) - value(feature, threshold, q, pairs_[i].below);
      differences.push_back(d);
      r += distribution_[i] * d;
      if (d > 0.0) right += distribution_[i];
      if (d < 0.0) wrong += distribution_[i];
    }
    Candidate candidate{feature, threshold, q, std::abs(r), 0.0, r};
    if (options_.is_weak_learner_2) {
      if (right == 0.0 && wrong == 0.0) return std::nullopt;
      candidate.goodness = right + wrong - 2.0 * std::sqrt(right * wrong);
      candidate.alpha = right > 0.0 && wrong > 0.0 ? 0.5 * std::log(right / wrong)
                                                   : 0.5 * std::log((right + epsilon_) / (wrong + epsilon_));
    } else {
      candidate.alpha = std::abs(r) < 1.0 - 1e-12 ? 0.5 * std::log((1.0 + r) / (1.0 - r))
                                                  : smoothed_by_edge(std::copysign(1.0, r));
    }
    if (options_.is_numeric) candidate.alpha = numeric_alpha(differences).value_or(candidate.alpha);
    const auto at = cumulative_.find({feature, threshold, q});
    const double so_far = at == cumulative_.end() ? 0.0 : at->second;
    if (options_.is_cumulative && !(so_far + candidate.alpha > 0.0)) return std::nullopt;
    return candidate;
  }

  std::optional<Candidate> choose() const {
    std::vector<Candidate> candidates;
    for (const auto& [feature, threshold, q] : all_candidates())
      if (const auto candidate = judge(feature, threshold, q)) candidates.push_back(*candidate);
    double best = -1.0;
    for (const Candidate& candidate : candidates) best = std::max(best, candidate.goodness);
    const double tolerance =
        options_.is_weak_learner_2 ? std::max(1e-9 * std::abs(1.0 - best), 1e-12) : 1e-9 * best;
    if (best <= 1e-12) return std::nullopt;
    for (const Candidate& candidate : candidates)
      if (best - candidate.goodness <= tolerance) return candidate;
    return std::nullopt;
  }

  double update(const Candidate& chosen) {
    double z = 0.0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      distribution_[i] *=
          std::exp(chosen.alpha * (value(chosen, pairs_[i].below) - value(chosen, pairs_[i].above)));
      z += distribution_[i];
    }
    for (double& weight : distribution_) weight /= z;
    cumulative_[{chosen.feature, chosen.threshold, chosen.q_default}] += chosen.alpha;
    return z;
  }

  double ranking_loss() const {
    std::vector<double> scores(is_used_.size(), 0.0);
    for (std::size_t row = 0; row < scores.size(); ++row)
      for (const auto& [ranking, weight] : cumulative_) {
        const auto& [feature, threshold, q] = ranking;
        scores[row] += weight * value(feature, threshold, q, row);
      }
    double loss = 0.0;
    for (const Pair& pair : pairs_) {
      const double a = scores[pair.above];
      const double b = scores[pair.below];
      if (std::abs(a - b) <= 1e-12 * std::max({1.0, std::abs(a), std::abs(b)}))
        loss += 0.5 * pair.weight;
      else if (a < b)
        loss += pair.weight;
    }
    return loss;
  }

  const TrainingSet& set_;
  SlowOptions options_;
  std::vector<bool> is_used_;
  std::vector<Pair> pairs_;
  std::vector<double> distribution_;
  double epsilon_ = 0.0;
  std::map<std::tuple<std::size_t, double, int>, double> cumulative_;
};

}  // namespace

std::vector<SlowRound> slow_rankboost(const TrainingSet& set, const SlowOptions& options) {
  return Slow(set, options).run();
}

}  // namespace metafuse::test
