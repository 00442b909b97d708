#include <cmath>

#include <Eigen/Dense>

#include "fusion/learners/baselines/baselines.h"
#include "fusion/learners/baselines/viewers.h"
#include "fusion/learners/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::baselines {
namespace {

constexpr Eigen::Index kMostRows = 20000;
constexpr double kSmallestEigenvalue = 1e-10;

/// The shortest of the vectors that make |C w - a| least.
Eigen::VectorXd shortest_solution(const Eigen::MatrixXd& c, const Eigen::VectorXd& a) {
  if (c.rows() <= kMostRows) return Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(c).solve(a);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(c.transpose() * c);
  const Eigen::VectorXd& values = eigen.eigenvalues();
  Eigen::VectorXd along = eigen.eigenvectors().transpose() * (c.transpose() * a);
  for (Eigen::Index i = 0; i < along.size(); ++i)
    along[i] = values[i] > kSmallestEigenvalue * values.maxCoeff() ? along[i] / values[i] : 0.0;
  return eigen.eigenvectors() * along;
}

}  // namespace

Result<LinearRanker> regression(const TrainingSet& set, const RegressionOptions& options) {
  TRY_VOID(rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  const std::vector<Viewer> viewers = viewers_of(set.matrix);
  const std::vector<std::size_t> documents = judged_documents(set);
  const auto scale = [&](const Viewer& viewer) {
    return options.is_normalised && viewer.deviation > 0.0 ? viewer.deviation : 1.0;
  };
  const auto shift = [&](const Viewer& viewer) { return options.is_normalised ? viewer.mean : 0.0; };
  Eigen::MatrixXd c(static_cast<Eigen::Index>(documents.size()), static_cast<Eigen::Index>(viewers.size()));
  Eigen::VectorXd a(c.rows());
  for (Eigen::Index row = 0; row < c.rows(); ++row) {
    const std::size_t x = documents[static_cast<std::size_t>(row)];
    a[row] = set.grades[x];
    for (std::size_t f = 0; f < viewers.size(); ++f) {
      const double value = set.matrix.is_unranked(x, f) ? viewers[f].mean : set.matrix.value(x, f);
      c(row, static_cast<Eigen::Index>(f)) = (value - shift(viewers[f])) / scale(viewers[f]);
    }
  }
  if (options.is_normalised && c.rows() > 0) {
    a.array() -= a.mean();
    const double deviation = std::sqrt(a.squaredNorm() / static_cast<double>(a.size()));
    if (deviation > 0.0) a /= deviation;
  }
  const Eigen::VectorXd w = shortest_solution(c, a);
  double offset = 0.0;
  std::vector<LinearTerm> terms;
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    const double weight = w[static_cast<Eigen::Index>(f)] / scale(viewers[f]);
    if (weight == 0.0 || !std::isfinite(weight)) continue;
    offset -= weight * shift(viewers[f]);
    terms.push_back({static_cast<std::uint32_t>(f), weight, viewers[f].mean});
  }
  return LinearRanker(offset, std::move(terms), viewers.size());
}

}  // namespace metafuse::fusion::baselines
