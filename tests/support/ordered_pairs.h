#pragma once

#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::test {

/// The share of pairs with different grades, within a query, that the scores order correctly; a tie
/// counts half.
inline double share_of_rightly_ordered_pairs(const fusion::TrainingSet& set,
                                             const std::vector<double>& scores) {
  double right = 0.0;
  double pairs = 0.0;
  for (const fusion::QueryRange& query : set.queries)
    for (std::size_t a = query.begin; a < query.end; ++a)
      for (std::size_t b = query.begin; b < query.end; ++b)
        if (set.grades[a] > set.grades[b]) {
          pairs += 1.0;
          right += scores[a] > scores[b] ? 1.0 : scores[a] == scores[b] ? 0.5 : 0.0;
        }
  return right / pairs;
}

}  // namespace metafuse::test
