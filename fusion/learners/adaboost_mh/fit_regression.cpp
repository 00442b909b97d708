#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <nlopt.h>

#include "core/random.h"
#include "fusion/learners/adaboost_mh/regression.h"

namespace metafuse::fusion::adaboost_mh {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Seeded documents, at most `most`.
std::vector<std::size_t> drawn_points(std::size_t documents, std::size_t most, std::uint64_t seed) {
  std::vector<std::size_t> points(documents);
  std::iota(points.begin(), points.end(), std::size_t{0});
  if (documents > most) {
    Random(seed).shuffle(points);
    points.resize(most);
    std::sort(points.begin(), points.end());
  }
  return points;
}

MatrixXd squared_distances(const CalibrationData& data, const std::vector<std::size_t>& points) {
  const auto n = static_cast<Eigen::Index>(points.size());
  MatrixXd squares = MatrixXd::Zero(n, n);
  for (Eigen::Index a = 0; a < n; ++a)
    for (Eigen::Index b = 0; b < a; ++b) {
      double sum = 0.0;
      for (std::size_t i = 0; i < data.width; ++i) {
        const double distance = data.row(points[static_cast<std::size_t>(a)])[i] -
                                data.row(points[static_cast<std::size_t>(b)])[i];
        sum += distance * distance;
      }
      squares(a, b) = squares(b, a) = sum;
    }
  return squares;
}

double median_distance(const MatrixXd& squares) {
  std::vector<double> all;
  for (Eigen::Index a = 0; a < squares.rows(); ++a)
    for (Eigen::Index b = 0; b < a; ++b)
      if (squares(a, b) > 0.0) all.push_back(squares(a, b));
  if (all.empty()) return 1.0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return std::sqrt(*middle);
}

struct Process {
  VectorXd coefficients;
  double log_likelihood = -INFINITY;
  bool was_singular = false;
};

/// Coefficients for signal variance 1 and the given noise; more jitter where the matrix is singular.
Process solve_process(const MatrixXd& squares, const VectorXd& targets, double length, double noise) {
  Process process;
  for (double jitter = 0.0; jitter < 1.0; jitter = jitter == 0.0 ? 1e-10 : 100.0 * jitter) {
    MatrixXd kernel = (squares.array() * (-0.5 / (length * length))).exp();
    kernel.diagonal().array() += noise + jitter;
    const Eigen::LLT<MatrixXd> factor(kernel);
    if (factor.info() != Eigen::Success) {
      process.was_singular = true;
      continue;
    }
    process.coefficients = factor.solve(targets);
    const auto n = static_cast<double>(targets.size());
    const double fit = targets.dot(process.coefficients) / n;  // the signal variance that fits best
    if (!(fit > 0.0)) continue;
    const MatrixXd lower = factor.matrixL();
    process.log_likelihood = -0.5 * n * std::log(fit) - lower.diagonal().array().log().sum();
    return process;
  }
  process.coefficients = VectorXd::Zero(targets.size());
  return process;
}

VectorXd targets_of(const VectorXd& gains, const std::vector<std::size_t>& points, double mean) {
  VectorXd targets(static_cast<Eigen::Index>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i)
    targets[static_cast<Eigen::Index>(i)] = gains[static_cast<Eigen::Index>(points[i])] - mean;
  return targets;
}

}  // namespace

void fit_gaussian_process(Regression& model, const CalibrationData& data, const RegressionOptions& options) {
  const auto numbers = document_gains(data);
  const VectorXd gains =
      Eigen::Map<const VectorXd>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
  model.offset = gains.mean();
  const auto few =
      drawn_points(data.size(), std::min<std::size_t>(150, options.process_points), options.seed);
  const MatrixXd few_squares = squared_distances(data, few);
  const double scale = median_distance(few_squares);
  double noise = 1.0;
  double most = -INFINITY;
  model.length = scale;
  for (const double factor : {0.5, 1.0, 2.0, 4.0})
    for (const double each : {0.3, 1.0, 3.0, 10.0}) {
      const Process process =
          solve_process(few_squares, targets_of(gains, few, model.offset), scale * factor, each);
      if (process.log_likelihood <= most) continue;
      most = process.log_likelihood;
      model.length = scale * factor;
      noise = each;
    }
  const auto points = drawn_points(data.size(), options.process_points, options.seed);
  const Process process = solve_process(squared_distances(data, points),
                                        targets_of(gains, points, model.offset), model.length, noise);
  model.weights.assign(process.coefficients.begin(), process.coefficients.end());
  model.was_singular = process.was_singular;
  model.points.clear();
  for (const std::size_t point : points)
    model.points.insert(model.points.end(), data.row(point), data.row(point) + data.width);
}

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kRidge = 1e-6;  // relative to the mean square: keeps collinear votes solvable
constexpr double kDecay = 1e-4;  // of logistic and network weights, per document
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
