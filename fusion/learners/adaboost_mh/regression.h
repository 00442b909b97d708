#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/adaboost_mh/training_data.h"

namespace metafuse::fusion::adaboost_mh {

/// Every product of at most `degree` of `inputs` variables, as ascending variable numbers; the empty
/// one first.
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

/// The sum of the monomials times their weights, which are as many.
/// cost:   O(their number)
inline double polynomial_value(std::span<const double> votes, int degree, std::span<const double> weights) {
  struct Item {
    double value;
    std::size_t last;
  };
  std::vector<Item> items;
  items.reserve(weights.size());
  items.push_back({1.0, 0});
  double sum = weights[0];
  std::size_t begin = 0;
  for (int i = 0; i < degree; ++i) {
    const std::size_t end = items.size();
    for (std::size_t m = begin; m < end; ++m)
      for (std::size_t variable = items[m].last; variable < votes.size(); ++variable) {
        const double value = items[m].value * votes[variable];
        sum += weights[items.size()] * value;
        items.push_back({value, variable});
      }
    begin = end;
  }
  return sum;
}

/// Each number's hyperbolic tangent in its place, the same bits on every processor; its error is below 1e-15.
void make_tangents(std::span<double> numbers);

enum class RegressionKind { polynomial, logistic, neural_network, gaussian_process };

struct RegressionSetting {
  RegressionKind kind = RegressionKind::polynomial;
  int degree = 1;  ///< of a polynomial: 1 (linear) to 5

  std::string name() const;  ///< "linear", "polynomial 3", "logistic", "neural network", "gaussian process"
  friend bool operator==(const RegressionSetting&, const RegressionSetting&) = default;
};

/// Those of the paper: Gaussian process, logistic, linear, neural network, polynomial of degree 2 to 5.
std::vector<RegressionSetting> all_regressions();

struct RegressionOptions {
  std::size_t process_points = 500;  ///< most points of a Gaussian process, drawn by the seed
  std::size_t hidden = 5;            ///< tanh units of the network
  std::uint64_t seed = 1;
};

/// A fitted map from a document's votes to its gain, scaled to [0, 1] on the calibration documents; beyond
/// them it flattens out but goes on rising, so that no two documents become tied by the scale.
struct Regression {
  RegressionSetting setting;
  std::size_t width = 0;
  std::vector<double> weights;  ///< polynomial: a coefficient per monomial; logistic: K x (width + 1);
      ///< network: hidden x (width + 1), hidden, 1; process: a coefficient per point
  std::vector<double> points;  ///< process: points x width; logistic: the gain of each class
  double length = 1.0;         ///< process: of the squared exponential kernel
  double offset = 0.0;         ///< process: the mean that was taken off
  double low = 0.0;            ///< what becomes 0
  double high = 1.0;           ///< what becomes 1
  bool was_singular = false;   ///< a kernel matrix that needed more jitter than its noise

  /// The estimated gain before scaling.
  double raw(std::span<const double> votes) const;
  /// In [0, 1] on the calibration documents.
  double scaled(std::span<const double> votes) const;

  friend bool operator==(const Regression&, const Regression&) = default;
};

/// Fits the gains of the calibration documents.
///
/// errors: bad_data when all votes are equal: there is nothing to fit
/// cost:   polynomial O(n m^2) for m monomials; logistic and network 200 gradients; process O(points^3)
Result<Regression> fit_regression(const RegressionSetting& setting, const CalibrationData& data,
                                  const RegressionOptions& options);

JsonObject to_json(const Regression& regression);
/// errors: bad_data, naming the field
Result<Regression> read_regression(const JsonObject& object);

/// Fits the coefficients, points, length and offset of a Gaussian process with a squared exponential kernel:
/// length scale and noise by the marginal likelihood of at most 150 of the points, then the process on all.
///
/// Requires a model with its setting and width, and votes that are not constant.
/// cost:   O(points^3)
void fit_gaussian_process(Regression& model, const CalibrationData& data, const RegressionOptions& options);

}  // namespace metafuse::fusion::adaboost_mh
