#include "lab/experiments/average_ranks.h"

#include <cmath>

#include <boost/math/special_functions/gamma.hpp>

#include "core/contract.h"
#include "evaluation/significance/significance.h"

namespace metafuse::lab::experiments {
namespace {

// Critical values of the studentised range over sqrt(2), level .05, for 2 to 10 methods (Demsar 2006, table
// 5a).
constexpr double kNemenyi[] = {1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164};

}  // namespace

bool RankComparison::differ(std::size_t a, std::size_t b) const {
  return critical_difference > 0.0 && std::abs(average_ranks[a] - average_ranks[b]) > critical_difference;
}

double chi_square_tail(double x, std::size_t degrees) {
  return x <= 0.0 ? 1.0 : boost::math::gamma_q(0.5 * static_cast<double>(degrees), 0.5 * x);
}

RankComparison compare_ranks(const std::vector<std::vector<double>>& values, bool is_cost) {
  RankComparison result;
  const std::size_t methods = values.empty() ? 0 : values.front().size();
  result.average_ranks.assign(methods, values.empty() || methods < 2 ? 1.0 : 0.0);
  if (values.empty() || methods < 2) return result;
  const auto n = static_cast<double>(values.size());
  const auto k = static_cast<double>(methods);
  double squares = 0.0;
  for (const std::vector<double>& row : values) {
    require(row.size() == methods, "every task has a value of every method");
    std::vector<double> costs = row;
    for (double& value : costs) value = is_cost ? value : -value;
    const std::vector<double> ranks = evaluation::mean_ranks(costs, 0.0).ranks;
    for (std::size_t m = 0; m < methods; ++m) {
      result.average_ranks[m] += ranks[m] / n;
      squares += ranks[m] * ranks[m];
    }
  }
  const double middle = 0.5 * (k + 1.0);
  double between = 0.0;
  for (const double rank : result.average_ranks) between += (rank - middle) * (rank - middle);
  const double within = squares - n * k * middle * middle;
  if (within > 1e-12) {
    result.chi_square = (k - 1.0) * n * n * between / within;
    result.p_value = chi_square_tail(result.chi_square, methods - 1);
  }
  if (methods <= 10)
    result.critical_difference = kNemenyi[methods - 2] * std::sqrt(k * (k + 1.0) / (6.0 * n));
  return result;
}

}  // namespace metafuse::lab::experiments
