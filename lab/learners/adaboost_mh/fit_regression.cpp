#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <nlopt.h>

#include "core/portable_math.h"
#include "core/random.h"
#include "fusion/model/votes/regression.h"
#include "lab/learners/adaboost_mh/calibration.h"

// Fits the regressions from votes to gains: polynomials by least squares, logistic regression and the neural
// network by L-BFGS, and the Gaussian process by its marginal likelihood.
namespace metafuse::lab::adaboost_mh {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

using Votes = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// Documents x (width + 1): the votes, and a 1 whose weight serves as the offset.
MatrixXd votes_and_one(const CalibrationData& data) {
  const auto documents = static_cast<Eigen::Index>(data.size());
  const auto width = static_cast<Eigen::Index>(data.width);
  MatrixXd rows = MatrixXd::Ones(documents, width + 1);
  rows.leftCols(width) = Votes(data.votes.data(), documents, width);
  return rows;
}

VectorXd gains_vector(const CalibrationData& data) {
  VectorXd gains(static_cast<Eigen::Index>(data.size()));
  for (std::size_t d = 0; d < data.size(); ++d)
    gains[static_cast<Eigen::Index>(d)] = data.gains[static_cast<std::size_t>(data.classes[d])];
  return gains;
}

std::span<double> numbers_of(MatrixXd& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

/// Draws at most `most` documents by the seed.
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

/// Computes the coefficients for signal variance 1 and the given noise; adds jitter while the matrix
/// is singular.
Process solve_process(const MatrixXd& squares, const VectorXd& targets, double length, double noise) {
  Process process;
  for (double jitter = 0.0; jitter < 1.0; jitter = jitter == 0.0 ? 1e-10 : 100.0 * jitter) {
    MatrixXd kernel = squares * (-0.5 / (length * length));
    // Only the lower half is factored.
    for (Eigen::Index c = 0; c < kernel.cols(); ++c)
      portable_exp({&kernel(c, c), static_cast<std::size_t>(kernel.rows() - c)});
    kernel.diagonal().array() += noise + jitter;
    const Eigen::LLT<MatrixXd> factor(kernel);
    if (factor.info() != Eigen::Success) {
      process.was_singular = true;
      continue;
    }
    process.coefficients = factor.solve(targets);
    const auto n = static_cast<double>(targets.size());
    const double fit = targets.dot(process.coefficients) / n;  // best-fitting signal variance
    if (!(fit > 0.0)) continue;
    MatrixXd logs = factor.matrixLLT().diagonal();
    portable_log(numbers_of(logs));
    process.log_likelihood = -0.5 * n * portable_log(fit) - logs.sum();
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

/// Fits the coefficients, points, length and offset of a Gaussian process with a squared exponential kernel.
/// Chooses length scale and noise by the marginal likelihood of at most 150 points, then fits the process to
/// all points.
/// cost:   O(points^3)
void fit_gaussian_process(Regression& model, const CalibrationData& data, const RegressionOptions& options) {
  const VectorXd gains = gains_vector(data);
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

constexpr double kRidge = 1e-6;  // relative to the mean square: keeps collinear votes solvable
constexpr double kDecay = 1e-4;  // of logistic and network weights, per document
constexpr int kGradients = 200;

void fit_polynomial(Regression& model, const CalibrationData& data, const RegressionOptions&) {
  const auto terms = monomials(data.width, model.setting.degree);
  const MatrixXd votes = votes_and_one(data);
  MatrixXd design(votes.rows(), static_cast<Eigen::Index>(terms.size()));
  for (std::size_t m = 0; m < terms.size(); ++m) {
    auto column = design.col(static_cast<Eigen::Index>(m));
    column.setOnes();
    for (const std::size_t variable : terms[m])
      column.array() *= votes.col(static_cast<Eigen::Index>(variable)).array();
  }
  MatrixXd squares = design.transpose() * design;
  squares.diagonal().array() += kRidge * static_cast<double>(votes.rows());
  const VectorXd solved = squares.ldlt().solve(design.transpose() * gains_vector(data));
  model.weights.assign(solved.begin(), solved.end());
}

/// Returns the value at a point and sets the gradient, which has the length of the point.
using Smooth = std::function<double(const std::vector<double>& at, std::vector<double>& gradient)>;

double evaluate_smooth(unsigned count, const double* at, double* gradient, void* context) {
  const std::vector<double> point(at, at + count);
  std::vector<double> slope(count, 0.0);
  const double value = (*static_cast<const Smooth*>(context))(point, slope);
  if (gradient != nullptr) std::copy(slope.begin(), slope.end(), gradient);
  return std::isfinite(value) ? value : 1e300;
}

/// Minimises by NLopt's L-BFGS from `start`; returns the best point seen.
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

void fit_logistic(Regression& model, const CalibrationData& data, const RegressionOptions&) {
  const auto k = static_cast<Eigen::Index>(data.gains.size());
  const MatrixXd rows = votes_and_one(data);
  const auto n = static_cast<double>(data.size());
  model.points = data.gains;
  MatrixXd shares(rows.rows(), k);
  const Smooth loss = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    const Eigen::Map<const MatrixXd> weights(at.data(), rows.cols(), k);
    shares.noalias() = rows * weights;
    const VectorXd most = shares.rowwise().maxCoeff();
    shares.colwise() -= most;
    double own_scores = 0.0;
    for (std::size_t d = 0; d < data.size(); ++d)
      own_scores += shares(static_cast<Eigen::Index>(d), data.classes[d]);
    portable_exp(numbers_of(shares));
    MatrixXd sums = shares.rowwise().sum();
    shares.array().colwise() /= sums.col(0).array();
    for (std::size_t d = 0; d < data.size(); ++d)
      shares(static_cast<Eigen::Index>(d), data.classes[d]) -= 1.0;
    Eigen::Map<MatrixXd>(gradient.data(), rows.cols(), k) = rows.transpose() * shares / n + kDecay * weights;
    portable_log(numbers_of(sums));
    return (sums.sum() - own_scores) / n + 0.5 * kDecay * weights.squaredNorm();
  };
  model.weights = minimise(loss, std::vector<double>(static_cast<std::size_t>(rows.cols() * k), 0.0));
}

void fit_network(Regression& model, const CalibrationData& data, const RegressionOptions& options) {
  const MatrixXd rows = votes_and_one(data);
  const VectorXd gains = gains_vector(data);
  constexpr Eigen::Index hidden = 5;  // tanh units
  const Eigen::Index inner = hidden * rows.cols();
  const auto n = static_cast<double>(data.size());
  Random random(options.seed);
  std::vector<double> start(static_cast<std::size_t>(inner + hidden + 1));
  for (double& weight : start) weight = 0.5 * random.normal();
  start.back() = gains.mean();
  MatrixXd units(rows.rows(), hidden);
  const Smooth loss = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    const Eigen::Map<const MatrixXd> weights(at.data(), rows.cols(), hidden);
    const Eigen::Map<const VectorXd> outer(at.data() + inner, hidden);
    const Eigen::Map<const VectorXd> decaying(at.data(), inner + hidden);
    units.noalias() = rows * weights;
    make_tangents(numbers_of(units));
    const VectorXd errors = ((units * outer).array() + at.back()).matrix() - gains;
    Eigen::Map<VectorXd> outer_slopes(gradient.data() + inner, hidden);
    outer_slopes.noalias() = units.transpose() * errors / n;
    units.array() = (1.0 - units.array().square()).colwise() * errors.array();
    units.array().rowwise() *= outer.transpose().array() / n;
    Eigen::Map<MatrixXd>(gradient.data(), rows.cols(), hidden).noalias() = rows.transpose() * units;
    Eigen::Map<VectorXd>(gradient.data(), inner + hidden) += kDecay * decaying;
    gradient.back() = errors.sum() / n;
    return 0.5 * errors.squaredNorm() / n + 0.5 * kDecay * decaying.squaredNorm();
  };
  model.weights = minimise(loss, std::move(start));
}

/// In the order of RegressionKind.
constexpr void (*kFits[])(Regression&, const CalibrationData&, const RegressionOptions&) = {
    fit_polynomial, fit_logistic, fit_network, fit_gaussian_process};

}  // namespace

Result<Regression> fit_regression(const RegressionSetting& setting, const CalibrationData& data,
                                  const RegressionOptions& options) {
  if (data.size() == 0 || are_votes_constant(data))
    return fail(Code::bad_data, "the calibration documents all have the same votes; there is nothing to fit");
  Regression model;
  model.setting = setting;
  model.width = data.width;
  kFits[static_cast<std::size_t>(setting.kind)](model, data, options);
  model.low = INFINITY;
  model.high = -INFINITY;
  for (std::size_t d = 0; d < data.size(); ++d) {
    const double value = model.raw({data.row(d), data.width});
    model.low = std::min(model.low, value);
    model.high = std::max(model.high, value);
  }
  return model;
}

}  // namespace metafuse::lab::adaboost_mh
