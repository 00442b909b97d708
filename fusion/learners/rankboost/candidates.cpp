#include "fusion/learners/rankboost/candidates.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/parallel.h"
#include "fusion/learners/rankboost/joint_sums.h"

namespace metafuse::fusion::rankboost {
namespace {

// The potentials of one block of rows stay in the second-level cache, together with the lanes of the group of
// features that is summed over them. If all rows fit in one block, a smaller group is faster.
constexpr std::size_t kBlockRows = 32768;
constexpr std::size_t kGroup = 16;
constexpr std::size_t kGroupOfOneBlock = 4;
constexpr std::size_t kPairGroup = 4;      // pairs of features, whose tables are larger
constexpr std::size_t kSparseDivisor = 4;  // a feature that ranks at most 1/4 of the rows is stored sparsely
constexpr std::size_t kFewRows = 1024;     // with fewer rows, clearing the lanes costs more than they save

/// Four interleaved histograms, so that runs of equal codes do not wait for each other.
struct Lanes {
  std::int64_t sums[4][256];
};

void add_one(const std::uint8_t* codes, const std::int64_t* potentials, std::size_t count, Lanes& lanes) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    std::uint32_t four = 0;
    std::memcpy(&four, codes + i, 4);
    lanes.sums[0][four & 0xff] += potentials[i];
    lanes.sums[1][four >> 8 & 0xff] += potentials[i + 1];
    lanes.sums[2][four >> 16 & 0xff] += potentials[i + 2];
    lanes.sums[3][four >> 24] += potentials[i + 3];
  }
  for (; i < count; ++i) lanes.sums[0][codes[i]] += potentials[i];
}

/// Sums two features at once, so that each potential is loaded once for both.
void add_two(const std::uint8_t* first, const std::uint8_t* second, const std::int64_t* potentials,
             std::size_t count, Lanes& first_lanes, Lanes& second_lanes) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::memcpy(&a, first + i, 4);
    std::memcpy(&b, second + i, 4);
    const std::int64_t potential[4] = {potentials[i], potentials[i + 1], potentials[i + 2],
                                       potentials[i + 3]};
    first_lanes.sums[0][a & 0xff] += potential[0];
    second_lanes.sums[0][b & 0xff] += potential[0];
    first_lanes.sums[1][a >> 8 & 0xff] += potential[1];
    second_lanes.sums[1][b >> 8 & 0xff] += potential[1];
    first_lanes.sums[2][a >> 16 & 0xff] += potential[2];
    second_lanes.sums[2][b >> 16 & 0xff] += potential[2];
    first_lanes.sums[3][a >> 24] += potential[3];
    second_lanes.sums[3][b >> 24] += potential[3];
  }
  add_one(first + i, potentials + i, count - i, first_lanes);
  add_one(second + i, potentials + i, count - i, second_lanes);
}

}  // namespace

CumulativeWeights::CumulativeWeights(const CodedFeatures& features) {
  starts_.push_back(0);
  for (std::size_t i = 0; i < features.feature_count(); ++i)
    starts_.push_back(starts_.back() + 2 * (features.thresholds(i).size() + 1));
  weights_.assign(starts_.back(), 0.0);
}

CodedRanking Problem::ranking_of(const Candidate& candidate) const {
  const Thresholds& thresholds = features.thresholds(candidate.feature);
  CodedRanking ranking{&features, candidate.feature, {static_cast<double>(candidate.q_default)}};
  const double span = thresholds.highest - thresholds.lowest;
  for (std::size_t code = 1; code <= thresholds.size(); ++code) {
    if (!options.is_value)
      ranking.values.push_back(code > candidate.threshold ? 1.0 : 0.0);
    else
      ranking.values.push_back(span > 0.0 ? (thresholds.fires_from[code - 1] - thresholds.lowest) / span
                                          : 0.0);
  }
  return ranking;
}

bool Problem::is_admissible(const Candidate& candidate, const RoundState& round,
                            double surely_positive) const {
  if (!options.weak_learner.is_cumulative || candidate.r > surely_positive) return true;
  const double so_far = round.weights.at(candidate.feature, candidate.threshold, candidate.q_default);
  return so_far > 0.0 && so_far + round.alpha_of(candidate) > 0.0;
}

void FeatureSearch::start(std::size_t features) {
  waiting_.resize(features);
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  best_of_.assign(features, -1.0);
  best_ = -1.0;
}

Histograms::Histograms(const CodedFeatures& features, RowRange rows, Communicator* communicator)
    : features_(&features), rows_(rows), communicator_(communicator), sparse_(features.feature_count()) {
  starts_.push_back(0);
  const std::size_t documents = rows.count();
  for (std::size_t feature = 0; feature < features.feature_count(); ++feature) {
    starts_.push_back(starts_.back() + features.thresholds(feature).size() + 1);
    if (documents == 0 || !features.is_byte(feature) || features.is_in_file()) continue;
    const std::span codes(bytes(feature), documents);
    const auto ranked = documents - static_cast<std::size_t>(std::count(codes.begin(), codes.end(), 0));
    if (ranked * kSparseDivisor <= documents) sparse_[feature] = sparse_of(codes);
  }
  sums_.assign(starts_.back(), 0);
}

