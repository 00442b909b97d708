#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace metafuse::evaluation {

/// How far two judges agree beyond what chance would give.
struct JudgeAgreement {
  std::size_t documents = 0;    ///< graded by both
  double share_equal = 0.0;     ///< of the documents, those with equal grades
  double kappa = 0.0;           ///< 1 for equal grades throughout, 0 for agreement by chance
  double weighted_kappa = 0.0;  ///< the same with a miss by k grades counted as k^2
};

/// Cohen's kappa of the grades that two judges gave to the same documents.
///
/// in:     grades - of each document, the first judge's and the second's
/// out:    zeros without documents; where both judges gave one and the same grade to everything, chance
///         alone explains all, and kappa is 1 by convention
/// cost:   O(n log n)
/// source: Cohen 1960; weights: Cohen 1968, with the squared difference as the disagreement
JudgeAgreement judge_agreement(std::span<const std::pair<int, int>> grades);

}  // namespace metafuse::evaluation
