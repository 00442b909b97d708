#include <algorithm>
#include <cmath>

#include "fusion/unsupervised/methods.h"

// The Comb family over the normalised scores of the lists that hold a document (Fox, Shaw 1994; CombGMNZ: Lee
// 1997 with an exponent): least, greatest, median, sum, sum / n, sum x n, sum x n^k. Weighted lists count w_i
// x score; the lists that leave a document out say nothing.
namespace metafuse::fusion::methods {
namespace {

/// Folds the weighted scores of each document, starting from the first one it has.
template <class Fold>
void fold_scores(const QueryLists& query, const FusionOptions& options, Scores& scores, Fold fold) {
  std::vector<char> has_score(query.size(), 0);
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (const ListEntry& entry : query.lists[list]) {
      const double value = options.weight(list) * entry.score;
      double& score = scores[entry.document];
      score = has_score[entry.document] != 0 ? fold(score, value) : value;
      has_score[entry.document] = 1;
    }
}

}  // namespace

void comb_min(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  fold_scores(query, options, scores, [](double a, double b) { return std::min(a, b); });
}

void comb_max(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  fold_scores(query, options, scores, [](double a, double b) { return std::max(a, b); });
}

void comb_sum(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  for (std::size_t list = 0; list < query.lists.size(); ++list) {
    const double weight = options.weight(list);
    for (const ListEntry& entry : query.lists[list]) scores[entry.document] += weight * entry.score;
  }
}

void comb_median(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  std::vector<std::vector<double>> values(query.size());
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (const ListEntry& entry : query.lists[list])
      values[entry.document].push_back(options.weight(list) * entry.score);
  for (std::size_t document = 0; document < query.size(); ++document) {
    auto& own = values[document];
    std::sort(own.begin(), own.end());
    if (own.empty()) continue;
    const std::size_t middle = own.size() / 2;
    scores[document] = own.size() % 2 == 1 ? own[middle] : 0.5 * (own[middle - 1] + own[middle]);
  }
}

void comb_anz(const QueryLists& query, const FusionOptions& options, double k, Scores& scores) {
  comb_sum(query, options, k, scores);
  const std::vector<double> counts = list_counts(query);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] /= std::max(1.0, counts[i]);
}

void comb_mnz(const QueryLists& query, const FusionOptions& options, double k, Scores& scores) {
  comb_sum(query, options, k, scores);
  const std::vector<double> counts = list_counts(query);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] *= counts[i];
}

void comb_gmnz(const QueryLists& query, const FusionOptions& options, double k, Scores& scores) {
  comb_sum(query, options, k, scores);
  const std::vector<double> counts = list_counts(query);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] *= std::pow(counts[i], k);
}

}  // namespace metafuse::fusion::methods