Histograms::Sparse Histograms::sparse_of(std::span<const std::uint8_t> codes) {
  constexpr std::size_t kFurthest = 255;
  Sparse sparse;
  std::size_t last = 0;  // row of the last entry; the first row is reached by a step of 0
  for (std::size_t row = 0; row < codes.size(); ++row) {
    if (codes[row] == 0 && row - last < kFurthest) continue;
    sparse.steps.push_back(static_cast<std::uint8_t>(row - last));
    sparse.codes.push_back(codes[row]);
    last = row;
  }
  sparse.steps.shrink_to_fit();
  sparse.codes.shrink_to_fit();
  return sparse;
}

bool Histograms::is_dense(std::size_t feature) const {
  return rows_.count() >= kFewRows && features_->is_byte(feature) && sparse_[feature].steps.empty();
}

void Histograms::fill_others(std::size_t feature, std::span<const std::int64_t> potentials) {
  std::int64_t* const sums = sums_.data() + starts_[feature];
  const std::size_t size = starts_[feature + 1] - starts_[feature];
  std::fill(sums, sums + size, 0);
  if (rows_.count() == 0 || size <= 1) return;
  if (const Sparse& sparse = sparse_[feature]; !sparse.steps.empty()) {
    const std::int64_t* potential = potentials.data();
    for (std::size_t i = 0; i < sparse.steps.size(); ++i)
      sums[sparse.codes[i]] += *(potential += sparse.steps[i]);
    sums[0] = 0;
    return;
  }
  for (std::size_t i = 0; i < potentials.size(); ++i)
    sums[features_->code(rows_.begin + i, feature)] += potentials[i];
  sums[0] = 0;
}

void Histograms::fill_dense(std::span<const std::size_t> features, std::span<const std::int64_t> potentials) {
  std::vector<Lanes> lanes(features.size());  // zeroed
  for (const std::size_t feature : features) features_->expect(feature);
  for (std::size_t begin = 0; begin < potentials.size(); begin += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, potentials.size() - begin);
    const std::int64_t* const block = potentials.data() + begin;
    const auto codes = [&](std::size_t i) { return bytes(features[i]) + begin; };
    std::size_t i = 0;
    for (; i + 2 <= features.size(); i += 2)
      add_two(codes(i), codes(i + 1), block, count, lanes[i], lanes[i + 1]);
    if (i < features.size()) add_one(codes(i), block, count, lanes[i]);
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

void Histograms::fill_pairs(std::span<const FeaturePair> pairs, std::span<const std::int64_t> potentials) {
  std::vector<JointSums> sums;
  for (const FeaturePair& pair : pairs) {
    sums.emplace_back(size_of(pair.first), size_of(pair.second));
    features_->expect(pair.first);
    features_->expect(pair.second);
  }
  for (std::size_t begin = 0; begin < potentials.size(); begin += kBlockRows)
    for (std::size_t i = 0; i < pairs.size(); ++i)
      sums[i].add(bytes(pairs[i].first) + begin, bytes(pairs[i].second) + begin, potentials.data() + begin,
                  std::min(kBlockRows, potentials.size() - begin));
  for (std::size_t i = 0; i < pairs.size(); ++i)
    sums[i].write(sums_.data() + starts_[pairs[i].first], sums_.data() + starts_[pairs[i].second]);
}

void Histograms::fill(std::span<const std::size_t> features, std::span<const std::int64_t> potentials,
                      unsigned threads) {
  potentials = potentials.subspan(rows_.begin, rows_.count());
  std::vector<std::size_t> dense;
  std::vector<std::size_t> codes;
  std::vector<std::size_t> others;
  for (const std::size_t feature : features) {
    (is_dense(feature) ? dense : others).push_back(feature);
    if (is_dense(feature)) codes.push_back(size_of(feature));
  }
  const auto [pairs, singles] = pair_features(dense, codes, potentials.size());
  const std::size_t most = potentials.size() > kBlockRows ? kGroup : kGroupOfOneBlock;
  const std::size_t groups = threads * ((singles.size() + most * threads - 1) / (most * threads));
  const std::size_t pair_groups =
      std::min(pairs.size(), threads * ((pairs.size() + kPairGroup * threads - 1) / (kPairGroup * threads)));
  const auto bound = [count = singles.size(), groups](std::size_t group) {
    return group == groups ? count : count * group / groups / 2 * 2;  // even: two cost less together
  };
  parallel_for(groups + pair_groups + others.size(), threads,
               [&, &pairs = pairs, &singles = singles](std::size_t i) {
                 if (i < groups) {
                   fill_dense(std::span(singles).subspan(bound(i), bound(i + 1) - bound(i)), potentials);
                 } else if (i < groups + pair_groups) {
                   const std::size_t begin = pairs.size() * (i - groups) / pair_groups;
                   const std::size_t end = pairs.size() * (i - groups + 1) / pair_groups;
                   fill_pairs(std::span(pairs).subspan(begin, end - begin), potentials);
                 } else {
                   fill_others(others[i - groups - pair_groups], potentials);
                 }
               });
  if (communicator_ != nullptr) add_up_ranks(features);
}

void Histograms::add_up_ranks(std::span<const std::size_t> features) {
  std::vector<std::int64_t> packed;
  for (const std::size_t feature : features) {
    const auto own = of(feature);
    packed.insert(packed.end(), own.begin(), own.end());
  }
  communicator_->sum(packed);
  auto from = packed.begin();
  for (const std::size_t feature : features)
    for (std::size_t at = starts_[feature]; at < starts_[feature + 1]; ++at) sums_[at] = *from++;
}

}  // namespace metafuse::fusion::rankboost
