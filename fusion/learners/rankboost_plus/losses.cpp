#include "fusion/learners/rankboost_plus/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.h"

namespace metafuse::fusion::rankboost_plus {
namespace {

// Two scores tie when they differ by no more than this share of the larger size (or of 1).
constexpr double kTie = 1e-12;

struct Counts {
  std::uint32_t reversed = 0;
  std::uint32_t tied = 0;
};

Counts count_row(double above, const double* below, std::size_t count) {
  Counts counts;
  for (std::size_t j = 0; j < count; ++j) {
    const double slack = kTie * std::max(std::max(1.0, std::abs(above)), std::abs(below[j]));
    const double margin = above - below[j];
    counts.reversed += margin < -slack ? 1U : 0U;
    counts.tied += std::abs(margin) <= slack ? 1U : 0U;
  }
  return counts;
}

}  // namespace

RankLosses rank_losses(const PairRows& pairs, const std::vector<double>& scores, unsigned threads) {
  std::vector<double> below(pairs.below.size());
  for (std::size_t k = 0; k < below.size(); ++k) below[k] = scores[pairs.below[k]];
  // Of each class: its highest score c and the sum of exp(score - c).
  std::vector<double> highest(pairs.classes.size());
  std::vector<double> mass(pairs.classes.size(), 0.0);
  for (std::size_t c = 0; c < pairs.classes.size(); ++c) {
    const double* first = below.data() + pairs.classes[c].first;
    highest[c] = *std::max_element(first, first + pairs.classes[c].count);
    for (std::uint32_t j = 0; j < pairs.classes[c].count; ++j) mass[c] += std::exp(first[j] - highest[c]);
  }
  std::vector<RankLosses> parts(pairs.chunks.size(), RankLosses{0.0, 0.0, 0.0});
  parallel_for(parts.size(), useful_threads(pairs, threads), [&](std::size_t c) {
    for (std::size_t r = pairs.chunks[c].first; r < pairs.chunks[c].end; ++r) {
      const PairRow& row = pairs.rows[r];
      const BelowClass& slice = pairs.classes[row.below_class];
      const double above = scores[row.above];
      const Counts counts = count_row(above, below.data() + slice.first, slice.count);
      parts[c].r1 += row.initial * (counts.reversed + counts.tied);
      parts[c].r2 += row.initial * (counts.reversed + 0.5 * counts.tied);
      parts[c].e1 += row.initial * mass[row.below_class] * std::exp(highest[row.below_class] - above);
    }
  });
  RankLosses losses;
  for (const RankLosses& part : parts) {
    losses.r1 += part.r1;
    losses.r2 += part.r2;
    losses.e1 += part.e1;
  }
  if (!(losses.e1 < std::numeric_limits<double>::max())) losses.e1 = std::numeric_limits<double>::max();
  return losses;
}

}  // namespace metafuse::fusion::rankboost_plus
