#include "fusion/rankboost/histogram.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::size_t kBlockRows =
    8192;  // potentials of so many rows stay in the cache for a batch of features
constexpr std::size_t kSparseDivisor = 4;  // rarer than one in so many: the ranked documents are listed

/// Four interleaved histograms, so that equal codes in a row do not wait for each other.
struct Lanes {
  std::int64_t sums[4][256];
};

void add_dense(const std::uint8_t* codes, const std::int64_t* potentials, std::size_t count, Lanes& lanes) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, codes + i, 8);
    lanes.sums[0][eight & 0xff] += potentials[i];
    lanes.sums[1][eight >> 8 & 0xff] += potentials[i + 1];
    lanes.sums[2][eight >> 16 & 0xff] += potentials[i + 2];
    lanes.sums[3][eight >> 24 & 0xff] += potentials[i + 3];
    lanes.sums[0][eight >> 32 & 0xff] += potentials[i + 4];
    lanes.sums[1][eight >> 40 & 0xff] += potentials[i + 5];
    lanes.sums[2][eight >> 48 & 0xff] += potentials[i + 6];
    lanes.sums[3][eight >> 56] += potentials[i + 7];
  }
  for (; i < count; ++i) lanes.sums[0][codes[i]] += potentials[i];
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

bool Histograms::is_dense(std::size_t feature) const {
  return features_->document_count() > 0 && features_->is_byte(feature) && sparse_[feature].rows.empty();
}

void Histograms::fill_others(std::size_t feature, std::span<const std::int64_t> potentials) {
  std::int64_t* const sums = sums_.data() + starts_[feature];
  const std::size_t size = starts_[feature + 1] - starts_[feature];
  std::fill(sums, sums + size, 0);
  if (features_->document_count() == 0 || size <= 1) return;
  if (const Sparse& sparse = sparse_[feature]; !sparse.rows.empty()) {
    for (std::size_t i = 0; i < sparse.rows.size(); ++i) sums[sparse.codes[i]] += potentials[sparse.rows[i]];
    return;
  }
  const std::uint32_t* const codes = features_->words(feature);
  for (std::size_t i = 0; i < potentials.size(); ++i) sums[codes[i]] += potentials[i];
  sums[0] = 0;
}

void Histograms::fill_dense(std::span<const std::size_t> features, std::span<const std::int64_t> potentials) {
  std::vector<Lanes> lanes(features.size());  // zeroed
  for (std::size_t begin = 0; begin < potentials.size(); begin += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, potentials.size() - begin);
    for (std::size_t i = 0; i < features.size(); ++i)
      add_dense(features_->bytes(features[i]) + begin, potentials.data() + begin, count, lanes[i]);
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    std::int64_t* const sums = sums_.data() + starts_[features[i]];
    const std::size_t size = starts_[features[i] + 1] - starts_[features[i]];
    sums[0] = 0;
    for (std::size_t code = 1; code < size; ++code)
      sums[code] =
          lanes[i].sums[0][code] + lanes[i].sums[1][code] + lanes[i].sums[2][code] + lanes[i].sums[3][code];
  }
}

void Histograms::fill(std::span<const std::size_t> features, std::span<const std::int64_t> potentials,
                      unsigned threads) {
  std::vector<std::size_t> dense;
  std::vector<std::size_t> others;
  for (const std::size_t feature : features) (is_dense(feature) ? dense : others).push_back(feature);
  const std::size_t parts = std::max<std::size_t>(std::min<std::size_t>(threads, dense.size()), 1);
  parallel_for(parts, threads, [&](std::size_t part) {
    const std::size_t begin = dense.size() * part / parts;
    const std::size_t end = dense.size() * (part + 1) / parts;
    fill_dense(std::span(dense).subspan(begin, end - begin), potentials);
  });
  parallel_for(others.size(), threads, [&](std::size_t i) { fill_others(others[i], potentials); });
}

}  // namespace metafuse::fusion::rankboost
