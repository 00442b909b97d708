#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/mpboost/boost.h"
#include "fusion/learners/mpboost/distance.h"

namespace metafuse::fusion::mpboost {

/// The two sums of eq. (19) for every candidate stump, under the current weights (which sum to `total`).
struct StumpSums {
  /// Over the pairs that a stump orders rightly less those it reverses: w * dist. Feature by feature, a
  /// number per threshold.
  std::vector<std::vector<double>> numerator;
  /// Over both kinds: w.
  std::vector<std::vector<double>> denominator;
};

/// Turns per-code additions into per-threshold sums: threshold j fires for codes above j.
///
/// in:     by_code - a feature each: thresholds + 1 numbers
std::vector<std::vector<double>> sums_above(std::vector<std::vector<double>> by_code);

/// Zeroes, thresholds + 1 a feature.
std::vector<std::vector<double>> empty_codes(const CodedFeatures& features);

/// Adds a value per document to the bucket of its code in one feature.
void add_by_code(const CodedFeatures& features, std::size_t feature, const std::vector<double>& values,
                 std::vector<double>& by_code);

/// The weights of MPBoost without enumerating pairs: in a query, the pair (i, j) of grades a and b weighs
/// c(a,b) * v_i(b) * v_j(a) with v_i(b) = exp(-d(a,b) F_i) and v_j(a) = exp(d(a,b) F_j).
class FactoredWeights {
 public:
  static constexpr std::size_t kMostGrades = 16;

  /// Whether a set's grades are few enough and it has no explicit pairs.
  static bool can_hold(const TrainingSet& set);

  /// The same bits for any number of threads.
  FactoredWeights(const TrainingSet& set, const CodedFeatures& features, const BoostOptions& options);

  double total() const { return total_; }
  /// Mean |dist| under the initial weights.
  double mean_distance() const { return mean_distance_; }
  std::size_t pair_count() const { return pair_count_; }
  StumpSums stump_sums() const;
  /// Recomputes the weights from the scores, one per document; false when they leave the range of a double.
  bool set_scores(const std::vector<double>& scores);

 private:
  /// One query with its documents in feedback.
  struct Query {
    std::vector<std::uint32_t> documents;
    std::vector<std::uint8_t> grade;  ///< of each document: its place among the query's grades, ascending
    std::size_t grades = 0;
    std::vector<double> distance;  ///< grades x grades, symmetric
    std::vector<double> weight;    ///< c, grades x grades, symmetric
    std::size_t first = 0;         ///< of its documents' values in values_
    std::vector<double> sums;      ///< grades x grades: [a][b] sum of v(b) over the documents of grade a
  };

  void add_query(const TrainingSet& set, const QueryRange& range, const BoostOptions& options);
  void normalise();
  void sort_orders();
  void sweep(const Query& query, std::size_t q, std::size_t feature, std::vector<double>& by_code) const;
  std::vector<double> potentials() const;
  bool set_scores(Query& query, const std::vector<double>& scores);

  const CodedFeatures& features_;
  unsigned threads_;
  std::vector<Query> queries_;
  std::vector<double> values_;                      // v of every document: a number per grade of its query
  std::vector<std::vector<std::uint32_t>> orders_;  // a query and feature: its ranked documents, best first
  std::size_t document_count_ = 0;
  std::size_t pair_count_ = 0;
  double total_ = 1.0;
  double mean_distance_ = 0.0;
};

/// The weights of MPBoost pair by pair: for real-valued grades, where every pair has its own distance, and
/// for explicit pairs, whose weights are initial weights and whose distance is that of their grades (of one
/// grade where the pair does not agree with them).
class PairWeights {
 public:
  /// The same bits for any number of threads.
  ///
  /// errors: bad_data when the pairs need more than options.memory_mb
  static Result<PairWeights> make(const TrainingSet& set, const CodedFeatures& features,
                                  const BoostOptions& options);

  double total() const { return total_; }
  double mean_distance() const { return mean_distance_; }
  std::size_t pair_count() const { return pairs_.size(); }
  StumpSums stump_sums() const;
  bool set_scores(const std::vector<double>& scores);

 private:
  struct Pair {
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    double distance = 0.0;
    double initial = 0.0;
    double weight = 0.0;
  };

  PairWeights(const CodedFeatures& features, unsigned threads) : features_(&features), threads_(threads) {}

  const CodedFeatures* features_;
  unsigned threads_;
  std::vector<Pair> pairs_;
  double total_ = 1.0;
  double mean_distance_ = 0.0;
};

}  // namespace metafuse::fusion::mpboost
