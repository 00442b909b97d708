#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fusion/data/training_set.h"
#include "fusion/learners/mpboost/distance.h"
#include "fusion/learners/mpboost/stump_sums.h"

namespace metafuse::fusion::mpboost {

/// The weights of MPBoost without a pair: in a query, the pair (i, j) of grades a and b weighs
/// c(a,b) * v_i(b) * v_j(a) with v_i(b) = exp(-d(a,b) F_i) and v_j(a) = exp(d(a,b) F_j).
class FactoredWeights {
 public:
  static constexpr std::size_t kMostGrades = 16;

  /// Whether a set's grades are few enough and it has no explicit pairs.
  static bool can_hold(const TrainingSet& set);

  /// The same bits for any number of threads.
  FactoredWeights(const TrainingSet& set, const CodedFeatures& features, Distance distance, double parameter,
                  unsigned threads = 1);

  double total() const { return total_; }
  /// Mean |dist| under the initial weights.
  double mean_distance() const { return mean_distance_; }
  std::size_t pair_count() const { return pair_count_; }
  StumpSums stump_sums() const;
  /// Recomputes the weights from the scores, one a document; false when they leave the range of a double.
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

  void add_query(const TrainingSet& set, const QueryRange& range, Distance distance, double parameter);
  void normalise();
  void sort_orders();
  void sweep(const Query& query, std::size_t q, std::size_t feature, std::vector<double>& by_code) const;
  std::vector<double> potentials() const;
  bool set_scores(Query& query, const std::vector<double>& scores);

  const CodedFeatures& features_;
  unsigned threads_;
  std::vector<Query> queries_;
  std::vector<double> values_;                      // v of every document: a number a grade of its query
  std::vector<std::vector<std::uint32_t>> orders_;  // a query and feature: its ranked documents, best first
  std::size_t document_count_ = 0;
  std::size_t pair_count_ = 0;
  double total_ = 1.0;
  double mean_distance_ = 0.0;
};

}  // namespace metafuse::fusion::mpboost
