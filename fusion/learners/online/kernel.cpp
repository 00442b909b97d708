#include "fusion/learners/online/kernel.h"

#include <cmath>

#include "core/contract.h"

namespace metafuse::fusion {

double polynomial_kernel(std::span<const double> left, std::span<const double> right, int degree) {
  double base = 1.0;
  for (std::size_t i = 0; i < left.size(); ++i) base += left[i] * right[i];
  double power = 1.0;
  for (int i = 0; i < degree; ++i) power *= base;
  return power;
}

std::size_t exact_map_size(std::size_t inputs, int degree) {
  double size = 1.0;
  for (int i = 1; i <= degree; ++i) size = size * (static_cast<double>(inputs) + i) / i;
  constexpr double kHuge = 1e15;
  return static_cast<std::size_t>(size < kHuge ? std::llround(size) : std::llround(kHuge));
}

ExactMap::ExactMap(std::size_t inputs, int degree) : degree_(static_cast<std::size_t>(degree)) {
  require(degree >= 1, "a polynomial kernel has degree 1 at least");
  require(exact_map_size(inputs, degree) <= 10'000'000, "an exact map must fit into memory");
  std::vector<std::size_t> choice(degree_, 0);  // ascending variables: each monomial once
  for (;;) {
    double coefficient = 1.0;
    std::size_t run = 0;
    for (std::size_t i = 0; i < degree_; ++i) {
      run = i > 0 && choice[i] == choice[i - 1] ? run + 1 : 1;
      coefficient *= static_cast<double>(i + 1) / static_cast<double>(run);
    }
    variables_.insert(variables_.end(), choice.begin(), choice.end());
    coefficients_.push_back(std::sqrt(coefficient));
    std::size_t place = degree_;
    while (place > 0 && choice[place - 1] == inputs) --place;
    if (place == 0) break;
    const std::size_t next = choice[place - 1] + 1;
    for (std::size_t i = place - 1; i < degree_; ++i) choice[i] = next;
  }
}

void ExactMap::apply(std::span<const double> input, double* output) const {
  for (std::size_t m = 0; m < coefficients_.size(); ++m) {
    double product = coefficients_[m];
    for (std::size_t i = 0; i < degree_; ++i) {
      const std::size_t variable = variables_[m * degree_ + i];
      if (variable > 0) product *= input[variable - 1];
    }
    output[m] = product;
  }
}

}  // namespace metafuse::fusion
