#include "fusion/rankboost/histogram.h"

#include <algorithm>

#include "core/parallel.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::size_t kLanes = 4;  // interleaved, so that equal codes in a row do not wait for each other
constexpr std::size_t kSparseDivisor = 4;  // rarer than one in so many: the ranked documents are listed

void add_dense(const std::uint8_t* codes, const std::int64_t* potentials, std::size_t count,
               std::int64_t* sums, std::size_t size) {
  std::int64_t lanes[kLanes][256] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    lanes[0][codes[i]] += potentials[i];
    lanes[1][codes[i + 1]] += potentials[i + 1];
    lanes[2][codes[i + 2]] += potentials[i + 2];
    lanes[3][codes[i + 3]] += potentials[i + 3];
  }
  for (; i < count; ++i) lanes[0][codes[i]] += potentials[i];
  for (std::size_t code = 1; code < size; ++code)
    sums[code] = lanes[0][code] + lanes[1][code] + lanes[2][code] + lanes[3][code];
}

}  // namespace

Histograms::Histograms(const CodedFeatures& features)
    : features_(&features), sparse_(features.feature_count()) {
  starts_.push_back(0);
  const std::size_t documents = features.document_count();
  for (std::size_t feature = 0; feature < features.feature_count(); ++feature) {
    starts_.push_back(starts_.back() + features.thresholds(feature).size() + 1);
    if (documents == 0 || !features.is_byte(feature)) continue;
    const std::uint8_t* codes = features.bytes(feature);
    const auto ranked = documents - static_cast<std::size_t>(std::count(codes, codes + documents, 0));
    if (ranked * kSparseDivisor > documents) continue;
    Sparse& sparse = sparse_[feature];
    sparse.rows.reserve(ranked);
    sparse.codes.reserve(ranked);
    for (std::uint32_t row = 0; row < documents; ++row) {
      if (codes[row] == 0) continue;
      sparse.rows.push_back(row);
      sparse.codes.push_back(codes[row]);
    }
  }
  sums_.assign(starts_.back(), 0);
}

void Histograms::fill_one(std::size_t feature, std::span<const std::int64_t> potentials) {
  std::int64_t* const sums = sums_.data() + starts_[feature];
  const std::size_t size = starts_[feature + 1] - starts_[feature];
  std::fill(sums, sums + size, 0);
  if (features_->document_count() == 0 || size <= 1) return;
  if (const Sparse& sparse = sparse_[feature]; !sparse.rows.empty()) {
    for (std::size_t i = 0; i < sparse.rows.size(); ++i) sums[sparse.codes[i]] += potentials[sparse.rows[i]];
    return;
  }
  if (features_->is_byte(feature)) {
    add_dense(features_->bytes(feature), potentials.data(), potentials.size(), sums, size);
    return;
  }
  const std::uint32_t* const codes = features_->words(feature);
  for (std::size_t i = 0; i < potentials.size(); ++i) sums[codes[i]] += potentials[i];
  sums[0] = 0;
}

void Histograms::fill(std::span<const std::size_t> features, std::span<const std::int64_t> potentials,
                      unsigned threads) {
  parallel_for(features.size(), threads, [&](std::size_t i) { fill_one(features[i], potentials); });
}

}  // namespace metafuse::fusion::rankboost
