#include <algorithm>
#include <cmath>

#include "fusion/unsupervised/methods.h"

// Methods that look at ranks alone. w_i is the weight of list i (1 by default), r its rank of the document, n
// the number of lists that hold it.
//   rrf          sum of w_i / (k + r)                     Cormack, Clarke, Buettcher 2009
//   isr          n x sum of w_i / r^2                     Mourao et al. 2014
//   log_isr      log(n + k) x sum of w_i / r^2            Mourao et al. 2014, smoothed by k so that n = 1 is
//   not lost rbc          sum of w_i (1 - k) k^(r - 1)             Bailey et al. 2017 borda        c - r + 1
//   points of c documents; those a list leaves out share the points it has left. Aslam, Montague
//                2001
//   searxng      n x (product of w_i) x sum of 1 / r      SearXNG, searx/results.py
//   round_robin  the first of every list, then the second of every list ...
//   median_rank  the median over all lists, an absent document ranked after all documents; Fagin, Kumar,
//   Sivakumar 2003
namespace metafuse::fusion::methods {
namespace {

/// Adds value(list, rank) for every entry.
template <class Value>
void add_by_rank(const QueryLists& query, Scores& scores, Value value) {
  for (std::size_t list = 0; list < query.lists.size(); ++list) {
    double rank = 0.0;
    for (const ListEntry& entry : query.lists[list]) scores[entry.document] += value(list, rank += 1.0);
  }
}

}  // namespace

void reciprocal_rank_fusion(const QueryLists& query, const FusionOptions& options, double k, Scores& scores) {
  std::size_t depth = 0;
  for (const auto& list : query.lists) depth = std::max(depth, list.size());
  std::vector<double> share(depth);
  for (std::size_t i = 0; i < depth; ++i) share[i] = 1.0 / (k + static_cast<double>(i + 1));
  for (std::size_t list = 0; list < query.lists.size(); ++list) {
    const double weight = options.weight(list);
    const double* at = share.data();
    for (const ListEntry& entry : query.lists[list]) scores[entry.document] += weight * *at++;
  }
}

void inverse_square_rank(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  add_by_rank(query, scores,
              [&](std::size_t list, double rank) { return options.weight(list) / (rank * rank); });
  const std::vector<double> counts = list_counts(query);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] *= counts[i];
}

void log_inverse_square_rank(const QueryLists& query, const FusionOptions& options, double k,
                             Scores& scores) {
  add_by_rank(query, scores,
              [&](std::size_t list, double rank) { return options.weight(list) / (rank * rank); });
  const std::vector<double> counts = list_counts(query);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] *= std::log(counts[i] + k);
}

void rank_biased_centroid(const QueryLists& query, const FusionOptions& options, double k, Scores& scores) {
  add_by_rank(query, scores, [&](std::size_t list, double rank) {
    return options.weight(list) * (1.0 - k) * std::pow(k, rank - 1.0);
  });
}

void borda(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  const auto documents = static_cast<double>(query.size());
  double left_over = 0.0;  // what a document gets from lists that leave it out
  for (std::size_t list = 0; list < query.lists.size(); ++list) {
    const auto length = static_cast<double>(query.lists[list].size());
    // The places after the list are worth documents - length ... 1: shared evenly.
    const double share = length > 0.0 ? 0.5 * (documents - length + 1.0) : 0.0;
    const double weight = options.weight(list);
    left_over += weight * share;
    double points = documents;
    for (const ListEntry& entry : query.lists[list]) {
      scores[entry.document] += weight * (points - share);
      points -= 1.0;
    }
  }
  for (double& score : scores) score += left_over;
}

void searxng(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  add_by_rank(query, scores, [](std::size_t, double rank) { return 1.0 / rank; });
  std::vector<double> factor(query.size(), 1.0);
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (const ListEntry& entry : query.lists[list]) factor[entry.document] *= options.weight(list);
  const std::vector<double> counts = list_counts(query);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] *= factor[i] * counts[i];
}

void round_robin(const QueryLists& query, const FusionOptions&, double, Scores& scores) {
  const auto lists = static_cast<double>(query.lists.size());
  std::fill(scores.begin(), scores.end(), -INFINITY);
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (std::size_t i = 0; i < query.lists[list].size(); ++i) {
      const double turn = static_cast<double>(i) * lists + static_cast<double>(list);
      double& score = scores[query.lists[list][i].document];
      score = std::max(score, -turn);
    }
}

void median_rank(const QueryLists& query, const FusionOptions&, double, Scores& scores) {
  const std::vector<std::uint32_t> table = rank_table(query);
  std::vector<double> ranks(query.lists.size());
  for (std::size_t document = 0; document < query.size(); ++document) {
    for (std::size_t list = 0; list < ranks.size(); ++list) {
      const std::uint32_t rank = table[list * query.size() + document];
      ranks[list] = rank > 0 ? static_cast<double>(rank) : static_cast<double>(query.size() + 1);
    }
    std::sort(ranks.begin(), ranks.end());
    const std::size_t middle = ranks.size() / 2;
    scores[document] = ranks.size() % 2 == 1 ? -ranks[middle] : -0.5 * (ranks[middle - 1] + ranks[middle]);
  }
}

}  // namespace metafuse::fusion::methods
