// The loops over documents that make and sum pushes.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/simd.h"
#include "fusion/learners/monotone_trees/boost.h"

namespace metafuse::fusion::monotone_trees {

namespace {

constexpr std::size_t kLanes = 2;  // copies of the sums, so that equal codes in a row need not wait
constexpr std::size_t kCodes = 256;

/// The pushes of pairs on their high documents.
METAFUSE_CLONES void set_terms(std::span<const DrawnPair> pairs, std::span<const double> powers,
                               Push* terms) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double wrong = 1.0 / (1.0 + powers[i]);
    // (d1 - d0)^2 <= 2 d1^2 + 2 d0^2, so the pair's second derivative is bounded by a term for each document.
    terms[i] = {pairs[i].weight * wrong, 2.0 * pairs[i].weight * wrong * (1.0 - wrong)};
  }
}

/// Adds all documents to the sums of some columns. Their codes are read eight at a time, since single bytes
/// would take more time than the additions.
template <std::size_t kColumns>
void add_all(std::span<const PushColumn> columns, std::span<const WholePush> pushes) {
  WholePush lanes[kColumns][kLanes][kCodes] = {};
  std::size_t document = 0;
  for (; document + 8 <= pushes.size(); document += 8) {
    std::uint64_t codes[kColumns];
    for (std::size_t c = 0; c < kColumns; ++c)
      std::memcpy(&codes[c], columns[c].codes + document, sizeof codes[c]);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      const WholePush push = pushes[document + i];
#pragma GCC unroll 8
      for (std::size_t c = 0; c < kColumns; ++c) lanes[c][i % kLanes][codes[c] >> (8 * i) & 0xff] += push;
    }
  }
  for (; document < pushes.size(); ++document)
    for (std::size_t c = 0; c < kColumns; ++c) lanes[c][0][columns[c].codes[document]] += pushes[document];
  for (std::size_t c = 0; c < kColumns; ++c)
    for (const auto& lane : lanes[c])
      for (std::size_t code = 0; code < columns[c].sums.size(); ++code) columns[c].sums[code] += lane[code];
}

/// Adds some documents to the sums of some columns.
template <std::size_t kColumns>
void add_some(std::span<const PushColumn> columns, std::span<const std::uint32_t> documents,
              const WholePush* pushes) {
  const std::uint8_t* codes[kColumns];
  WholePush* sums[kColumns];
  for (std::size_t c = 0; c < kColumns; ++c) {
    codes[c] = columns[c].codes;
    sums[c] = columns[c].sums.data();
  }
  for (const std::uint32_t document : documents) {
    const WholePush push = pushes[document];
    for (std::size_t c = 0; c < kColumns; ++c) sums[c][codes[c][document]] += push;
  }
}

/// Calls add with the next columns as long as there are kColumns.
/// out: the other columns
template <std::size_t kColumns, class Add>
std::span<const PushColumn> in_groups(std::span<const PushColumn> columns, const Add& add) {
  for (; columns.size() >= kColumns; columns = columns.subspan(kColumns)) add(columns.first(kColumns));
  return columns;
}

}  // namespace

WholePush round_pushes(std::span<const Push> pushes, std::span<WholePush> whole) {
  WholePush total;
  for (std::size_t i = 0; i < pushes.size(); ++i) {
    whole[i] = {std::llrint(pushes[i].potential * kPushScale), std::llrint(pushes[i].curvature * kPushScale)};
    total += whole[i];
  }
  return total;
}

void push_pairs(std::span<const DrawnPair> pairs, std::span<const double> powers, std::span<Push> pushes) {
  constexpr std::size_t kBlock = 64;
  Push terms[kBlock];
  for (std::size_t begin = 0; begin < pairs.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, pairs.size() - begin);
    set_terms(pairs.subspan(begin, count), powers.subspan(begin), terms);
    for (std::size_t i = 0; i < count; ++i) {
      Push& high = pushes[pairs[begin + i].high];
      Push& low = pushes[pairs[begin + i].low];
      high.potential += terms[i].potential;
      high.curvature += terms[i].curvature;
      low.potential -= terms[i].potential;
      low.curvature += terms[i].curvature;
    }
  }
}

void sum_pushes(std::span<const PushColumn> columns, std::span<const std::uint32_t> documents,
                std::span<const WholePush> pushes) {
  if (documents.size() == pushes.size()) {
    columns = in_groups<4>(columns, [&](auto group) { add_all<4>(group, pushes); });
    columns = in_groups<2>(columns, [&](auto group) { add_all<2>(group, pushes); });
    in_groups<1>(columns, [&](auto group) { add_all<1>(group, pushes); });
  } else {
    columns = in_groups<8>(columns, [&](auto group) { add_some<8>(group, documents, pushes.data()); });
    columns = in_groups<4>(columns, [&](auto group) { add_some<4>(group, documents, pushes.data()); });
    in_groups<1>(columns, [&](auto group) { add_some<1>(group, documents, pushes.data()); });
  }
}

}  // namespace metafuse::fusion::monotone_trees
