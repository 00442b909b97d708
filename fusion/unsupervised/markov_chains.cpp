#include <algorithm>
#include <cmath>

#include "fusion/unsupervised/methods.h"

// The Markov chains of Dwork, Kumar, Naor, Sivakumar 2001; a document's score is its stationary probability.
// From document d the next one is
//   MC1  uniform over all places, in all lists that rank d, at or above d
//   MC2  a list that ranks d, uniformly, then uniform over its places at or above d
//   MC3  a list that ranks d, uniformly, then a document of it, uniformly; taken when it stands above d, else
//   stay MC4  a document of any list, uniformly; taken when the majority of the lists that rank both prefers
//   it, else stay
// Differs from the paper: with probability k (0.05) any document follows, which makes every chain have one
// stationary distribution. Iterated from the uniform distribution until the change is below 1e-12, at most
// 1000 times.
//
// cost: MC1-MC3 O(entries) an iteration by sums along each list; MC4 O(sum of squared list lengths)
namespace metafuse::fusion::methods {
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

}  // namespace

void markov_chain_1(const QueryLists& query, const FusionOptions&, double k, Scores& scores) {
  std::vector<double> places(query.size(), 0.0);  // at or above the document, over its lists
  for (const auto& list : query.lists)
    for (std::size_t i = 0; i < list.size(); ++i) places[list[i].document] += static_cast<double>(i + 1);
  iterate(scores, k, [&](const Scores& from, Scores& to) {
    for (const auto& list : query.lists) {
      double mass = 0.0;
      for (std::size_t i = list.size(); i-- > 0;) {
        mass += from[list[i].document] / places[list[i].document];
        to[list[i].document] += mass;
      }
    }
  });
}

void markov_chain_2(const QueryLists& query, const FusionOptions&, double k, Scores& scores) {
  const std::vector<double> counts = list_counts(query);
  iterate(scores, k, [&](const Scores& from, Scores& to) {
    for (const auto& list : query.lists) {
      double mass = 0.0;
      for (std::size_t i = list.size(); i-- > 0;) {
        mass += from[list[i].document] / (counts[list[i].document] * static_cast<double>(i + 1));
        to[list[i].document] += mass;
      }
    }
  });
}

void markov_chain_3(const QueryLists& query, const FusionOptions&, double k, Scores& scores) {
  const std::vector<double> counts = list_counts(query);
  iterate(scores, k, [&](const Scores& from, Scores& to) {
    for (const auto& list : query.lists) {
      const auto length = static_cast<double>(list.size());
      double mass = 0.0;  // what documents further down send to each place
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
  std::vector<std::vector<std::uint32_t>> better(documents);  // what the majority prefers to a document
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

}  // namespace metafuse::fusion::methods
