#include "lab/learners/baselines/baselines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/rankboost/loss_and_bound.h"
#include "fusion/learners/similarity/similarity.h"
#include "lab/learners/common/training.h"
#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::baselines {

using similarity::Viewer;
using similarity::viewers_of;

namespace {

/// The rating scale R: the distinct values of all features together if there are at most `most`, else empty.
std::vector<double> shared_scale(const std::vector<Viewer>& viewers, std::size_t most) {
  std::set<double> scale;
  for (const Viewer& viewer : viewers) {
    scale.insert(viewer.values.begin(), viewer.values.end());
    if (scale.size() > most) return {};
  }
  return {scale.begin(), scale.end()};
}

/// errors: those of pair_rows(), here with more than a gigabyte
Result<rankboost_plus::PairRows> all_pairs(const TrainingSet& set) {
  return rankboost_plus::pair_rows(set, std::size_t{1} << 30, 0);
}

constexpr std::size_t kLargestScale = 100;

struct Neighbour {
  std::size_t feature = 0;
  double unranked = 0.0;
  double loss = 2.0;
};

/// The pairs of a document that a feature ranks and one that it does not: the only part of its loss that
/// depends on the value of unranked documents.
class MixedPairs {
 public:
  MixedPairs(const rankboost_plus::PairRows& pairs, const FeatureMatrix& matrix, std::size_t f) {
    std::vector<double> unranked_below(pairs.classes.size(), 0.0);  // by class: documents
    std::vector<double> unranked_above(pairs.classes.size(), 0.0);  // by class: weight of a pair with each
    std::vector<Side> sides(matrix.document_count());
    const auto for_each_below = [&](const auto& visit) {
      for (std::size_t c = 0; c < pairs.classes.size(); ++c)
        for (std::size_t k = 0; k < pairs.classes[c].count; ++k)
          visit(c, pairs.below[pairs.classes[c].first + k]);
    };
    for_each_below(
        [&](std::size_t c, std::size_t x) { unranked_below[c] += matrix.is_unranked(x, f) ? 1.0 : 0.0; });
    for (const rankboost_plus::PairRow& row : pairs.rows) {
      if (matrix.is_unranked(row.above, f))
        unranked_above[row.below_class] += row.initial;
      else
        sides[row.above].above += row.initial * unranked_below[row.below_class];
    }
    for_each_below([&](std::size_t c, std::size_t x) { sides[x].below += unranked_above[c]; });
    for (std::size_t x = 0; x < sides.size(); ++x) {
      if (matrix.is_unranked(x, f) || (sides[x].above == 0.0 && sides[x].below == 0.0)) continue;
      sides[x].value = matrix.value(x, f);
      sides_.push_back(sides[x]);
    }
    std::sort(sides_.begin(), sides_.end(), [](const Side& a, const Side& b) { return a.value < b.value; });
    sums_.resize(sides_.size() + 1);
    for (std::size_t i = 0; i < sides_.size(); ++i)
      sums_[i + 1] = {0.0, sums_[i].above + sides_[i].above, sums_[i].below + sides_[i].below};
  }

  /// The part of the loss that these pairs make up.
  double loss(double unranked) const {
    const auto place = [&](const auto& is_before) {
      return sums_[static_cast<std::size_t>(std::partition_point(sides_.begin(), sides_.end(), is_before) -
                                            sides_.begin())];
    };
    const auto is_tied = [&](const Side& side) { return rankboost::is_tie(side.value, unranked); };
    const Side lower = place([&](const Side& side) { return side.value < unranked && !is_tied(side); });
    const Side tied = place([&](const Side& side) { return side.value < unranked || is_tied(side); });
    return 0.5 * (lower.above + tied.above) + sums_.back().below - 0.5 * (lower.below + tied.below);
  }

 private:
  /// A ranked document: the weight of its pairs in which it belongs above an unranked one, and below one.
  struct Side {
    double value = 0.0;
    double above = 0.0;
    double below = 0.0;
  };

