#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/unsupervised/query_lists.h"

namespace metafuse::fusion {

/// A way to order documents that needs no training: one score a row of [begin, end), higher is better.
struct Baseline {
  std::string name;
  std::function<std::vector<double>(const FeatureMatrix& matrix, std::size_t begin, std::size_t end)> score;
};

/// The rank features of some rows as the lists that they came from; document numbers count from `begin`, and
/// an entry's score is minus its rank.
QueryLists lists_of(const FeatureMatrix& matrix, std::size_t begin, std::size_t end);

/// RRF, CombMNZ, Borda and SearXNG's formula over the rank features: what every table compares a learner
/// with.
std::vector<Baseline> rank_baselines();

}  // namespace metafuse::fusion
