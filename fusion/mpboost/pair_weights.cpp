#include "fusion/mpboost/pair_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "fusion/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::mpboost {

Result<PairWeights> PairWeights::make(const TrainingSet& set, const CodedFeatures& features,
                                      Distance distance, double parameter, std::size_t memory_mb) {
  const auto rows = rankboost_plus::pair_rows(set, (memory_mb << 20) / sizeof(Pair));
  if (!rows) return rows.error();
  PairWeights weights(features);
  weights.pairs_.reserve(rows->pair_count);
  const auto grade_of = [&](std::uint32_t x) {
    if (!set.feedback.is_bipartite) return set.grades[x];
    return set.grades[x] >= set.feedback.relevance_level ? 1.0 : 0.0;
  };
  double mean = 0.0;
  for (const rankboost_plus::PairRow& row : rows->rows) {
    const rankboost_plus::BelowClass& below = rows->classes[row.below_class];
    for (std::uint32_t k = below.first; k < below.first + below.count; ++k) {
      const double difference = grade_of(row.above) - grade_of(rows->below[k]);
      const double d = directed_distance(distance, parameter, difference > 0.0 ? difference : 1.0);
      weights.pairs_.push_back({rows->below[k], row.above, d, row.initial, row.initial});
      mean += row.initial * d;
    }
  }
  weights.mean_distance_ = mean;
  return weights;
}

bool PairWeights::set_scores(const std::vector<double>& scores) {
  total_ = 0.0;
  for (Pair& pair : pairs_) {
    pair.weight = pair.initial * std::exp(-pair.distance * (scores[pair.above] - scores[pair.below]));
    total_ += pair.weight;
  }
  return total_ < std::numeric_limits<double>::max();
}

StumpSums PairWeights::stump_sums() const {
  StumpSums sums{empty_codes(*features_), empty_codes(*features_)};
  for (std::size_t f = 0; f < features_->feature_count(); ++f) {
    // A pair counts at the thresholds from its lower code up to below its higher one: summed from the highest
    // code down, its higher code adds and its lower code takes away again.
    std::vector<double>& numerator = sums.numerator[f];
    std::vector<double>& denominator = sums.denominator[f];
    for (const Pair& pair : pairs_) {
      const std::uint32_t above = features_->code(pair.above, f);
      const std::uint32_t below = features_->code(pair.below, f);
      if (above == below) continue;
      const double signed_weight = (above > below ? pair.weight : -pair.weight) * pair.distance;
      const std::uint32_t high = std::max(above, below);
      const std::uint32_t low = std::min(above, below);
      numerator[high] += signed_weight;
      numerator[low] -= signed_weight;
      denominator[high] += pair.weight;
      denominator[low] -= pair.weight;
    }
  }
  return {sums_above(std::move(sums.numerator)), sums_above(std::move(sums.denominator))};
}

}  // namespace metafuse::fusion::mpboost
