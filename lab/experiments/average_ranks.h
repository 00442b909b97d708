#pragma once

#include <cstddef>
#include <vector>

namespace metafuse::lab::experiments {

/// A comparison of methods over many tasks (Demsar 2006).
struct RankComparison {
  std::vector<double> average_ranks;  ///< one per method; 1 is best, ties share their mean rank
  double chi_square = 0.0;            ///< Friedman's statistic; 0 when all methods tie everywhere
  double p_value = 1.0;               ///< its tail with methods - 1 degrees of freedom
  /// Two methods whose average ranks differ by more than this differ at the level .05 (Nemenyi); 0 for more
  /// than 10 methods.
  double critical_difference = 0.0;

  bool differ(std::size_t a, std::size_t b) const;
};

/// in:   values - one row per task, one value per method; is_cost - lower is better
/// out:  as described there; for no task or fewer than two methods, all ranks are 1 and nothing differs
/// cost: O(tasks * methods log methods)
/// source: Friedman 1937 with ties corrected (Conover 1999); Nemenyi 1963
RankComparison compare_ranks(const std::vector<std::vector<double>>& values, bool is_cost);

/// Probability that a chi-square variable with `degrees` degrees of freedom exceeds x.
double chi_square_tail(double x, std::size_t degrees);

}  // namespace metafuse::lab::experiments
