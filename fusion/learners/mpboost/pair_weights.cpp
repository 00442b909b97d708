#include "fusion/learners/mpboost/pair_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/parallel.h"
#include "fusion/learners/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::mpboost {

Result<PairWeights> PairWeights::make(const TrainingSet& set, const CodedFeatures& features,
                                      const BoostOptions& options) {
  const auto rows = rankboost_plus::pair_rows(set, (options.memory_mb << 20) / sizeof(Pair));
  if (!rows) return rows.error();
  PairWeights weights(features, options.threads);
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
      const double d =
          directed_distance(options.distance, options.parameter, difference > 0.0 ? difference : 1.0);
      weights.pairs_.push_back({rows->below[k], row.above, d, row.initial, row.initial});
      mean += row.initial * d;
    }
  }
  weights.mean_distance_ = mean;
  return weights;
}

bool PairWeights::set_scores(const std::vector<double>& scores) {
  constexpr std::size_t kChunk = std::size_t{1} << 14;
  std::vector<double> totals((pairs_.size() + kChunk - 1) / kChunk, 0.0);
  parallel_for(totals.size(), threads_, [&](std::size_t chunk) {
    for (std::size_t p = chunk * kChunk; p < std::min(pairs_.size(), (chunk + 1) * kChunk); ++p) {
      Pair& pair = pairs_[p];
      pair.weight = pair.initial * std::exp(-pair.distance * (scores[pair.above] - scores[pair.below]));
      totals[chunk] += pair.weight;
    }
  });
  total_ = std::accumulate(totals.begin(), totals.end(), 0.0);
  return total_ < std::numeric_limits<double>::max();
}

StumpSums PairWeights::stump_sums() const {
  StumpSums sums{empty_codes(*features_), empty_codes(*features_)};
  parallel_for(features_->feature_count(), threads_, [&](std::size_t f) {
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
  });
  return {sums_above(std::move(sums.numerator)), sums_above(std::move(sums.denominator))};
}

}  // namespace metafuse::fusion::mpboost