  std::vector<Side> sides_;  // by value, ascending
  std::vector<Side> sums_;   // of those before each, and of all
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
    const MixedPairs mixed(pairs_, set_.matrix, f);
    const double others = loss(f, viewer.mean) - mixed.loss(viewer.mean);
    for (const double unranked : defaults)
      if (const double here = others + mixed.loss(unranked); here < best.loss - 1e-12)
        best = {f, unranked, here};
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
  TRY(const auto pairs, all_pairs(set));
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
  TRY(const auto pairs, all_pairs(set));
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
  TRY_VOID(rankboost_plus::count_pairs(set));
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
    a[row] = feedback_grade(set, x);
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

void declare_options(OptionTable& table, NeighbourOptions& options) {
  table.count("neighbours", options.k, 1, 1'000'000, "number of features to average", "K");
  table.choice("default", options.is_mean_default, {{"loss", false}, {"mean", true}},
               "value for unranked documents: the one with the least loss, or the mean");
}

void declare_options(OptionTable& table, RegressionOptions& options) {
  table.choice("normalised", options.is_normalised, {{"no", false}, {"yes", true}},
               "first scale every feature and the grades to mean 0 and variance 1");
}

namespace {

/// Fits a ranker to the request's training set by its options.
using Fit = std::function<Result<LinearRanker>(const TrainingRequest&)>;

template <class Options>
Fit with_options(Result<LinearRanker> (*fit)(const TrainingSet&, const Options&)) {
  return [fit](const TrainingRequest& request) -> Result<LinearRanker> {
    TRY(const auto options, read_options<Options>(request.options));
    return fit(*request.train, options);
  };
}

Fit without_options(Result<LinearRanker> (*fit)(const TrainingSet&)) {
  return [fit](const TrainingRequest& request) { return fit(*request.train); };
}

/// A learner that fits grades and knows no pairs.
Learner by_grades(Learner learner) {
  learner.train = [name = learner.name, train = std::move(learner.train)](
                      const TrainingRequest& request) -> Result<TrainingResult> {
    TRY_VOID(refuse_pair_options(*request.train, name));
    return train(request);
  };
  learner.takes_query_weights = false;
  return learner;
}

/// VSIM, refused without crucial pairs as the other baselines are.
Result<LinearRanker> similarity_to_grades(const TrainingSet& set) {
  TRY_VOID(rankboost_plus::count_pairs(set));
  return similarity::vector_similarity(set);
}

Result<LinearRanker> random_guessing(const TrainingSet& set) {
  return LinearRanker(0.0, {}, set.matrix.feature_count());
}

Learner row(std::string name, std::string meaning, std::string source, std::vector<LearnerOption> options,
            Fit fit) {
  const auto train = [name, fit = std::move(fit)](const TrainingRequest& request) -> Result<TrainingResult> {
    const TrainingSet& set = *request.train;
    TRY_VOID(refuse_huge_features(set.matrix));
    TRY(auto ranker, fit(request));
    TrainingResult result;
    result.model.learner = name;
    result.model.features = set.matrix.features();
    if (const auto pairs = all_pairs(set)) {
      const double loss = rankboost_plus::rank_losses(*pairs, ranker.score(set.matrix)).r2;
      result.model.training["crucial_pairs"] = pairs->pair_count;
      result.model.training["ranking_loss"] = loss;
      result.summary = fmt::format("{}: ranking loss {:f} over {} crucial pairs with {} features\n", name,
                                   loss, pairs->pair_count, ranker.terms().size());
    }
    result.model.ranker = std::make_shared<LinearRanker>(std::move(ranker));
    return result;
  };
  return {std::move(name), std::move(meaning), std::move(source), std::move(options), train};
}

}  // namespace

std::vector<Learner> learners() {
  const std::string source = "Freund, Iyer, Schapire, Singer 2003, sec. 6.2.3";
  return {
      row("nearest-neighbour", "the ranking feature nearest to the feedback, or the mean of the k nearest",
          source + " and 6.2.6", option_rows<NeighbourOptions>(), with_options(nearest_neighbour)),
      by_grades(row("regression", "minimum-norm least squares on the grades", source + " and 6.2.6",
                    option_rows<RegressionOptions>(), with_options(regression))),
      by_grades(row("vector-similarity", "features weighted by their cosine with the grades", source, {},
                    without_options(similarity_to_grades))),
      row("best-feature", "the single ranking feature with the least training loss",
          "Freund, Iyer, Schapire, Singer 2003, sec. 6.1.2", {}, without_options(best_feature)),
      row("random-guessing", "ties all documents, which equals random guessing in expectation", source, {},
          without_options(random_guessing))};
}

}  // namespace metafuse::lab::baselines
