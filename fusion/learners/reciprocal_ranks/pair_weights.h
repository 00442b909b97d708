#pragma once

#include <vector>

#include "core/random.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::reciprocal_ranks {

/// What crucial pairs teach about lists.
struct PairWeights {
  /// Per feature, what is to be added to the log-odds of a pair for each difference in the shares of
  /// reciprocal rank fusion, which are 1 at the first rank here; 0 for a feature that is no rank.
  std::vector<double> added;
  /// How far another set of as many base queries would teach the same, 0 to 1: 2 r / (1 + r), where r is the
  /// correlation of what two halves of the base queries teach, over several divisions. 0 without pairs in
  /// both halves.
  double agreement = 0.0;
};

/// Finds the u that minimises
///     sum over pairs of w log(1 + e^(-u (x(above) - x(below)))) + lambda / 2 |u|^2,
/// where x are a document's shares, one per list, and the mean w is 1. Lists thus start alike, and a list
/// moves away from the others only as pairs add up: a few dozen clicks move it little, whereas as many rounds
/// of boosting fit them. The minimum is the only one (Newton's method).
///
/// in:     feedback - of the set; k - of the shares
/// cost:   7 fits of at most 15 steps, each O(pairs x lists that rank one of the two documents, squared), for
///         at most 200,000 pairs, drawn at random if there are more. Of pairs that follow from grades, each
///         document takes part in at most ten as the better one.
/// source: the loss of Burges et al., Learning to rank using gradient descent, 2005, for a weighted sum;
///         Spearman 1910 and Brown 1910 for the agreement
PairWeights weights_of_pairs(const TrainingSet& set, const rankboost::Feedback& feedback, double k,
                             Random random);

}  // namespace metafuse::fusion::reciprocal_ranks
