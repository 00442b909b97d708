#include <algorithm>
#include <cmath>

#include "fusion/data/features.h"
#include "fusion/unsupervised/fusion_method.h"

// The Comb family over the normalised scores of the lists that hold a document (Fox, Shaw 1994; CombGMNZ: Lee
// 1997 with an exponent): minimum, maximum, median, sum, sum / n, sum x n, sum x n^k, where n is the number
// of these lists. With weights, a score counts as w_i x score. Lists without the document are ignored.
namespace metafuse::fusion::unsupervised {
namespace {

/// Combines the weighted scores of each document pairwise, beginning with its first one.
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

// Methods that use ranks alone. w_i is the weight of list i (1 by default), r the document's rank in it, n
// the number of lists that hold the document.
//   rrf          sum of w_i / (k + r)                     Cormack, Clarke, Buettcher 2009
//   isr          n x sum of w_i / r^2                     Mourao et al. 2014
//   log_isr      log(n + k) x sum of w_i / r^2            Mourao et al. 2014, smoothed by k: n = 1 counts
//   rbc          sum of w_i (1 - k) k^(r - 1)             Bailey et al. 2017
//   borda        c - r + 1 points for rank r among c documents in all; the remaining points of a list are
//                shared evenly by the documents it does not hold
//                                                         Aslam, Montague 2001
//   searxng      n x (product of w_i) x sum of 1 / r      SearXNG, searx/results.py
//   round_robin  the first of every list, then the second of every list, ...
//   median_rank  the median rank over all lists, an absent document ranking below all documents
//                                                         Fagin, Kumar, Sivakumar 2003

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
  for (std::size_t i = 0; i < depth; ++i) share[i] = reciprocal_rank_share(static_cast<double>(i + 1), k);
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
  double left_over = 0.0;  // points of a document from lists that do not hold it
  for (std::size_t list = 0; list < query.lists.size(); ++list) {
    const auto length = static_cast<double>(query.lists[list].size());
    // The ranks after the end of the list are worth documents - length, ..., 1 points: shared evenly.
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

// Supervised methods that learned a value for every list and position (see supervised_fusion.h). A document's
// score is the sum of its values; SegFuse multiplies each by 1 + the normalised score (Shokouhi 2007).

namespace {

double value_at(const std::vector<double>& values, std::size_t position) {
  return values.empty() ? 0.0 : values[std::min(position, values.size() - 1)];
}

}  // namespace

void sum_of_position_values(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (std::size_t i = 0; i < query.lists[list].size(); ++i)
      scores[query.lists[list][i].document] += value_at(options.value_at[list], i);
}

void segfuse(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (std::size_t i = 0; i < query.lists[list].size(); ++i) {
      const ListEntry& entry = query.lists[list][i];
      scores[entry.document] += value_at(options.value_at[list], i) * (1.0 + entry.score);
    }
}

// Robust rank aggregation (Kolde, Laur, Adler, Vilo 2012) compares a document's ranks with those in random
// lists. The ranks are divided by the number of documents and sorted. The k-th smallest of m uniform numbers
// is at most x with the probability that at least k of them are at most x. rho is the minimum of this
// probability over k, and the score is -log rho. An absent document has the last rank, which is 1 after the
// division, as in the paper's treatment of full rankings.
//
// cost: O(documents x lists^2)

namespace {

/// log of P(at least k of m uniform numbers are <= x)
double log_order_statistic(double x, std::size_t k, std::size_t m) {
  if (x >= 1.0) return 0.0;
  const double log_x = std::log(x);
  const double log_rest = std::log1p(-x);
  const auto n = static_cast<double>(m);
  double largest = -INFINITY;
  double sum = 0.0;
  for (std::size_t i = k; i <= m; ++i) {
    const auto successes = static_cast<double>(i);
    const double term = std::lgamma(n + 1.0) - std::lgamma(successes + 1.0) -
                        std::lgamma(n - successes + 1.0) + successes * log_x + (n - successes) * log_rest;
    if (term > largest) {
      sum = sum * std::exp(largest - term) + 1.0;
      largest = term;
    } else {
      sum += std::exp(term - largest);
    }
  }
  return std::min(0.0, largest + std::log(sum));
}

}  // namespace

void robust_rank_aggregation(const QueryLists& query, const FusionOptions&, double, Scores& scores) {
  const std::vector<std::uint32_t> table = rank_table(query);
  const std::size_t lists = query.lists.size();
  const auto documents = static_cast<double>(query.size());
  std::vector<double> ranks(lists);
  for (std::size_t document = 0; document < query.size(); ++document) {
    for (std::size_t list = 0; list < lists; ++list) {
      const std::uint32_t rank = table[list * query.size() + document];
      ranks[list] = rank > 0 ? static_cast<double>(rank) / documents : 1.0;
    }
    std::sort(ranks.begin(), ranks.end());
    double least = 0.0;
    for (std::size_t k = 1; k <= lists && ranks[k - 1] < 1.0; ++k)
      least = std::min(least, log_order_statistic(ranks[k - 1], k, lists));
    scores[document] = -least;
  }
}

}  // namespace metafuse::fusion::unsupervised
