#include "evaluation/measures/judge_agreement.h"

#include <map>

namespace metafuse::evaluation {
namespace {

/// 1 - observed / expected disagreement.
double kappa_of(double observed, double expected) {
  if (expected > 0) return 1.0 - observed / expected;
  return 1.0;  // both judges gave one and the same grade throughout: no disagreement observed
}

double square(double value) {
  return value * value;
}

}  // namespace

JudgeAgreement judge_agreement(std::span<const std::pair<int, int>> grades) {
  JudgeAgreement out;
  out.documents = grades.size();
  if (grades.empty()) return out;
  std::map<int, double> first;
  std::map<int, double> second;
  double unequal = 0.0;
  double distance = 0.0;
  for (const auto& [a, b] : grades) {
    ++first[a];
    ++second[b];
    unequal += a == b ? 0.0 : 1.0;
    distance += square(static_cast<double>(a) - b);
  }
  const auto n = static_cast<double>(grades.size());
  double expected_unequal = 0.0;
  double expected_distance = 0.0;
  for (const auto& [a, count_a] : first)
    for (const auto& [b, count_b] : second) {
      const double share = count_a * count_b / n;
      expected_unequal += a == b ? 0.0 : share;
      expected_distance += share * square(static_cast<double>(a) - b);
    }
  out.share_equal = 1.0 - unequal / n;
  out.kappa = kappa_of(unequal, expected_unequal);
  out.weighted_kappa = kappa_of(distance, expected_distance);
  return out;
}

}  // namespace metafuse::evaluation
