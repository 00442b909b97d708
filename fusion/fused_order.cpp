#include "fusion/fused_order.h"

#include <algorithm>
#include <limits>

#include "core/contract.h"

namespace metafuse::fusion {
namespace {

/// What orders a document beside its score.
struct Standing {
  std::size_t row = 0;
  double score = 0.0;
  std::size_t lists = 0;
  double best = -std::numeric_limits<double>::infinity();  // minus the best rank
};

Standing standing_of(const FeatureMatrix& matrix, std::size_t row, double score) {
  Standing standing{row, score};
  for (std::size_t f = 0; f < matrix.feature_count(); ++f) {
    if (matrix.is_unranked(row, f)) continue;
    ++standing.lists;
    if (matrix.features()[f].kind == FeatureKind::rank)
      standing.best = std::max(standing.best, matrix.value(row, f));
  }
  return standing;
}

}  // namespace

std::vector<std::size_t> fused_order(const FeatureMatrix& matrix, std::size_t begin, std::size_t end,
                                     std::span<const double> scores, std::span<const std::string> ids) {
  require(scores.size() == end - begin, "one score a row");
  std::vector<Standing> standings;
  standings.reserve(end - begin);
  for (std::size_t row = begin; row < end; ++row)
    standings.push_back(standing_of(matrix, row, scores[row - begin]));
  std::sort(standings.begin(), standings.end(), [&](const Standing& a, const Standing& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.lists != b.lists) return a.lists > b.lists;
    if (a.best != b.best) return a.best > b.best;
    if (ids[a.row] != ids[b.row]) return ids[a.row] < ids[b.row];
    return a.row < b.row;
  });
  std::vector<std::size_t> order;
  order.reserve(standings.size());
  for (const Standing& standing : standings) order.push_back(standing.row);
  return order;
}

}  // namespace metafuse::fusion
