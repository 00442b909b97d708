#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace metafuse::fusion::votes {

/// All products of at most `degree` out of `inputs` variables, each as ascending variable indices; the empty
/// product comes first.
std::vector<std::vector<std::size_t>> monomials(std::size_t inputs, int degree);

/// Replaces each number by its hyperbolic tangent. The results are the same bit for bit on every processor,
/// with an error below 1e-15.
void make_tangents(std::span<double> numbers);

enum class RegressionKind { polynomial, logistic, neural_network, gaussian_process };

struct RegressionSetting {
  RegressionKind kind = RegressionKind::polynomial;
  int degree = 1;  ///< of a polynomial: 1 (linear) to 5

  std::string name() const;  ///< "linear", "polynomial 3", "logistic", "neural network", "gaussian process"
};

/// A fitted map from a document's votes to its gain, scaled to [0, 1] on the calibration documents. Outside
/// their range it flattens but keeps rising, so that scaling makes no two documents tie.
struct Regression {
  RegressionSetting setting;
  std::size_t width = 0;
  /// polynomial: one coefficient per monomial; logistic: K x (width + 1); network: hidden x (width + 1),
  /// hidden, 1; process: one coefficient per point
  std::vector<double> weights;
  std::vector<double> points;  ///< process: points x width; logistic: the gain of each class
  double length = 1.0;         ///< process: length scale of the squared exponential kernel
  double offset = 0.0;         ///< process: the mean that was subtracted
  double low = 0.0;            ///< raw value that is scaled to 0
  double high = 1.0;           ///< raw value that is scaled to 1
  bool was_singular = false;   ///< whether a kernel matrix needed more jitter than its noise

  /// The estimated gain before scaling.
  double raw(std::span<const double> votes) const;
  /// The gain scaled to [0, 1] on the calibration documents.
  double scaled(std::span<const double> votes) const;
};

JsonObject to_json(const Regression& regression);
/// errors: bad_data, naming the field
Result<Regression> read_regression(const JsonObject& object);

}  // namespace metafuse::fusion::votes
