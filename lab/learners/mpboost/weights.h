#pragma once

// The pair weights of MPBoost in two forms: factored into numbers per document, or pair by pair. Both give
// the sums from which each round chooses its stump.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/data/training_set.h"
#include "lab/learners/mpboost/boost.h"
#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::mpboost {

/// The two sums of eq. (19) for every candidate stump, under the current weights (whose sum is `total`).
struct StumpSums {
  /// The sum of w * dist over the pairs that a stump orders correctly, minus that over the pairs it reverses.
  /// By feature, then by threshold.
  std::vector<std::vector<double>> numerator;
  /// The sum of w over both kinds of pairs.
  std::vector<std::vector<double>> denominator;
};

/// The weights of MPBoost without enumerating pairs. In a query, the pair (i, j) with grades a and b weighs
/// c(a,b) * v_i(b) * v_j(a), where v_i(b) = exp(-d(a,b) F_i) and v_j(a) = exp(d(a,b) F_j).
class FactoredWeights {
 public:
  static constexpr std::size_t kMostGrades = 16;

  /// Whether a set has few enough grades and no explicit pairs.
  static bool can_hold(const TrainingSet& set);

  /// The result is the same bit for bit for any number of threads.
  FactoredWeights(const TrainingSet& set, const CodedFeatures& features, const BoostOptions& options);

  double total() const { return total_; }
  /// Mean |dist| under the initial weights.
  double mean_distance() const { return mean_distance_; }
  std::size_t pair_count() const { return pair_count_; }
  StumpSums stump_sums() const;
  /// Recomputes the weights from scores, one per document. Returns false if they leave the range of a double.
  bool set_scores(const std::vector<double>& scores);

 private:
  /// One query and its documents in feedback.
  struct Query {
    std::vector<std::uint32_t> documents;
    std::vector<std::uint8_t> grade;  ///< by document: index among the query's grades, ascending
    std::size_t grades = 0;
    std::vector<double> distance;  ///< grades x grades, symmetric
    std::vector<double> weight;    ///< c, grades x grades, symmetric
    std::size_t first = 0;         ///< index of its first document's values in values_
    std::vector<double> sums;  ///< grades x grades: [a][b] is the sum of v(b) over the documents of grade a
  };

  void add_query(const TrainingSet& set, const QueryRange& range, const BoostOptions& options);
  void sort_orders();
  void sweep(const Query& query, std::size_t q, std::size_t feature, std::vector<double>& by_code) const;
  std::vector<double> potentials() const;
  bool set_scores(Query& query, const std::vector<double>& scores);

  const CodedFeatures& features_;
  unsigned threads_;
  std::vector<Query> queries_;
  std::vector<double> values_;  // v of every document: one number per grade of its query
  // By query and feature: its ranked documents, best first.
  std::vector<std::vector<std::uint32_t>> orders_;
  std::size_t document_count_ = 0;
  std::size_t pair_count_ = 0;
  double total_ = 0.0;
  double mean_distance_ = 0.0;
};

/// The weights of MPBoost pair by pair. Needed for real-valued grades, where every pair has its own distance,
/// and for explicit pairs. Explicit pairs bring their initial weights; their distance is that of their
/// grades, or of one grade step if the pair contradicts its grades.
class PairWeights {
  struct Pair {
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    double distance = 0.0;
    double initial = 0.0;
    double weight = 0.0;
  };

 public:
  static constexpr std::size_t kPairBytes = sizeof(Pair);  ///< memory that each pair takes

  /// The result is the same bit for bit for any number of threads.
  PairWeights(const TrainingSet& set, const CodedFeatures& features, const rankboost_plus::PairRows& rows,
              const BoostOptions& options);

  double total() const { return total_; }
  double mean_distance() const { return mean_distance_; }
  std::size_t pair_count() const { return pairs_.size(); }
  StumpSums stump_sums() const;
  bool set_scores(const std::vector<double>& scores);

 private:
  const CodedFeatures& features_;
  unsigned threads_;
  std::vector<Pair> pairs_;
  double total_ = 1.0;
  double mean_distance_ = 0.0;
};

}  // namespace metafuse::lab::mpboost
