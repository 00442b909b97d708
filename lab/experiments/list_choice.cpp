#include "lab/experiments/list_choice.h"

#include <algorithm>
#include <cmath>

#include "fusion/data/features.h"

namespace metafuse::lab::experiments {
namespace {

constexpr double kDoubt = 2.0;  // queries without a gain that every list starts with

bool is_asked_list(const fusion::Feature& feature) {
  return feature.kind == fusion::FeatureKind::rank && !fusion::is_derived(feature);
}

/// Per row: how much finding it is worth. Rows of a query sum to at most 1.
std::vector<double> worth_of_rows(const fusion::TrainingSet& set) {
  std::vector<double> worth(set.grades.size(), 0.0);
  std::vector<double> preferred(set.grades.size(), 0.0);
  for (const fusion::WeightedPair& pair : set.pairs) {
    preferred[pair.above] += pair.weight;
    preferred[pair.below] -= pair.weight;
  }
  for (std::size_t row = 0; row < worth.size(); ++row) {
    const bool is_relevant = set.in_feedback[row] != 0 && set.grades[row] >= set.feedback.relevance_level;
    if (is_relevant && set.grades[row] > 0.0)
      worth[row] = set.grades[row];
    else if (preferred[row] > 0.0)
      worth[row] = 1.0;
  }
  return worth;
}

/// What a rank leaves of a document's worth.
double rank_discount(double rank) {
  return 1.0 / std::log2(1.0 + rank);
}

/// A relevant document in a list.
struct ListedRow {
  std::size_t row = 0;
  double discount = 0.0;
};

struct GreedyList {
  std::size_t feature = 0;
  std::vector<ListedRow> found;
  double asked = 0.0;  ///< number of queries that asked for it

  /// The gain over what is already covered.
  double gain(const std::vector<double>& worth, const std::vector<double>& covered) const {
    double sum = 0.0;
    for (const ListedRow& each : found)
      sum += worth[each.row] * std::max(0.0, each.discount - covered[each.row]);
    return sum / (asked + kDoubt);
  }
};

/// Adds the relevant documents of one query to the lists, and makes what all lists find there worth 1.
///
/// out:    false if no list found any
bool take_query(const fusion::TrainingSet& set, std::size_t query, std::vector<double>& worth,
                std::vector<GreedyList>& lists) {
  const fusion::QueryRange& range = set.queries[query];
  double whole = 0.0;
  for (std::size_t row = range.begin; row < range.end; ++row) {
    if (worth[row] <= 0.0) continue;
    double best = 0.0;
    for (GreedyList& list : lists) {
      if (set.matrix.is_unranked(row, list.feature)) continue;
      list.found.push_back({row, rank_discount(-set.matrix.value(row, list.feature))});
      best = std::max(best, list.found.back().discount);
    }
    whole += worth[row] * best;
  }
  if (whole <= 0.0) return false;
  for (std::size_t row = range.begin; row < range.end; ++row) worth[row] /= whole;
  return true;
}

}  // namespace

ListChoice learn_list_choice(const fusion::TrainingSet& set) {
  std::vector<GreedyList> lists;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f)
    if (is_asked_list(set.matrix.features()[f])) lists.push_back({f, {}, 0.0});
  std::vector<double> worth = worth_of_rows(set);
  ListChoice out;
  for (std::size_t q = 0; q < set.queries.size(); ++q) {
    if (!take_query(set, q, worth, lists)) continue;
    ++out.queries;
    for (GreedyList& list : lists) list.asked += 1.0;
  }
  if (out.queries == 0) return out;
  std::vector<double> covered(worth.size(), 0.0);
  while (!lists.empty()) {
    std::vector<double> gains;
    for (const GreedyList& list : lists) gains.push_back(list.gain(worth, covered));
    const auto best = std::max_element(gains.begin(), gains.end());
    const auto at = lists.begin() + (best - gains.begin());
    for (const ListedRow& each : at->found) covered[each.row] = std::max(covered[each.row], each.discount);
    out.order.push_back(at->feature);
    out.gains.push_back(*best);
    lists.erase(at);
  }
  return out;
}

}  // namespace metafuse::lab::experiments
