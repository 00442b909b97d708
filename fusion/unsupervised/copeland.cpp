#include "fusion/unsupervised/methods.h"

// Copeland's method: documents beaten by the majority of the lists minus documents beaten by (Copeland 1951).
// Among two documents a list prefers the one it ranks higher, a ranked one over an unranked one. cost:
// O(documents^2 x lists)
namespace metafuse::fusion::methods {

void copeland(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  const std::size_t documents = query.size();
  const std::vector<std::uint32_t> table = rank_table(query);
  std::vector<float> votes(documents);
  for (std::size_t a = 0; a < documents; ++a) {
    std::fill(votes.begin(), votes.end(), 0.0F);
    for (std::size_t list = 0; list < query.lists.size(); ++list) {
      const std::uint32_t* ranks = table.data() + list * documents;
      const auto weight = static_cast<float>(options.weight(list));
      // Unranked is 0: minus one makes it the largest number.
      const std::uint32_t own = ranks[a] - 1U;
      for (std::size_t b = a + 1; b < documents; ++b) {
        const std::uint32_t other = ranks[b] - 1U;
        votes[b] += own < other ? weight : own > other ? -weight : 0.0F;
      }
    }
    for (std::size_t b = a + 1; b < documents; ++b) {
      const double win = votes[b] > 0.0F ? 1.0 : votes[b] < 0.0F ? -1.0 : 0.0;
      scores[a] += win;
      scores[b] -= win;
    }
  }
}

}  // namespace metafuse::fusion::methods
