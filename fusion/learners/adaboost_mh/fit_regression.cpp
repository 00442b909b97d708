#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <nlopt.h>

#include "core/random.h"
#include "fusion/learners/adaboost_mh/gaussian_process.h"
#include "fusion/learners/adaboost_mh/monomials.h"
#include "fusion/learners/adaboost_mh/regression.h"

namespace metafuse::fusion::adaboost_mh {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kRidge = 1e-6;  // of a document's share of the squares: keeps collinear votes solvable
constexpr double kDecay = 1e-4;  // of logistic and network weights, a document
constexpr int kGradients = 200;

void fit_polynomial(Regression& model, const CalibrationData& data) {
  const auto columns = static_cast<Eigen::Index>(monomials(data.width, model.setting.degree).size());
  const auto rows = static_cast<Eigen::Index>(data.size());
  MatrixXd design(rows, columns);
  for (Eigen::Index d = 0; d < rows; ++d) {
    const auto values =
        monomial_values({data.row(static_cast<std::size_t>(d)), data.width}, model.setting.degree);
    for (Eigen::Index c = 0; c < columns; ++c) design(d, c) = values[static_cast<std::size_t>(c)];
  }
  MatrixXd squares = design.transpose() * design;
  squares.diagonal().array() += kRidge * static_cast<double>(rows);
  const auto gains = document_gains(data);
  const VectorXd solved =
      squares.ldlt().solve(design.transpose() * Eigen::Map<const VectorXd>(gains.data(), rows));
  model.weights.assign(solved.begin(), solved.end());
}

/// Value and gradient at a point; the gradient is as long as the point.
using Smooth = std::function<double(const std::vector<double>& at, std::vector<double>& gradient)>;

double evaluate_smooth(unsigned count, const double* at, double* gradient, void* context) {
  const std::vector<double> point(at, at + count);
  std::vector<double> slope(count, 0.0);
  const double value = (*static_cast<const Smooth*>(context))(point, slope);
  if (gradient != nullptr) std::copy(slope.begin(), slope.end(), gradient);
  return std::isfinite(value) ? value : 1e300;
}

/// NLopt's L-BFGS from `start`; the best point it saw.
std::vector<double> minimise(const Smooth& smooth, std::vector<double> start) {
  const std::unique_ptr<nlopt_opt_s, void (*)(nlopt_opt)> optimiser(
      nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(start.size())), nlopt_destroy);
  Smooth copy = smooth;
  nlopt_set_min_objective(optimiser.get(), evaluate_smooth, &copy);
  nlopt_set_ftol_rel(optimiser.get(), 1e-9);
  nlopt_set_maxeval(optimiser.get(), kGradients);
  const std::vector<double> origin = start;
  std::vector<double> unused(start.size());
  const double before = smooth(origin, unused);
  double value = before;
  nlopt_optimize(optimiser.get(), start.data(), &value);
  const bool is_finite = std::all_of(start.begin(), start.end(), [](double x) { return std::isfinite(x); });
  return is_finite && smooth(start, unused) <= before ? start : origin;
}

void fit_logistic(Regression& model, const CalibrationData& data) {
  const std::size_t k = data.gains.size();
  const std::size_t stride = data.width + 1;
  model.points = data.gains;
  const auto n = static_cast<double>(data.size());
  const Smooth loss = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    double value = 0.0;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::vector<double> scores(k);
    for (std::size_t d = 0; d < data.size(); ++d) {
      double sum = 0.0;
      for (std::size_t l = 0; l < k; ++l) {
        scores[l] = at[l * stride + data.width];
        for (std::size_t i = 0; i < data.width; ++i) scores[l] += at[l * stride + i] * data.row(d)[i];
      }
      const double most = *std::max_element(scores.begin(), scores.end());
      const auto own = static_cast<std::size_t>(data.classes[d]);
      const double own_score = scores[own] - most;
      for (double& score : scores) sum += score = std::exp(score - most);
      value += (std::log(sum) - own_score) / n;
      for (std::size_t l = 0; l < k; ++l) {
        const double slope = (scores[l] / sum - (l == own ? 1.0 : 0.0)) / n;
        for (std::size_t i = 0; i < data.width; ++i) gradient[l * stride + i] += slope * data.row(d)[i];
        gradient[l * stride + data.width] += slope;
      }
    }
    for (std::size_t i = 0; i < at.size(); ++i) {
      value += 0.5 * kDecay * at[i] * at[i];
      gradient[i] += kDecay * at[i];
    }
    return value;
  };
  model.weights = minimise(loss, std::vector<double>(k * stride, 0.0));
}

void fit_network(Regression& model, const CalibrationData& data, const RegressionOptions& options) {
  const std::size_t stride = data.width + 1;
  const std::size_t hidden = options.hidden;
  const auto n = static_cast<double>(data.size());
  Random random(options.seed);
  std::vector<double> start(hidden * stride + hidden + 1);
  for (double& weight : start) weight = 0.5 * random.normal();
  const auto gains = document_gains(data);
  start.back() = std::accumulate(gains.begin(), gains.end(), 0.0) / n;
  const Smooth loss = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::vector<double> units(hidden);
    double value = 0.0;
    for (std::size_t d = 0; d < data.size(); ++d) {
      const double* row = data.row(d);
      double output = at.back();
      for (std::size_t h = 0; h < hidden; ++h) {
        double sum = at[h * stride + data.width];
        for (std::size_t i = 0; i < data.width; ++i) sum += at[h * stride + i] * row[i];
        units[h] = std::tanh(sum);
        output += at[hidden * stride + h] * units[h];
      }
      const double error = output - gains[d];
      value += 0.5 * error * error / n;
      gradient.back() += error / n;
      for (std::size_t h = 0; h < hidden; ++h) {
        gradient[hidden * stride + h] += error * units[h] / n;
        const double slope = error * at[hidden * stride + h] * (1.0 - units[h] * units[h]) / n;
        for (std::size_t i = 0; i < data.width; ++i) gradient[h * stride + i] += slope * row[i];
        gradient[h * stride + data.width] += slope;
      }
    }
    for (std::size_t i = 0; i + 1 < at.size(); ++i) {
      value += 0.5 * kDecay * at[i] * at[i];
      gradient[i] += kDecay * at[i];
    }
    return value;
  };
  model.weights = minimise(loss, std::move(start));
}

}  // namespace

Result<Regression> fit_regression(const RegressionSetting& setting, const CalibrationData& data,
                                  const RegressionOptions& options) {
  if (data.size() == 0 || are_votes_constant(data))
    return fail(Code::bad_data, "the calibration documents all have the same votes; there is nothing to fit");
  Regression model;
  model.setting = setting;
  model.width = data.width;
  switch (setting.kind) {
    case RegressionKind::polynomial:
      fit_polynomial(model, data);
      break;
    case RegressionKind::logistic:
      fit_logistic(model, data);
      break;
    case RegressionKind::neural_network:
      fit_network(model, data, options);
      break;
    case RegressionKind::gaussian_process:
      fit_gaussian_process(model, data, options);
      break;
  }
  model.low = INFINITY;
  model.high = -INFINITY;
  for (std::size_t d = 0; d < data.size(); ++d) {
    const double value = model.raw({data.row(d), data.width});
    model.low = std::min(model.low, value);
    model.high = std::max(model.high, value);
  }
  return model;
}

}  // namespace metafuse::fusion::adaboost_mh
