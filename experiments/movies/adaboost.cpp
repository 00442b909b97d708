#include "experiments/movies/adaboost.h"

#include <cmath>

#include "fusion/data/thresholds.h"

namespace metafuse::experiments::movies {
namespace {

struct Choice {
  std::size_t feature = 0;
  std::size_t level = 0;
  double q_default = 0.0;
  double r = 0.0;  ///< sum of D(x) y(x) (2 h(x) - 1)
};

/// The weak ranking of the largest |r|.
Choice best_of(const fusion::CodedFeatures& features, const std::vector<double>& signed_weights,
               double total) {
  Choice best;
  for (std::size_t f = 0; f < features.feature_count(); ++f) {
    const std::size_t levels = features.thresholds(f).size();
    std::vector<double> sums(levels + 1, 0.0);
    for (std::size_t x = 0; x < signed_weights.size(); ++x) sums[features.code(x, f)] += signed_weights[x];
    double firing = 0.0;
    for (std::size_t level = levels; level-- > 0;) {
      firing += sums[level + 1];
      for (const double q_default : {0.0, 1.0}) {
        const double r = 2.0 * (firing + q_default * sums[0]) - total;
        if (std::abs(r) > std::abs(best.r) + 1e-12) best = {f, level, q_default, r};
      }
    }
  }
  return best;
}

}  // namespace

std::vector<fusion::WeakRanking> adaboost(const fusion::TrainingSet& set, double level, std::size_t rounds) {
  const fusion::CodedFeatures features(set.matrix, fusion::ThresholdOptions{});
  const auto count = static_cast<double>(set.grades.size());
  std::vector<double> labels;
  double positive = 0.0;
  for (const double grade : set.grades) {
    labels.push_back(grade >= level ? 1.0 : -1.0);
    positive += grade >= level ? 1.0 : 0.0;
  }
  std::vector<fusion::WeakRanking> rankings;
  if (positive == 0.0 || positive == count) return rankings;
  std::vector<double> weights(labels.size(), 1.0 / count);
  while (rankings.size() < rounds) {
    std::vector<double> signed_weights(labels.size());
    double total = 0.0;
    for (std::size_t x = 0; x < labels.size(); ++x) total += signed_weights[x] = weights[x] * labels[x];
    const Choice best = best_of(features, signed_weights, total);
    const double smooth = 0.5 / count;
    const double alpha = 0.5 * std::log((1.0 + best.r + smooth) / (1.0 - best.r + smooth));
    if (std::abs(best.r) < 1e-9) break;
    const double threshold = features.thresholds(best.feature).values[best.level];
    rankings.push_back({static_cast<std::uint32_t>(best.feature), threshold, best.q_default, 2.0 * alpha});
    double sum = 0.0;
    for (std::size_t x = 0; x < labels.size(); ++x) {
      const std::uint32_t code = features.code(x, best.feature);
      const bool fires = code == 0 ? best.q_default > 0.0 : code > best.level;
      sum += weights[x] *= std::exp(-alpha * labels[x] * (fires ? 1.0 : -1.0));
    }
    for (double& weight : weights) weight /= sum;
  }
  return rankings;
}

}  // namespace metafuse::experiments::movies
