#include "fusion/data/fused_order.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/contract.h"
#include "evaluation/measures/discounted_gain.h"
#include "fusion/data/features.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kBuckets = 256;
constexpr std::size_t kFew = 1024;
constexpr std::size_t kBytesOfFew = 3;  // enough to tell most of a few numbers apart

/// One stable radix pass by one byte of every number.
void sort_by_byte(const std::vector<std::uint64_t>& from, unsigned shift, std::vector<std::uint64_t>& to) {
  std::uint32_t next[kBuckets] = {};
  for (const std::uint64_t number : from) ++next[number >> shift & 0xff];
  std::uint32_t begin = 0;
  for (std::uint32_t& place : next) begin += std::exchange(place, begin);
  for (const std::uint64_t number : from) to[next[number >> shift & 0xff]++] = number;
}

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

Standing standing_of(const FeatureMatrix& matrix, std::size_t row) {
  Standing standing;
  for (std::size_t f = 0; f < matrix.feature_count(); ++f) {
    if (matrix.is_unranked(row, f)) continue;
    const bool is_rank = matrix.features()[f].kind == FeatureKind::rank;
    standing.add(is_rank ? whole_rank(-matrix.value(row, f)) : Standing::kNever);
  }
  return standing;
}

/// DCG at 1..depth of grades in the given order.
std::vector<double> dcg(const std::vector<double>& grades, std::size_t depth) {
  std::vector<double> sums;
  double sum = 0.0;
  for (std::size_t place = 1; place <= depth; ++place) {
    if (place <= grades.size())
      sum += evaluation::exponential_gain(grades[place - 1]) / evaluation::burges_discount(place);
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

std::uint64_t ordered_bits(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double number_of_ordered_bits(std::uint64_t bits) {
  return std::bit_cast<double>((bits & kSign) != 0 ? bits & ~kSign : ~bits);
}

unsigned sort_prefixes(std::vector<std::uint64_t>& numbers) {
  if (std::is_sorted(numbers.begin(), numbers.end())) return kPlaceBits;
  std::uint64_t differing = 0;
  for (const std::uint64_t number : numbers) differing |= number ^ numbers.front();
  const std::size_t most = numbers.size() > kFew ? 8 : kBytesOfFew;
  std::size_t passes = 0;
  unsigned lowest = 64;
  for (unsigned shift = 56; shift >= kPlaceBits && passes < most; shift -= 8)
    if ((differing >> shift & 0xff) != 0) {
      ++passes;
      lowest = shift;
    }
  // Measured in nanoseconds: a radix pass costs about 130 plus 2 per number, a comparison about 3.
  if (passes * (2 * numbers.size() + 130) > 3 * numbers.size() * std::bit_width(numbers.size())) {
    std::sort(numbers.begin(), numbers.end());
    return kPlaceBits;
  }
  std::vector<std::uint64_t> other(numbers.size());
  for (unsigned shift = lowest; shift < 64; shift += 8) {
    if ((differing >> shift & 0xff) == 0) continue;
    sort_by_byte(numbers, shift, other);
    numbers.swap(other);
  }
  return lowest;
}

std::vector<std::size_t> fused_order(const FeatureMatrix& matrix, std::size_t begin, std::size_t end,
                                     std::span<const double> scores, const TextList& ids) {
  require(scores.size() == end - begin, "one score per row");
  std::vector<Standing> standings;
  standings.reserve(end - begin);
  for (std::size_t row = begin; row < end; ++row) standings.push_back(standing_of(matrix, row));
  std::vector<std::size_t> rows;
  rows.reserve(end - begin);
  for (const std::uint32_t i : fused_order(
           scores, [&](std::uint32_t i) { return standings[i]; },
           [&](std::uint32_t a, std::uint32_t b) {
             const int by_id = ids[begin + a].compare(ids[begin + b]);
             return by_id != 0 ? by_id < 0 : a < b;
           }))
    rows.push_back(begin + i);
  return rows;
}

std::vector<std::vector<double>> ndcg_by_query(const TrainingSet& set, const std::vector<double>& scores,
                                               std::size_t depth) {
  std::vector<std::vector<double>> rows;
  for (const QueryRange& query : set.queries) {
    std::vector<std::size_t> order;
    std::vector<double> ideal;
    for (std::size_t x = query.begin; x < query.end; ++x) {
      order.push_back(x);
      ideal.push_back(std::max(0.0, set.grades[x]));
    }
    const auto top = order.begin() + static_cast<std::ptrdiff_t>(std::min(depth, order.size()));
    std::partial_sort(order.begin(), top, order.end(), [&](std::size_t a, std::size_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    const auto best = ideal.begin() + (top - order.begin());
    std::partial_sort(ideal.begin(), best, ideal.end(), std::greater<>());
    if (ideal.empty() || ideal.front() <= 0.0) continue;
    std::vector<double> grades;
    for (auto it = order.begin(); it != top; ++it) grades.push_back(std::max(0.0, set.grades[*it]));
    std::vector<double> row = dcg(grades, depth);
    const std::vector<double> most = dcg(ideal, depth);
    for (std::size_t k = 0; k < depth; ++k) row[k] /= most[k];
    rows.push_back(std::move(row));
  }
  return rows;
}

double mean_ndcg(const TrainingSet& set, const std::vector<double>& scores, std::size_t depth) {
  const std::vector<std::vector<double>> rows = ndcg_by_query(set, scores, depth);
  double sum = 0.0;
  for (const std::vector<double>& row : rows) sum += row.back();
  return rows.empty() ? 0.0 : sum / static_cast<double>(rows.size());
}

}  // namespace metafuse::fusion
