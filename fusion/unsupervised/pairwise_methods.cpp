#include <algorithm>
#include <cmath>

#include "fusion/unsupervised/fusion_method.h"

// Condorcet fusion sorts the documents by the majority of the lists. A list prefers the document it ranks
// higher, and any ranked document to an unranked one (Montague, Aslam 2002; with list weights: weighted
// Condorcet). The majority is not transitive, so the result of a sort depends on the initial order. This sort
// starts from the Borda order and merges stably, so the result does not depend on the order of the input.
// Cost: O(documents log documents x lists)
namespace metafuse::fusion::unsupervised {
namespace {

/// Ranks in one row per document, unranked as a number above all ranks: a comparison reads two short rows.
class Majority {
 public:
  Majority(const QueryLists& query, const FusionOptions& options)
      : lists_(query.lists.size()), ranks_(lists_ * query.size(), kUnranked) {
    for (std::size_t list = 0; list < lists_; ++list) {
      weights_.push_back(options.weight(list));
      for (std::size_t i = 0; i < query.lists[list].size(); ++i)
        ranks_[query.lists[list][i].document * lists_ + list] = static_cast<std::int32_t>(i);
    }
    is_weighted_ = !options.weights.empty();
  }

  bool prefers(std::uint32_t a, std::uint32_t b) const {
    const std::int32_t* x = ranks_.data() + a * lists_;
    const std::int32_t* y = ranks_.data() + b * lists_;
    if (is_weighted_) {
      double votes = 0.0;
      for (std::size_t i = 0; i < lists_; ++i)
        votes += x[i] < y[i] ? weights_[i] : x[i] > y[i] ? -weights_[i] : 0.0;
      return votes > 1e-12;
    }
    int votes = 0;
    for (std::size_t i = 0; i < lists_; ++i)
      votes += static_cast<int>(x[i] < y[i]) - static_cast<int>(x[i] > y[i]);
    return votes > 0;
  }

 private:
  static constexpr std::int32_t kUnranked = 0x7fffffff;
  std::size_t lists_;
  std::vector<std::int32_t> ranks_;
  std::vector<double> weights_;
  bool is_weighted_ = false;
};

/// A bottom-up merge sort, which also terminates for a relation that is not transitive.
void merge_sort(std::vector<std::uint32_t>& order, const Majority& majority) {
  std::vector<std::uint32_t> merged(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, order.size());
      const std::size_t end = std::min(begin + 2 * width, order.size());
      std::size_t i = begin;
      std::size_t j = middle;
      for (std::size_t out = begin; out < end; ++out) {
        const bool takes_right = j < end && (i >= middle || majority.prefers(order[j], order[i]));
        merged[out] = takes_right ? order[j++] : order[i++];
      }
    }
    order.swap(merged);
  }
}

}  // namespace

void condorcet(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  Scores start(query.size(), 0.0);
  borda(query, options, 0.0, start);
  std::vector<std::uint32_t> order = fused_order(query, start);
  merge_sort(order, Majority(query, options));
  for (std::size_t i = 0; i < order.size(); ++i) scores[order[i]] = -static_cast<double>(i);
}

// Copeland's method: the number of documents that the majority of the lists places below the document, minus
// the number that it places above (Copeland 1951). A list prefers the document it ranks higher, and a ranked
// document to an unranked one.
//
// cost: O(sum of squared list lengths + documents^2)

void copeland(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  const std::size_t documents = query.size();
  const std::vector<std::uint32_t> table = rank_table(query);
  // The difference held[a] - held[b] is the vote of the lists that hold only one of a and b. Lists that hold
  // both cancel out of it; they vote by their ranks.
  std::vector<double> held(documents, 0.0);
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (const ListEntry& entry : query.lists[list]) held[entry.document] += options.weight(list);
  std::vector<double> votes(documents);
  for (std::size_t a = 0; a < documents; ++a) {
    std::fill(votes.begin(), votes.end(), 0.0);
    for (std::size_t list = 0; list < query.lists.size(); ++list) {
      const std::uint32_t rank = table[list * documents + a];
      if (rank == 0) continue;
      const double weight = options.weight(list);
      for (std::size_t i = 0; i < query.lists[list].size(); ++i)
        votes[query.lists[list][i].document] += i + 1 > rank ? weight : i + 1 < rank ? -weight : 0.0;
    }
    for (std::size_t b = 0; b < documents; ++b) {
      const double margin = votes[b] + held[a] - held[b];
      if (b != a) scores[a] += margin > 1e-12 ? 1.0 : margin < -1e-12 ? -1.0 : 0.0;
    }
  }
}

