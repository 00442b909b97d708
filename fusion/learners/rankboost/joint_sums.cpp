#include "fusion/learners/rankboost/joint_sums.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/contract.h"
#include "core/simd.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::size_t kMostSums = 6700;       // 52 KB: features of 101 and 65 codes, or of 256 and 26
constexpr std::size_t kFewDocuments = 50000;  // with fewer, tables cost more than they save
constexpr std::size_t kLanes = 4;
constexpr std::size_t kAhead = 1024;  // how far ahead codes are fetched, in documents

using EightCodes __attribute__((vector_size(8))) = std::uint8_t;
using EightPlaces __attribute__((vector_size(16))) = std::uint16_t;

struct Tables {
  std::int64_t* first;
  std::int64_t* second;
  std::int64_t* third;
  std::int64_t* fourth;
};

[[gnu::always_inline]] inline void add_four(std::uint64_t places, const std::int64_t* potentials,
                                            const Tables& tables) {
  tables.first[places & 0xffff] += potentials[0];
  tables.second[places >> 16 & 0xffff] += potentials[1];
  tables.third[places >> 32 & 0xffff] += potentials[2];
  tables.fourth[places >> 48] += potentials[3];
}

/// Adds potentials[i] to place second[i] * stride + first[i] of the tables, which take turns. Places leave
/// their vector four at a time: by way of memory they would take the time of another addition.
METAFUSE_CLONES void add_pairs(const std::uint8_t* first, const std::uint8_t* second, std::uint16_t stride,
                               const std::int64_t* potentials, std::size_t count, Tables tables) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __builtin_prefetch(first + i + kAhead);
    __builtin_prefetch(second + i + kAhead);
    EightCodes low;
    EightCodes high;
    std::memcpy(&low, first + i, sizeof low);
    std::memcpy(&high, second + i, sizeof high);
    const EightPlaces places =
        __builtin_convertvector(high, EightPlaces) * stride + __builtin_convertvector(low, EightPlaces);
    std::uint64_t four[2];
    std::memcpy(four, &places, sizeof four);
    add_four(four[0], potentials + i, tables);
    add_four(four[1], potentials + i + 4, tables);
  }
  for (; i < count; ++i) tables.first[std::size_t{second[i]} * stride + first[i]] += potentials[i];
}

}  // namespace

Pairing pair_features(std::span<const std::size_t> features, std::span<const std::size_t> codes,
                      std::size_t documents) {
  Pairing pairing;
  if (documents < kFewDocuments) {
    pairing.singles.assign(features.begin(), features.end());
    return pairing;
  }
  std::vector<std::size_t> order(features.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return codes[i]; });
  std::size_t least = 0;
  for (std::size_t end = order.size(); end > least; --end) {
    const std::size_t large = order[end - 1];
    const std::size_t small = order[least];
    if (large == small || codes[large] * codes[small] > kMostSums) {
      pairing.singles.push_back(features[large]);
      continue;
    }
    pairing.pairs.push_back({features[large], features[small]});
    ++least;
  }
  return pairing;
}

JointSums::JointSums(std::size_t first_codes, std::size_t second_codes)
    : first_codes_(first_codes),
      second_codes_(second_codes),
      lanes_(std::clamp<std::size_t>(kMostSums / (first_codes * second_codes), 1, kLanes)),
      sums_(lanes_ * first_codes * second_codes, 0) {
  require(first_codes * second_codes <= kMostSums, "the place of a pair of codes fits into sixteen bits");
}

void JointSums::add(const std::uint8_t* first, const std::uint8_t* second, const std::int64_t* potentials,
                    std::size_t count) {
  const std::size_t size = first_codes_ * second_codes_;
  const auto table = [&](std::size_t lane) { return sums_.data() + lane % lanes_ * size; };
  add_pairs(first, second, static_cast<std::uint16_t>(first_codes_), potentials, count,
            {table(0), table(1), table(2), table(3)});
}

void JointSums::write(std::int64_t* first_sums, std::int64_t* second_sums) const {
  std::fill(first_sums, first_sums + first_codes_, 0);
  std::fill(second_sums, second_sums + second_codes_, 0);
  const std::int64_t* sum = sums_.data();
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    for (std::size_t second = 0; second < second_codes_; ++second)
      for (std::size_t first = 0; first < first_codes_; ++first) {
        first_sums[first] += *sum;
        second_sums[second] += *sum++;
      }
  first_sums[0] = 0;
  second_sums[0] = 0;
}

}  // namespace metafuse::fusion::rankboost
