#pragma once

#include <cstddef>
#include <vector>

#include "evaluation/measures/measure.h"
#include "fusion/data/training_set.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::experiments {

/// Orders and measures one set of queries again and again, as a model grows round by round.
class RoundCurve {
 public:
  /// The set must outlive this. Equal scores are ordered by fusion's rule: more lists, better best rank, id.
  RoundCurve(const fusion::TrainingSet& set, const evaluation::MeasureSet& measures);

  /// out: the mean over all queries of every measure after each round: rounds x measures
  /// cost: O(rounds x documents log documents of a query)
  std::vector<std::vector<double>> means(const std::vector<fusion::WeakRanking>& rounds) const;

  /// out: queries x measures, for one score a row
  std::vector<std::vector<double>> per_query(const std::vector<double>& scores) const;

 private:
  std::vector<double> measure_query(std::size_t query, const std::vector<double>& scores) const;

  const fusion::TrainingSet* set_;
  const evaluation::MeasureSet* measures_;
  std::vector<std::vector<std::uint32_t>> tie_order_;  // a query: rows counted from its begin
};

}  // namespace metafuse::experiments
