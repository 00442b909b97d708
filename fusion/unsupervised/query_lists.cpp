#include "fusion/unsupervised/query_lists.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace metafuse::fusion {

QueryLists lists_of(const FeatureMatrix& matrix, std::size_t begin, std::size_t end) {
  QueryLists query;
  query.documents.resize(end - begin);
  for (std::size_t feature = 0; feature < matrix.feature_count(); ++feature) {
    if (matrix.features()[feature].kind != FeatureKind::rank) continue;
    std::vector<ListEntry> list;
    for (std::size_t row = begin; row < end; ++row)
      if (!matrix.is_unranked(row, feature))
        list.push_back({static_cast<std::uint32_t>(row - begin), matrix.value(row, feature)});
    std::ranges::stable_sort(list, std::greater<>(), &ListEntry::score);
    query.lists.push_back(std::move(list));
  }
  return query;
}

std::vector<Standing> standings(const QueryLists& query) {
  std::vector<Standing> out(query.size());
  for (const auto& list : query.lists)
    for (std::size_t i = 0; i < list.size(); ++i)
      out[list[i].document].add(static_cast<std::uint32_t>(i + 1));
  return out;
}

std::vector<std::uint32_t> fused_order(const QueryLists& query, std::span<const double> scores,
                                       std::span<const Standing> known) {
  std::vector<Standing> counted;
  const auto standing_of = [&](std::uint32_t document) {
    if (known.empty()) known = counted = standings(query);
    return known[document];
  };
  return fused_order(scores, standing_of, [&](std::uint32_t a, std::uint32_t b) {
    return query.documents[a] < query.documents[b];
  });
}

std::vector<std::uint32_t> callers_order(const QueryLists& query, std::span<const double> scores) {
  std::vector<std::uint32_t> best(scores.size(), Standing::kNever);
  for (const auto& list : query.lists)
    for (std::uint32_t i = 0; i < list.size(); ++i)
      best[list[i].document] = std::min(best[list[i].document], i);
  std::vector<std::uint64_t> keys;
  keys.reserve(scores.size());
  for (const double score : scores) keys.push_back(~ordered_bits(score));
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_by_keys(keys, std::span(order), [&](std::uint32_t a, std::uint32_t b) {
    if (scores[a] != scores[b]) return scores[a] > scores[b];
    return best[a] != best[b] ? best[a] < best[b] : a < b;
  });
  return order;
}

std::vector<double> list_counts(const QueryLists& query) {
  std::vector<double> counts(query.size(), 0.0);
  for (const auto& list : query.lists)
    for (const ListEntry& entry : list) counts[entry.document] += 1.0;
  return counts;
}

std::vector<std::uint32_t> rank_table(const QueryLists& query) {
  std::vector<std::uint32_t> table(query.lists.size() * query.size(), 0);
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (std::size_t i = 0; i < query.lists[list].size(); ++i)
      table[list * query.size() + query.lists[list][i].document] = static_cast<std::uint32_t>(i + 1);
  return table;
}

namespace {

constexpr std::pair<const char*, Normalisation> kNames[] = {
    {"none", Normalisation::none},       {"min-max", Normalisation::min_max},
    {"max", Normalisation::max},         {"sum", Normalisation::sum},
    {"z-score", Normalisation::z_score}, {"rank", Normalisation::rank},
    {"borda", Normalisation::borda},     {"l2", Normalisation::l2}};

struct Sums {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double sum = 0.0;
  double squares = 0.0;
};

Sums sums_of(const std::vector<ListEntry>& list) {
  Sums sums;
  for (const ListEntry& entry : list) {
    sums.least = std::min(sums.least, entry.score);
    sums.most = std::max(sums.most, entry.score);
    sums.sum += entry.score;
    sums.squares += entry.score * entry.score;
  }
  return sums;
}

/// Multiplies the scores by the power of 2 that brings the largest near 1, so that no difference or square of
/// them overflows or vanishes. That rounds none of them, and normalised scores do not depend on their unit.
void bring_near_one(std::vector<ListEntry>& list) {
  double largest = 0.0;
  for (const ListEntry& entry : list) largest = std::max(largest, std::abs(entry.score));
  if (largest == 0.0 || !std::isfinite(largest)) return;
  const int exponent = std::ilogb(largest);
  for (ListEntry& entry : list) entry.score = std::scalbn(entry.score, -exponent);
}

/// Sets each score to (score - shift) / divisor, or to `otherwise` if the divisor is 0 or infinite.
void shift_and_divide(std::vector<ListEntry>& list, double shift, double divisor, double otherwise) {
  const bool is_usable = divisor > 0.0 && std::isfinite(divisor);
  for (ListEntry& entry : list) entry.score = is_usable ? (entry.score - shift) / divisor : otherwise;
}

double deviation_of(const std::vector<ListEntry>& list, double mean) {
  double squares = 0.0;
  for (const ListEntry& entry : list) squares += (entry.score - mean) * (entry.score - mean);
  return std::sqrt(squares / static_cast<double>(list.size()));
}

void scores_by_rank(std::vector<ListEntry>& list, double documents) {
  for (std::size_t i = 0; i < list.size(); ++i) list[i].score = 1.0 - static_cast<double>(i) / documents;
}

}  // namespace

std::optional<Normalisation> normalisation_of(std::string_view name) {
  for (const auto& [text, normalisation] : kNames)
    if (text == name) return normalisation;
  return std::nullopt;
}

std::string_view name_of(Normalisation normalisation) {
  for (const auto& [text, known] : kNames)
    if (known == normalisation) return text;
  return {};
}

std::string_view normalisation_names() {
  return "none, min-max, max, sum, z-score, rank, borda and l2";
}

void normalise(std::vector<ListEntry>& list, Normalisation normalisation, std::size_t documents) {
  if (list.empty() || normalisation == Normalisation::none) return;
  const auto size = static_cast<double>(list.size());
  if (normalisation == Normalisation::rank) return scores_by_rank(list, size);
  if (normalisation == Normalisation::borda) return scores_by_rank(list, static_cast<double>(documents));
  bring_near_one(list);
  const Sums sums = sums_of(list);
  switch (normalisation) {
    case Normalisation::min_max:
      return shift_and_divide(list, sums.least, sums.most - sums.least, 1.0);
    case Normalisation::max:
      return shift_and_divide(list, 0.0, sums.most, 1.0);
    case Normalisation::sum:
      return shift_and_divide(list, sums.least, sums.sum - size * sums.least, 1.0);
    case Normalisation::l2:
      return shift_and_divide(list, 0.0, std::sqrt(sums.squares), 1.0);
    default: {
      const double mean = sums.sum / size;
      // the mean of equal scores may be rounded to another number
      const double deviation = sums.least == sums.most ? 0.0 : deviation_of(list, mean);
      return shift_and_divide(list, mean, deviation, 0.0);
    }
  }
}

QueryLists normalised(const QueryLists& query, Normalisation normalisation) {
  QueryLists out = query;
  for (auto& list : out.lists) normalise(list, normalisation, out.size());
  return out;
}

}  // namespace metafuse::fusion
