#include "fusion/learners/adaboost_mh/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "core/random.h"

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

}  // namespace metafuse::fusion::adaboost_mh
