#include "evaluation/measures/average_ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/special_functions/gamma.hpp>

#include "core/contract.h"

namespace metafuse::evaluation {
namespace {

// Critical values of the studentised range over sqrt(2), level .05, for 2 to 10 methods (Demsar 2006, table
// 5a).
constexpr double kNemenyi[] = {1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164};

/// Mean ranks of one task's values, 1 the best.
std::vector<double> ranks_of(const std::vector<double>& values, bool is_cost) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return is_cost ? values[a] < values[b] : values[a] > values[b];
  });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = 0.5 * static_cast<double>(begin + 1 + end);
    begin = end;
  }
  return ranks;
}

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
    const std::vector<double> ranks = ranks_of(row, is_cost);
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

}  // namespace metafuse::evaluation
