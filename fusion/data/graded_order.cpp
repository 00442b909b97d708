#include "fusion/data/graded_order.h"

#include <algorithm>
#include <cmath>

namespace metafuse::fusion {
namespace {

/// DCG at 1..depth of grades in the order given.
std::vector<double> dcg(const std::vector<double>& grades, std::size_t depth) {
  std::vector<double> sums;
  double sum = 0.0;
  for (std::size_t place = 1; place <= depth; ++place) {
    if (place <= grades.size()) {
      const double gain = std::exp2(grades[place - 1]) - 1.0;
      sum += place == 1 ? gain : gain / std::log2(static_cast<double>(place));
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

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