// The Markov chains of Dwork, Kumar, Naor, Sivakumar 2001. A document's score is its stationary probability.
// From document d, the chain moves to
//   MC1  a uniformly random entry at or above d, from all lists that rank d
//   MC2  a uniformly random list that ranks d, then a uniformly random entry of it at or above d
//   MC3  a uniformly random list that ranks d, then a uniformly random document of it if that one stands
//        above d; otherwise the chain stays at d
//   MC4  a uniformly random document of any list, if the majority of the lists that rank both prefers it;
//        otherwise the chain stays at d
// Differs from the paper: with probability k (0.05) the next document is uniformly random among all, because
// then every chain has exactly one stationary distribution. Iteration starts from the uniform distribution
// and ends when the change is below 1e-12, or after 1000 steps.
//
// cost: MC1-MC3 O(entries) per iteration, by sums along each list; MC4 O(sum of squared list lengths), and
//       O(documents^2) per iteration and in memory, with up to 4 bytes for each two documents

namespace {

constexpr int kMostIterations = 1000;
constexpr double kSmallestChange = 1e-12;

/// Iterates scores = (1 - k) step(scores) + k / documents.
template <class Step>
void iterate(Scores& scores, double k, Step step) {
  const auto documents = static_cast<double>(scores.size());
  std::fill(scores.begin(), scores.end(), 1.0 / documents);
  Scores next(scores.size());
  for (int i = 0; i < kMostIterations; ++i) {
    std::fill(next.begin(), next.end(), 0.0);
    step(scores, next);
    double change = 0.0;
    double total = 0.0;
    for (double& value : next) total += value = (1.0 - k) * value + k / documents;
    for (std::size_t d = 0; d < scores.size(); ++d) {
      next[d] /= total;
      change += std::abs(next[d] - scores[d]);
    }
    scores.swap(next);
    if (change < kSmallestChange) break;
  }
}

/// Iterates: in each list, a document gives a share of 1 / parts(document, place) of its score to itself and
/// to every entry above it.
template <class Parts>
void flow_upwards(const QueryLists& query, double k, Scores& scores, Parts parts) {
  iterate(scores, k, [&](const Scores& from, Scores& to) {
    for (const auto& list : query.lists) {
      double mass = 0.0;
      for (std::size_t i = list.size(); i-- > 0;) {
        mass += from[list[i].document] / parts(list[i].document, i + 1);
        to[list[i].document] += mass;
      }
    }
  });
}

}  // namespace

void markov_chain_1(const QueryLists& query, const FusionOptions&, double k, Scores& scores) {
  // Number of entries at or above the document, over all its lists.
  std::vector<double> places(query.size(), 0.0);
  for (const auto& list : query.lists)
    for (std::size_t i = 0; i < list.size(); ++i) places[list[i].document] += static_cast<double>(i + 1);
  flow_upwards(query, k, scores, [&](std::uint32_t document, std::size_t) { return places[document]; });
}

void markov_chain_2(const QueryLists& query, const FusionOptions&, double k, Scores& scores) {
  const std::vector<double> counts = list_counts(query);
  flow_upwards(query, k, scores, [&](std::uint32_t document, std::size_t place) {
    return counts[document] * static_cast<double>(place);
  });
}

void markov_chain_3(const QueryLists& query, const FusionOptions&, double k, Scores& scores) {
  const std::vector<double> counts = list_counts(query);
  iterate(scores, k, [&](const Scores& from, Scores& to) {
    for (const auto& list : query.lists) {
      const auto length = static_cast<double>(list.size());
      double mass = 0.0;  // probability that documents further down send to each entry above
      for (std::size_t i = list.size(); i-- > 0;) {
        const double share = from[list[i].document] / (counts[list[i].document] * length);
        to[list[i].document] += mass + share * (length - static_cast<double>(i));
        mass += share;
      }
    }
  });
}

void markov_chain_4(const QueryLists& query, const FusionOptions&, double k, Scores& scores) {
  const std::size_t documents = query.size();
  const std::vector<std::uint32_t> table = rank_table(query);
  std::vector<std::vector<std::uint32_t>> better(documents);  // documents that the majority prefers
  std::vector<int> votes(documents);
  for (std::size_t a = 0; a < documents; ++a) {
    std::fill(votes.begin(), votes.end(), 0);
    for (std::size_t list = 0; list < query.lists.size(); ++list) {
      const std::uint32_t rank = table[list * documents + a];
      for (std::size_t i = 0; rank > 0 && i < query.lists[list].size(); ++i)
        votes[query.lists[list][i].document] += i + 1 < rank ? 1 : i + 1 > rank ? -1 : 0;
    }
    for (std::uint32_t b = 0; b < documents; ++b)
      if (votes[b] > 0) better[a].push_back(b);
  }
  iterate(scores, k, [&](const Scores& from, Scores& to) {
    for (std::size_t a = 0; a < documents; ++a) {
      const double share = from[a] / static_cast<double>(documents);
      for (const std::uint32_t b : better[a]) to[b] += share;
      to[a] += share * static_cast<double>(documents - better[a].size());
    }
  });
}

}  // namespace metafuse::fusion::unsupervised
