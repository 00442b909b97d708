#include "fusion/unsupervised/weight_search.h"

#include <algorithm>
#include <numeric>

namespace metafuse::fusion {
namespace {

constexpr double kSteps[] = {0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5};
constexpr std::size_t kManyLists = 50;

int sweeps_for(std::size_t lists) {
  return lists > kManyLists ? 1 : 3;
}

/// One training query with its scores normalised once and the current sums of the weighted scores.
struct PreparedQuery {
  QueryLists query;
  std::vector<double> sums;
  std::vector<std::uint32_t> relevant;  // documents in some list
  double relevant_count = 0.0;
};

/// Average precision of the ranking by `scores`, ties counted against the relevant document. O(relevant x
/// log).
double average_precision(const PreparedQuery& item, const std::vector<double>& scores,
                         std::vector<double>& sorted, std::vector<double>& own) {
  if (item.relevant_count == 0.0) return 0.0;
  sorted = scores;
  std::sort(sorted.begin(), sorted.end());
  own.clear();
  for (const std::uint32_t document : item.relevant) own.push_back(scores[document]);
  std::sort(own.begin(), own.end(), std::greater<>());
  double sum = 0.0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto at_least = sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), own[i]);
    sum += static_cast<double>(i + 1) /
           static_cast<double>(std::max<std::ptrdiff_t>(at_least, static_cast<std::ptrdiff_t>(i + 1)));
  }
  return sum / item.relevant_count;
}

/// The mean average precision when the weight of `list` moves by `change`.
double precision_after(const std::vector<PreparedQuery>& items, std::size_t list, double change) {
  double sum = 0.0;
  std::vector<double> scores;
  std::vector<double> sorted;
  std::vector<double> own;
  for (const PreparedQuery& item : items) {
    scores = item.sums;
    for (const ListEntry& entry : item.query.lists[list]) scores[entry.document] += change * entry.score;
    sum += average_precision(item, scores, sorted, own);
  }
  return sum;
}

std::vector<PreparedQuery> prepare(std::span<const JudgedLists> queries, const std::vector<double>& weights,
                                   Normalisation normalisation) {
  std::vector<PreparedQuery> items;
  for (const JudgedLists& judged : queries) {
    PreparedQuery item;
    item.query = normalised(judged.query, normalisation);
    item.sums.assign(item.query.size(), 0.0);
    item.relevant_count = static_cast<double>(judged.relevant);
    for (std::size_t list = 0; list < weights.size(); ++list)
      for (const ListEntry& entry : item.query.lists[list])
        item.sums[entry.document] += weights[list] * entry.score;
    for (std::size_t document = 0; document < item.query.size(); ++document)
      if (judged.is_relevant[document] != 0) item.relevant.push_back(static_cast<std::uint32_t>(document));
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::vector<double> tune_weights(std::span<const JudgedLists> queries, const std::vector<double>& precisions,
                                 Normalisation normalisation) {
  const double best_precision = *std::max_element(precisions.begin(), precisions.end());
  std::vector<double> weights = precisions;
  for (double& weight : weights) weight = best_precision > 0.0 ? weight / best_precision : 1.0;
  std::vector<PreparedQuery> items = prepare(queries, weights, normalisation);
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return precisions[a] > precisions[b]; });
  bool has_changed = true;
  for (int sweep = 0; sweep < sweeps_for(weights.size()) && has_changed; ++sweep) {
    has_changed = false;
    for (const std::size_t list : order) {
      double best = precision_after(items, list, 0.0);
      double chosen = weights[list];
      for (const double step : kSteps) {
        const double precision = precision_after(items, list, step - weights[list]);
        if (precision <= best * (1.0 + 1e-9)) continue;
        best = precision;
        chosen = step;
      }
      if (chosen == weights[list]) continue;
      has_changed = true;
      for (PreparedQuery& item : items)
        for (const ListEntry& entry : item.query.lists[list])
          item.sums[entry.document] += (chosen - weights[list]) * entry.score;
      weights[list] = chosen;
    }
  }
  return weights;
}

}  // namespace metafuse::fusion
