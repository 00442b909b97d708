#pragma once

#include <cstddef>
#include <vector>

#include "core/random.h"

namespace metafuse::test {

/// Harrington 2003, algorithms 1 and 2, taken literally: N PRanks as separate vectors, averages computed anew
/// each time.
class SlowOap {
 public:
  struct Rule {
    std::vector<double> weights;
    std::vector<double> cuts;
    std::size_t right = 0;
  };

  SlowOap(std::size_t rankers, std::size_t dimensions, int ranks, double tau, std::uint64_t seed)
      : rules(rankers, Rule{std::vector<double>(dimensions, 0.0),
                            std::vector<double>(static_cast<std::size_t>(ranks - 1), 0.0), 0}),
        tau_(tau),
        seed_(seed) {}

  static double score(const Rule& rule, const std::vector<double>& x) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += rule.weights[i] * x[i];
    return sum;
  }

  static int predict(const Rule& rule, const std::vector<double>& x) {
    for (std::size_t r = 0; r < rule.cuts.size(); ++r)
      if (score(rule, x) - rule.cuts[r] < 0.0) return static_cast<int>(r) + 1;
    return static_cast<int>(rule.cuts.size()) + 1;
  }

  static void prank(Rule& rule, const std::vector<double>& x, int y) {
    if (predict(rule, x) == y) {
      ++rule.right;
      return;
    }
    const double s = score(rule, x);
    std::vector<int> a(rule.cuts.size(), 0);
    int sum = 0;
    for (std::size_t r = 0; r < rule.cuts.size(); ++r) {
      const int label = y <= static_cast<int>(r) + 1 ? -1 : 1;
      if ((s - rule.cuts[r]) * label <= 0.0) a[r] = label;
      sum += a[r];
    }
    for (std::size_t i = 0; i < x.size(); ++i) rule.weights[i] += sum * x[i];
    for (std::size_t r = 0; r < rule.cuts.size(); ++r) rule.cuts[r] -= a[r];
  }

  Rule mean() const {
    Rule mean{std::vector<double>(rules[0].weights.size(), 0.0),
              std::vector<double>(rules[0].cuts.size(), 0.0), 0};
    const auto n = static_cast<double>(rules.size());
    for (const Rule& rule : rules) {
      for (std::size_t i = 0; i < rule.weights.size(); ++i) mean.weights[i] += rule.weights[i] / n;
      for (std::size_t r = 0; r < rule.cuts.size(); ++r) mean.cuts[r] += rule.cuts[r] / n;
    }
    return mean;
  }

  double bagged(const std::vector<double>& x) const {
    double sum = 0.0;
    for (const Rule& rule : rules) sum += predict(rule, x);
    return sum / static_cast<double>(rules.size());
  }

  double voted(const std::vector<double>& x) const {
    double sum = 0.0;
    double votes = 0.0;
    for (const Rule& rule : rules) {
      sum += static_cast<double>(rule.right) * predict(rule, x);
      votes += static_cast<double>(rule.right);
    }
    return votes == 0.0 ? bagged(x) : sum / votes;
  }

  void learn(const std::vector<double>& x, int y) {
    Random random = Random(seed_).split(step_++);
    for (Rule& rule : rules)
      if (tau_ >= 1.0 || random.uniform() < tau_) prank(rule, x, y);
  }

  std::vector<Rule> rules;

 private:
  double tau_;
  std::uint64_t seed_;
  std::uint64_t step_ = 0;
};

}  // namespace metafuse::test
