#include "fusion/learners/adaboost_mh/histogram.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

namespace metafuse::fusion::adaboost_mh {
namespace {

double worth_of(const double* below, const double* totals, std::size_t stride) {
  double sum = 0.0;
  for (std::size_t l = 0; l < stride; ++l) sum += std::abs(totals[l] - 2.0 * below[l]);
  return sum;
}

/// Worth of every cut of a feature, by its index.
void scan(const Histogram& histogram, std::size_t feature, std::span<const double> totals,
          std::vector<double>& worths) {
  const std::size_t stride = histogram.stride();
  const std::size_t cuts = histogram.codes(feature) - 1;
  worths.resize(cuts);
  double below[64] = {};
  for (std::size_t index = 0; index < cuts; ++index) {
    const double* cell = histogram.cell(feature, index);
    for (std::size_t l = 0; l < stride; ++l) below[l] += cell[l];
    worths[index] = worth_of(below, totals.data(), stride);
  }
}

}  // namespace

Histogram::Histogram(const CodedFeatures& features, std::size_t stride)
    : features_(&features), stride_(stride) {
  std::size_t cells = 0;
  for (std::size_t f = 0; f < features.feature_count(); ++f) {
    starts_.push_back(cells);
    cells += codes(f);
  }
  sums_.resize(cells * stride);
}

void Histogram::fill(const SignedWeights& weights, std::span<const std::uint32_t> documents,
                     std::span<const double> signs, unsigned threads) {
  // With fewer additions than this, starting a thread costs more than it saves.
  constexpr std::size_t kWorthThreads = 1U << 18;
  std::fill(sums_.begin(), sums_.end(), 0.0);
  const bool is_worth = documents.size() * feature_count() >= kWorthThreads;
  parallel_for(feature_count(), is_worth ? threads : 1,
               [&](std::size_t f) { fill_feature(f, weights, documents, signs); });
}

void Histogram::fill_feature(std::size_t feature, const SignedWeights& weights,
                             std::span<const std::uint32_t> documents, std::span<const double> signs) {
  const std::uint8_t* codes = features_->bytes(feature);
  double* sums = sums_.data() + starts_[feature] * stride_;
  if (stride_ == 4 && signs.empty()) {
    for (const std::uint32_t document : documents) {
      const double* weight = weights.of(document);
      double* sum = sums + codes[document] * 4U;
      for (std::size_t l = 0; l < 4; ++l) sum[l] += weight[l];
    }
  } else if (stride_ == 4) {
    for (const std::uint32_t document : documents) {
      const double* weight = weights.of(document);
      double* sum = sums + codes[document] * 4U;
      for (std::size_t l = 0; l < 4; ++l) sum[l] += weight[l] * signs[document];
    }
  } else {
    for (const std::uint32_t document : documents) {
      const double* weight = weights.of(document);
      const double sign = signs.empty() ? 1.0 : signs[document];
      double* sum = sums + codes[document] * stride_;
      for (std::size_t l = 0; l < stride_; ++l) sum[l] += weight[l] * sign;
    }
  }
}

void Histogram::subtract(const Histogram& part) {
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] -= part.sums_[i];
}

BestCut best_cut(const Histogram& histogram, std::span<const double> totals) {
  std::vector<double> worths;
  std::vector<double> best(histogram.feature_count(), -1.0);
  double most = -1.0;
  for (std::size_t f = 0; f < histogram.feature_count(); ++f) {
    scan(histogram, f, totals, worths);
    for (const double value : worths) best[f] = std::max(best[f], value);
    most = std::max(most, best[f]);
  }
  if (most < 0.0) return {};
  const double enough = most - 1e-9 * most;
  for (std::size_t f = 0; f < histogram.feature_count(); ++f) {
    if (best[f] < enough) continue;
    scan(histogram, f, totals, worths);
    for (std::size_t index = worths.size(); index-- > 0;)
      if (worths[index] >= enough)
        return {true, {static_cast<std::uint32_t>(f), static_cast<std::uint8_t>(index)}, worths[index]};
  }
  return {};
}

}  // namespace metafuse::fusion::adaboost_mh
