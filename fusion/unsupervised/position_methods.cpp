#include <algorithm>

#include "fusion/unsupervised/methods.h"

// Supervised methods whose learned knowledge is a value for every list and position (supervised_fusion.h
// makes it): the score is the sum of the values, in SegFuse each times 1 + the normalised score (Shokouhi
// 2007).
namespace metafuse::fusion::methods {
namespace {

double value_at(const std::vector<double>& values, std::size_t position) {
  return values.empty() ? 0.0 : values[std::min(position, values.size() - 1)];
}

}  // namespace

void sum_of_position_values(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (std::size_t i = 0; i < query.lists[list].size(); ++i)
      scores[query.lists[list][i].document] += value_at(options.knowledge.value_at[list], i);
}

void segfuse(const QueryLists& query, const FusionOptions& options, double, Scores& scores) {
  for (std::size_t list = 0; list < query.lists.size(); ++list)
    for (std::size_t i = 0; i < query.lists[list].size(); ++i) {
      const ListEntry& entry = query.lists[list][i];
      scores[entry.document] += value_at(options.knowledge.value_at[list], i) * (1.0 + entry.score);
    }
}

}  // namespace metafuse::fusion::methods
