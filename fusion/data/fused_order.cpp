#include "fusion/data/fused_order.h"

#include <algorithm>

#include "core/contract.h"
#include "fusion/data/standing.h"

namespace metafuse::fusion {
namespace {

/// What orders a document.
struct Place {
  std::size_t row = 0;
  double score = 0.0;
  Standing standing;
};

Standing standing_of(const FeatureMatrix& matrix, std::size_t row) {
  Standing standing;
  for (std::size_t f = 0; f < matrix.feature_count(); ++f) {
    if (matrix.is_unranked(row, f)) continue;
    const bool is_rank = matrix.features()[f].kind == FeatureKind::rank;
    standing.add(is_rank ? static_cast<std::uint32_t>(-matrix.value(row, f)) : Standing::kNever);
  }
  return standing;
}

}  // namespace

std::vector<std::size_t> fused_order(const FeatureMatrix& matrix, std::size_t begin, std::size_t end,
                                     std::span<const double> scores, const TextList& ids) {
  require(scores.size() == end - begin, "one score a row");
  std::vector<Place> places;
  places.reserve(end - begin);
  for (std::size_t row = begin; row < end; ++row)
    places.push_back({row, scores[row - begin], standing_of(matrix, row)});
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    if (a.score != b.score) return a.score > b.score;
    const auto standing = by_standing(a.standing, b.standing);
    if (standing != 0) return standing < 0;
    if (ids[a.row] != ids[b.row]) return ids[a.row] < ids[b.row];
    return a.row < b.row;
  });
  std::vector<std::size_t> order;
  order.reserve(places.size());
  for (const Place& place : places) order.push_back(place.row);
  return order;
}

}  // namespace metafuse::fusion
