#include "fusion/learners/reciprocal_ranks/pair_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <Eigen/Cholesky>

#include "core/portable_math.h"
#include "fusion/data/features.h"
#include "fusion/learners/common/bagging.h"

namespace metafuse::fusion::reciprocal_ranks {
namespace {

constexpr double kLambda = 30.0;  // pairs' weight per list that moves it half the way
constexpr std::size_t kMostPairs = 200'000;
constexpr std::size_t kMostPartners = 10;  // of a document, among those of lower grades
constexpr std::size_t kDivisions = 3;      // of the base queries into halves
constexpr int kMostSteps = 15;             // of Newton's method, which needs five to eight
constexpr double kSmallStep = 1e-10;       // squared; the last one

/// Pairs as differences of shares: only the lists in which the two documents differ, pair after pair.
class PairDifferences {
 public:
  PairDifferences(const TrainingSet& set, const rankboost::Feedback& feedback, double k, Random random)
      : set_(set), feedback_(feedback), k_(k), random_(random) {
    std::size_t pairs = feedback.pairs.size();
    for (const rankboost::QueryFeedback& query : feedback.queries)
      pairs += kMostPartners * (query.classes > 1 ? query.end - query.begin : 0);
    kept_ =
        std::min(1.0, static_cast<double>(kMostPairs) / static_cast<double>(std::max<std::size_t>(pairs, 1)));
    for (const rankboost::QueryFeedback& query : feedback.queries) {
      const auto at = std::ranges::lower_bound(set.queries, query.begin, {}, &QueryRange::begin);
      place_ = static_cast<std::size_t>(at - set.queries.begin());
      for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) add(feedback.pairs[i]);
      add_graded(query);
    }
  }

  std::size_t size() const { return weights_.size(); }
  double weight(std::size_t pair) const { return weights_[pair]; }
  /// The pair's query: an index into the set's.
  std::size_t query(std::size_t pair) const { return queries_[pair]; }

  double product(std::size_t pair, const Eigen::VectorXd& u) const {
    double sum = 0.0;
    for (std::size_t i = begin_[pair]; i < begin_[pair + 1]; ++i) sum += values_[i] * u[lists_[i]];
    return sum;
  }
  void add_to(Eigen::VectorXd& sum, std::size_t pair, double factor) const {
    for (std::size_t i = begin_[pair]; i < begin_[pair + 1]; ++i) sum[lists_[i]] += factor * values_[i];
  }
  /// Adds to the lower triangle.
  void add_square_to(Eigen::MatrixXd& sum, std::size_t pair, double factor) const {
    for (std::size_t i = begin_[pair]; i < begin_[pair + 1]; ++i)
      for (std::size_t j = begin_[pair]; j <= i; ++j)
        sum(lists_[i], lists_[j]) += factor * values_[i] * values_[j];
  }

 private:
  /// The pairs of each document with some of those of lower grades, spread evenly over them.
  void add_graded(const rankboost::QueryFeedback& query) {
    if (query.classes < 2) return;
    std::vector<std::uint32_t> rows;
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (feedback_.classes[row] != rankboost::Feedback::kNone)
        rows.push_back(static_cast<std::uint32_t>(row));
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t row) { return feedback_.classes[row]; });
    std::size_t lower = 0;  // documents of lower classes
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t own = feedback_.classes[rows[i]];
      if (i > 0 && feedback_.classes[rows[i - 1]] != own) lower = i;
      const std::size_t partners = std::min(lower, kMostPartners);
      for (std::size_t j = 0; j < partners; ++j) {
        const std::uint32_t below = rows[(j * lower / partners + i) % lower];
        const double weight = feedback_.weights[query.table + feedback_.classes[below] * query.classes + own];
        add({below, rows[i], weight * static_cast<double>(lower) / static_cast<double>(partners)});
      }
    }
  }

  void add(const WeightedPair& pair) {
    if (kept_ < 1.0 && random_.uniform() >= kept_) return;
    const FeatureMatrix& matrix = set_.matrix;
    const auto share = [&](std::size_t row, std::size_t feature) {
      if (matrix.is_unranked(row, feature)) return 0.0;
      return (k_ + 1.0) * reciprocal_rank_share(-matrix.value(row, feature), k_);
    };
    for (std::size_t f = 0; f < matrix.feature_count(); ++f) {
      if (matrix.features()[f].kind != FeatureKind::rank) continue;
      const double difference = share(pair.above, f) - share(pair.below, f);
      if (difference == 0.0) continue;
      lists_.push_back(static_cast<Eigen::Index>(f));
      values_.push_back(difference);
    }
    begin_.push_back(lists_.size());
    weights_.push_back(pair.weight * static_cast<double>(feedback_.crucial_pairs) / kept_);
    queries_.push_back(place_);
  }

  const TrainingSet& set_;
  const rankboost::Feedback& feedback_;
  const double k_;
  Random random_;
  double kept_ = 1.0;      // share of the pairs
  std::size_t place_ = 0;  // of the query whose pairs are added
  std::vector<std::size_t> begin_ = {0};
  std::vector<Eigen::Index> lists_;
  std::vector<double> values_;
  std::vector<double> weights_;
  std::vector<std::size_t> queries_;
};

