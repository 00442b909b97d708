#include <algorithm>

#include "fusion/unsupervised/methods.h"

// Copeland's method: documents beaten by the majority of the lists minus documents beaten by (Copeland 1951).
// Among two documents a list prefers the one it ranks higher, a ranked one over an unranked one.
//
// cost: O(sum of squared list lengths + documents^2)
namespace metafuse::fusion::methods {

void copeland(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  const std::size_t documents = query.size();
  const std::vector<std::uint32_t> table = rank_table(query);
  // The lists that hold one of a and b alone add up to held[a] - held[b]; those that hold both cancel there
  // and vote by their ranks.
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

}  // namespace metafuse::fusion::methods
