#include "fusion/learners/baselines/baselines.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <Eigen/Dense>

#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::baselines {

std::vector<Viewer> viewers_of(const FeatureMatrix& matrix) {
  std::vector<Viewer> viewers(matrix.feature_count());
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    Viewer& viewer = viewers[f];
    for (std::size_t x = 0; x < matrix.document_count(); ++x) {
      if (matrix.is_unranked(x, f)) continue;
      viewer.values.push_back(matrix.value(x, f));
      viewer.mean += viewer.values.back();
    }
    viewer.rated = viewer.values.size();
    if (viewer.rated == 0) continue;
    const auto rated = static_cast<double>(viewer.rated);
    viewer.mean /= rated;
    double squares = 0.0;
    for (const double value : viewer.values) squares += (value - viewer.mean) * (value - viewer.mean);
    viewer.deviation = std::sqrt(squares / rated);
    std::sort(viewer.values.begin(), viewer.values.end());
    viewer.values.erase(std::unique(viewer.values.begin(), viewer.values.end()), viewer.values.end());
    viewer.lowest = viewer.values.front();
    if (viewer.values.size() == 1) viewer.deviation = 0.0;
  }
  return viewers;
}

std::vector<double> shared_scale(const std::vector<Viewer>& viewers, std::size_t most) {
  std::set<double> scale;
  for (const Viewer& viewer : viewers) {
    scale.insert(viewer.values.begin(), viewer.values.end());
    if (scale.size() > most) return {};
  }
  return {scale.begin(), scale.end()};
}

namespace {

constexpr std::size_t kLargestScale = 100;

struct Neighbour {
  std::size_t feature = 0;
  double unranked = 0.0;
  double loss = 2.0;
};

class Search {
 public:
  Search(const TrainingSet& set, const rankboost_plus::PairRows& pairs)
      : set_(set),
        pairs_(pairs),
        viewers_(viewers_of(set.matrix)),
        scale_(shared_scale(viewers_, kLargestScale)),
        judged_(judged_documents(set)),
        paired_(judged_) {
    for (const WeightedPair& pair : set.pairs) paired_.insert(paired_.end(), {pair.below, pair.above});
  }

  /// A feature and its best default. The loss is 2 if the feature ranks nothing.
  Neighbour neighbour(std::size_t f, bool is_mean_default) const {
    const Viewer& viewer = viewers_[f];
    Neighbour best{f, viewer.mean, 2.0};
    if (viewer.rated == 0) return best;
    const bool ranks_all = std::none_of(judged_.begin(), judged_.end(),
                                        [&](std::size_t x) { return set_.matrix.is_unranked(x, f); });
    if (is_mean_default || ranks_all) return {f, viewer.mean, loss(f, viewer.mean)};
    std::vector<double> defaults = scale_.empty() ? viewer.values : scale_;
    defaults.insert(defaults.begin(), std::min(defaults.front(), viewer.lowest) - 1.0);
    for (const double unranked : defaults)
      if (const double here = loss(f, unranked); here < best.loss - 1e-12) best = {f, unranked, here};
    return best;
  }

  double loss(std::size_t f, double unranked) const {
    std::vector<double> scores(set_.matrix.document_count(), 0.0);
    for (const std::size_t x : paired_)
      scores[x] = set_.matrix.is_unranked(x, f) ? unranked : set_.matrix.value(x, f);
    return rankboost_plus::rank_losses(pairs_, scores).r2;
  }

  const std::vector<Viewer>& viewers() const { return viewers_; }

 private:
  const TrainingSet& set_;
  const rankboost_plus::PairRows& pairs_;
  std::vector<Viewer> viewers_;
  std::vector<double> scale_;
  std::vector<std::size_t> judged_;
  std::vector<std::size_t> paired_;  // the documents whose scores the loss depends on
};

}  // namespace