/// The u of the pairs of some queries.
/// in: counts - per query of the set: 1 if its pairs count, else 0
Eigen::VectorXd fitted(const PairDifferences& pairs, std::size_t features,
                       const std::vector<std::uint8_t>& counts) {
  const auto size = static_cast<Eigen::Index>(features);
  Eigen::VectorXd u = Eigen::VectorXd::Zero(size);
  for (int step = 0; step < kMostSteps; ++step) {
    Eigen::VectorXd gradient = kLambda * u;
    Eigen::MatrixXd curvature = kLambda * Eigen::MatrixXd::Identity(size, size);
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      if (counts[pairs.query(pair)] == 0) continue;
      const double wrong = 1.0 / (1.0 + portable_exp(pairs.product(pair, u)));
      pairs.add_to(gradient, pair, -pairs.weight(pair) * wrong);
      pairs.add_square_to(curvature, pair, pairs.weight(pair) * wrong * (1.0 - wrong));
    }
    const Eigen::VectorXd change = Eigen::LLT<Eigen::MatrixXd>(curvature).solve(gradient);
    u -= change;
    if (!(change.squaredNorm() > kSmallStep)) break;
  }
  return u;
}

double agreement_of_halves(const TrainingSet& set, const PairDifferences& pairs, const Random& random) {
  double together = 0.0;
  double squares = 0.0;
  for (std::size_t division = 0; division < kDivisions; ++division) {
    std::array<Eigen::VectorXd, 2> learned;
    const auto halves = halves_of_queries(set, random.split(division));
    for (std::size_t side = 0; side < 2; ++side) {
      std::vector<std::uint8_t> counts(set.queries.size(), 0);
      for (const std::size_t query : halves[side]) counts[query] = 1;
      learned[side] = fitted(pairs, set.matrix.feature_count(), counts);
    }
    double first = 0.0;
    double second = 0.0;
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      const double a = pairs.product(pair, learned[0]);
      const double b = pairs.product(pair, learned[1]);
      together += pairs.weight(pair) * a * b;
      first += pairs.weight(pair) * a * a;
      second += pairs.weight(pair) * b * b;
    }
    squares += std::sqrt(first * second);
  }
  const double correlation = squares > 0.0 ? std::max(0.0, together / squares) : 0.0;
  return 2.0 * correlation / (1.0 + correlation);
}

}  // namespace

PairWeights weights_of_pairs(const TrainingSet& set, const rankboost::Feedback& feedback, double k,
                             Random random) {
  const PairDifferences pairs(set, feedback, k, random.split(kDivisions));
  PairWeights out;
  out.agreement = agreement_of_halves(set, pairs, random);
  const std::vector<std::uint8_t> all(set.queries.size(), 1);
  const Eigen::VectorXd u = fitted(pairs, set.matrix.feature_count(), all);
  out.added.assign(u.data(), u.data() + u.size());
  return out;
}

}  // namespace metafuse::fusion::reciprocal_ranks
