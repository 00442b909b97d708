#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace metafuse::fusion::adaboost_mh {

/// Every product of at most `degree` of `inputs` variables, as ascending variable numbers; the empty one
/// first.
inline std::vector<std::vector<std::size_t>> monomials(std::size_t inputs, int degree) {
  std::vector<std::vector<std::size_t>> all = {{}};
  std::size_t begin = 0;
  for (int i = 0; i < degree; ++i) {
    const std::size_t end = all.size();
    for (std::size_t m = begin; m < end; ++m)
      for (std::size_t variable = all[m].empty() ? 0 : all[m].back(); variable < inputs; ++variable) {
        auto longer = all[m];
        longer.push_back(variable);
        all.push_back(std::move(longer));
      }
    begin = end;
  }
  return all;
}

/// The values of the monomials in that order. cost: O(their number)
inline std::vector<double> monomial_values(std::span<const double> votes, int degree) {
  struct Item {
    double value;
    std::size_t last;
  };
  std::vector<Item> items = {{1.0, 0}};
  std::size_t begin = 0;
  for (int i = 0; i < degree; ++i) {
    const std::size_t end = items.size();
    for (std::size_t m = begin; m < end; ++m)
      for (std::size_t variable = items[m].last; variable < votes.size(); ++variable)
        items.push_back({items[m].value * votes[variable], variable});
    begin = end;
  }
  std::vector<double> values;
  for (const Item& item : items) values.push_back(item.value);
  return values;
}

/// The sum of the monomials times their weights.
inline double polynomial_value(std::span<const double> votes, int degree, std::span<const double> weights) {
  const auto values = monomial_values(votes, degree);
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * values[i];
  return sum;
}

}  // namespace metafuse::fusion::adaboost_mh
