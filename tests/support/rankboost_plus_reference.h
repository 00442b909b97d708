#pragma once

#include <cstddef>
#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::fusion::test {

/// A crucial pair and its share of D_1.
struct ReferencePair {
  std::size_t below = 0;
  std::size_t above = 0;
  double weight = 0.0;
};

/// Binary weak rankings as rows of zeros and ones, one per document.
using BinaryRankings = std::vector<std::vector<int>>;

/// A training set of one query with the given grades and one 0/1 feature per ranking.
TrainingSet binary_set(const BinaryRankings& rankings, const std::vector<double>& grades);

/// The same with explicit pairs (below, above) instead of grades.
TrainingSet paired_set(const BinaryRankings& rankings, std::size_t documents,
                       const std::vector<ReferencePair>& pairs);

/// Every crucial pair of a set, found by the definition in O(documents^2).
std::vector<ReferencePair> reference_pairs(const TrainingSet& set);

/// F2(eta) of Connamacher et al. 2020, eqs. (22)-(23), computed pair by pair and ranking by ranking.
double reference_f2(const BinaryRankings& rankings, const std::vector<double>& eta,
                    const std::vector<ReferencePair>& pairs);
/// F1(eta), eq. (6), with its sign changed so that it equals eq. (5).
double reference_f1(const BinaryRankings& rankings, const std::vector<double>& eta,
                    const std::vector<ReferencePair>& pairs);

/// The minimum of F2, by damped Newton steps on its definition; empty if they diverge (separable pairs).
std::vector<double> reference_minimum(const BinaryRankings& rankings,
                                      const std::vector<ReferencePair>& pairs);

/// The rank of the matrix of the rankings' differences over the pairs, by elimination with full pivoting.
std::size_t reference_rank(const BinaryRankings& rankings, const std::vector<ReferencePair>& pairs);

struct ReferenceRound {
  std::size_t ranking = 0;
  double alpha = 0.0;
  double slope = 0.0;
  double f2 = 0.0;
};

/// RankBoost+ by Algorithm 2 without pruning; each round recomputes everything from the definitions.
std::vector<ReferenceRound> reference_plus(const BinaryRankings& rankings,
                                           const std::vector<ReferencePair>& pairs, std::size_t rounds);

}  // namespace metafuse::fusion::test
