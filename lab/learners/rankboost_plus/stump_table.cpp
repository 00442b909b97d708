#include "lab/learners/rankboost_plus/stump_table.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/contract.h"
#include "core/parallel.h"

namespace metafuse::lab::rankboost_plus {
namespace {

// With fewer ranked cells than this, another thread costs more than it saves.
constexpr std::size_t kHoldersAThread = std::size_t{1} << 17;

/// The thresholds to keep out of `count`, ascending: all, or a random subset.
std::vector<std::uint32_t> kept_levels(std::size_t count, std::size_t most, Random& random) {
  std::vector<std::uint32_t> levels(count);
  std::iota(levels.begin(), levels.end(), 0U);
  if (count <= most) return levels;
  random.shuffle(levels);
  levels.resize(most);
  std::sort(levels.begin(), levels.end());
  return levels;
}

/// Adds up four independent partial sums, so that no addition waits for the previous one.
double sum_of(const std::vector<double>& values, const std::uint32_t* documents, std::size_t count) {
  double part[4] = {0.0, 0.0, 0.0, 0.0};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) part[lane] += values[documents[i + lane]];
  for (; i < count; ++i) part[0] += values[documents[i]];
  return (part[0] + part[1]) + (part[2] + part[3]);
}

}  // namespace

StumpTable::StumpTable(const CodedFeatures& features, std::size_t max_thresholds, Random random)
    : documents_(features.document_count()),
      features_(features.feature_count()),
      codes_(documents_ * features_, 0),
      bucket_{0} {
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max() - 1;
  for (std::uint32_t f = 0; f < features_; ++f) {
    const Thresholds& thresholds = features.thresholds(f);
    const std::size_t most = std::min(max_thresholds, kMost);
    const std::vector<std::uint32_t> levels = kept_levels(thresholds.size(), most, random);
    if (levels.size() < thresholds.size()) reduced_.push_back(f);
    // How many kept thresholds each code exceeds.
    std::vector<std::uint16_t> new_code(thresholds.size() + 1, 0);
    for (std::size_t code = 0, kept = 0; code <= thresholds.size(); ++code) {
      while (kept < levels.size() && levels[kept] < code) ++kept;
      new_code[code] = static_cast<std::uint16_t>(kept);
    }
    std::vector<std::size_t> count(levels.size() + 1, 0);
    for (std::size_t x = 0; x < documents_; ++x) {
      const std::uint16_t code = new_code[features.code(x, f)];
      codes_[f * documents_ + x] = code;
      ++count[code];
    }
    std::size_t firing = 0;
    for (std::size_t level = levels.size(); level-- > 0;) {
      firing += count[level + 1];
      if (firing > 0 && firing < documents_)
        stumps_.push_back({f, static_cast<std::uint32_t>(level), levels[level]});
    }
    bucket_.push_back(bucket_.back() + levels.size() + 1);
  }
  fill_holders();
}

void StumpTable::fill_holders() {
  first_.assign(bucket_.back() + 1, 0);
  const auto bucket_of = [&](std::size_t f, std::size_t x) {
    return bucket_[f] + codes_[f * documents_ + x];
  };
  for (std::size_t f = 0; f < features_; ++f)
    for (std::size_t x = 0; x < documents_; ++x)
      if (const std::size_t bucket = bucket_of(f, x); bucket > bucket_[f]) ++first_[bucket + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  holders_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  for (std::size_t f = 0; f < features_; ++f)
    for (std::size_t x = 0; x < documents_; ++x)
      if (const std::size_t bucket = bucket_of(f, x); bucket > bucket_[f])
        holders_[next[bucket]++] = static_cast<std::uint32_t>(x);
}

std::vector<std::uint8_t> StumpTable::firing(std::size_t stump) const {
  const std::uint16_t* codes = codes_.data() + stumps_[stump].feature * documents_;
  const auto level = static_cast<std::uint16_t>(stumps_[stump].level);
  std::vector<std::uint8_t> fires(documents_);
  for (std::size_t x = 0; x < documents_; ++x) fires[x] = codes[x] > level ? 1 : 0;
  return fires;
}

std::vector<double> StumpTable::sums_where_fires(const std::vector<double>& values, unsigned threads) const {
  require(values.size() == documents_, "one value per document");
  std::vector<double> above(bucket_.back(), 0.0);  // by bucket: the sum of its feature's higher buckets
  const unsigned useful = holders_.size() < kHoldersAThread ? 1 : threads;
  parallel_for(features_, useful, [&](std::size_t f) {
    double sum = 0.0;
    for (std::size_t b = bucket_[f + 1]; b-- > bucket_[f];) {
      above[b] = sum;
      sum += sum_of(values, holders_.data() + first_[b], first_[b + 1] - first_[b]);
    }
  });
  std::vector<double> sums(stumps_.size());
  for (std::size_t s = 0; s < stumps_.size(); ++s)
    sums[s] = above[bucket_[stumps_[s].feature] + stumps_[s].level];
  return sums;
}

}  // namespace metafuse::lab::rankboost_plus
