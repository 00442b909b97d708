#include "fusion/rankboost_plus/stump_table.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/contract.h"

namespace metafuse::fusion::rankboost_plus {
namespace {

/// Which of `count` thresholds are kept, ascending: all, or a random subset.
std::vector<std::uint32_t> kept_levels(std::size_t count, std::size_t most, Random& random) {
  std::vector<std::uint32_t> levels(count);
  std::iota(levels.begin(), levels.end(), 0U);
  if (count <= most) return levels;
  random.shuffle(levels);
  levels.resize(most);
  std::sort(levels.begin(), levels.end());
  return levels;
}

}  // namespace

StumpTable::StumpTable(const CodedFeatures& features, std::size_t max_thresholds, Random random)
    : documents_(features.document_count()),
      features_(features.feature_count()),
      codes_(documents_ * features_, 0),
      bucket_{0},
      kept_(features_) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max() - 1;
  for (std::uint32_t f = 0; f < features_; ++f) {
    const Thresholds& thresholds = features.thresholds(f);
    const std::size_t most = std::min(max_thresholds, kMost);
    const std::vector<std::uint32_t> levels = kept_levels(thresholds.size(), most, random);
    if (levels.size() < thresholds.size()) reduced_.push_back(f);
    std::vector<std::uint16_t> new_code(thresholds.size() + 1, 0);  // how many kept thresholds a code exceeds
    for (std::size_t code = 0, kept = 0; code <= thresholds.size(); ++code) {
      while (kept < levels.size() && levels[kept] < code) ++kept;
      new_code[code] = static_cast<std::uint16_t>(kept);
    }
    std::vector<std::size_t> count(levels.size() + 1, 0);
    for (std::size_t x = 0; x < documents_; ++x) {
      const std::uint16_t code = new_code[features.code(x, f)];
      codes_[x * features_ + f] = code;
      ++count[code];
    }
    for (const std::uint32_t level : levels) kept_[f].push_back(thresholds.values[level]);
    std::size_t firing = 0;
    for (std::size_t level = levels.size(); level-- > 0;) {
      firing += count[level + 1];
      if (firing > 0 && firing < documents_)
        stumps_.push_back({f, static_cast<std::uint32_t>(level), kept_[f][level]});
    }
    bucket_.push_back(bucket_.back() + levels.size() + 1);
  }
}

std::vector<double> StumpTable::sums_where_fires(const std::vector<double>& values) const {
  require(values.size() == documents_, "one value a document");
  std::vector<double> buckets(bucket_.back(), 0.0);
  const std::uint16_t* code = codes_.data();
  for (std::size_t x = 0; x < documents_; ++x, code += features_) {
    const double value = values[x];
    if (value == 0.0) continue;
    for (std::size_t f = 0; f < features_; ++f) buckets[bucket_[f] + code[f]] += value;
  }
  std::vector<double> above(buckets.size(),
                            0.0);  // of bucket b: the sum of the buckets of its feature above b
  for (std::size_t f = 0; f < features_; ++f) {
    double sum = 0.0;
    for (std::size_t b = bucket_[f + 1]; b-- > bucket_[f];) {
      above[b] = sum;
      sum += buckets[b];
    }
  }
  std::vector<double> sums(stumps_.size());
  for (std::size_t s = 0; s < stumps_.size(); ++s)
    sums[s] = above[bucket_[stumps_[s].feature] + stumps_[s].level];
  return sums;
}

}  // namespace metafuse::fusion::rankboost_plus
