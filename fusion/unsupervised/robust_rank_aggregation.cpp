#include <algorithm>
#include <cmath>

#include "fusion/unsupervised/methods.h"

// Robust rank aggregation (Kolde, Laur, Adler, Vilo 2012): a document's ranks divided by the number of
// documents, sorted, are compared with those of random lists. The k-th smallest of m uniform numbers is at
// most x with the probability that at least k of m are; rho is the least of these over k, and the score is
// -log rho. An absent document has rank 1 (the last possible) there, as in the paper's treatment of full
// rankings. cost: O(documents x lists^2)
namespace metafuse::fusion::methods {
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

}  // namespace metafuse::fusion::methods
