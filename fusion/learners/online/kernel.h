#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace metafuse::fusion {

/// K(x, x') = x . x', or (x . x' + 1)^degree.
struct KernelOptions {
  bool is_polynomial = false;
  int degree = 2;
  std::size_t max_map = 1000;  ///< a polynomial kernel whose exact map has at most so many features uses it
  std::size_t budget = 500;    ///< else so many examples are stored, the oldest making room

  friend bool operator==(const KernelOptions&, const KernelOptions&) = default;
};

/// (x . x' + 1)^degree.
double polynomial_kernel(std::span<const double> left, std::span<const double> right, int degree);

/// Features of the exact map of a polynomial kernel: the monomials of degree at most `degree` in `inputs`
/// variables; saturates instead of overflowing.
std::size_t exact_map_size(std::size_t inputs, int degree);

/// The exact feature map of (x . x' + 1)^degree: every monomial times the root of its multinomial
/// coefficient.
class ExactMap {
 public:
  ExactMap() = default;
  /// Requires degree >= 1 and a map of sensible size.
  ExactMap(std::size_t inputs, int degree);

  std::size_t size() const { return coefficients_.size(); }
  /// Writes size() numbers. cost: O(size x degree)
  void apply(std::span<const double> input, double* output) const;

  friend bool operator==(const ExactMap&, const ExactMap&) = default;

 private:
  std::size_t degree_ = 1;
  std::vector<std::size_t> variables_;  // size x degree; 0 is the constant 1, i > 0 is input i - 1
  std::vector<double> coefficients_;
};

}  // namespace metafuse::fusion