Result<LinearRanker> nearest_neighbour(const TrainingSet& set, const NeighbourOptions& options) {
  TRY(const auto pairs, rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  const Search search(set, pairs);
  std::vector<Neighbour> neighbours;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f)
    if (const Neighbour found = search.neighbour(f, options.is_mean_default); found.loss < 2.0)
      neighbours.push_back(found);
  std::stable_sort(neighbours.begin(), neighbours.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.loss < b.loss; });
  neighbours.resize(std::min(options.k, neighbours.size()));
  std::vector<LinearTerm> terms;
  for (const Neighbour& neighbour : neighbours)
    terms.push_back({static_cast<std::uint32_t>(neighbour.feature),
                     1.0 / static_cast<double>(neighbours.size()), neighbour.unranked});
  return LinearRanker(0.0, std::move(terms), set.matrix.feature_count());
}

Result<LinearRanker> best_feature(const TrainingSet& set) {
  TRY(const auto pairs, rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  const Search search(set, pairs);
  Neighbour best;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f) {
    if (search.viewers()[f].rated == 0) continue;
    const double below = search.viewers()[f].lowest - 1.0;
    if (const double loss = search.loss(f, below); loss < best.loss - 1e-12) best = {f, below, loss};
  }
  std::vector<LinearTerm> terms;
  if (best.loss < 2.0) terms.push_back({static_cast<std::uint32_t>(best.feature), 1.0, best.unranked});
  return LinearRanker(0.0, std::move(terms), set.matrix.feature_count());
}

LinearRanker random_guessing(const TrainingSet& set) {
  return LinearRanker(0.0, {}, set.matrix.feature_count());
}

namespace {

constexpr Eigen::Index kMostRows = 20000;
constexpr double kSmallestEigenvalue = 1e-10;

/// The shortest of the vectors that minimise |C w - a|.
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

namespace {

/// The offset that turns a feature's values into ratings: in a list, a rank counts D + 1 - rank.
double rating_offset(const Feature& feature, const Viewer& viewer) {
  if (feature.kind != FeatureKind::rank) return 0.0;
  return 1.0 + (feature.depth > 0 ? feature.depth : -viewer.lowest);
}

}  // namespace

Result<LinearRanker> vector_similarity(const TrainingSet& set) {
  TRY_VOID(rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  const std::vector<Viewer> viewers = viewers_of(set.matrix);
  const std::vector<std::size_t> documents = judged_documents(set);
  double mean = 0.0;
  double target_squares = 0.0;
  for (const std::size_t x : documents) {
    mean += set.grades[x] / static_cast<double>(documents.size());
    target_squares += set.grades[x] * set.grades[x];
  }
  std::vector<double> cosines(viewers.size(), 0.0);
  double sum = 0.0;
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    double product = 0.0;
    double squares = 0.0;
    const double offset = rating_offset(set.matrix.features()[f], viewers[f]);
    for (const std::size_t x : documents)
      if (!set.matrix.is_unranked(x, f)) product += set.grades[x] * (set.matrix.value(x, f) + offset);
    for (std::size_t x = 0; x < set.matrix.document_count(); ++x) {
      if (set.matrix.is_unranked(x, f)) continue;
      const double rating = set.matrix.value(x, f) + offset;
      squares += rating * rating;
    }
    if (product == 0.0 || squares <= 0.0 || target_squares <= 0.0) continue;
    cosines[f] = product / (std::sqrt(squares) * std::sqrt(target_squares));
    sum += std::abs(cosines[f]);
  }
  double offset = mean;
  std::vector<LinearTerm> terms;
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    if (cosines[f] == 0.0) continue;
    const double weight = cosines[f] / sum;
    offset -= weight * viewers[f].mean;
    terms.push_back({static_cast<std::uint32_t>(f), weight, viewers[f].mean});  // no deviation if unrated
  }
  return LinearRanker(offset, std::move(terms), viewers.size());
}

}  // namespace metafuse::fusion::baselines
