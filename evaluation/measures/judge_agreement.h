#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace metafuse::evaluation {

/// How far two judges agree beyond what chance would give.
struct JudgeAgreement {
  std::size_t documents = 0;    ///< graded by both judges
  double share_equal = 0.0;     ///< the share of these documents whose two grades are equal
  double kappa = 0.0;           ///< 1 if all grades are equal, 0 for agreement as by chance
  double weighted_kappa = 0.0;  ///< the same, with a difference of k grades weighted by k^2
};

/// Cohen's kappa of the grades that two judges gave to the same documents.
///
/// in:     grades - one pair per document: the first judge's grade and the second's
/// out:    all zero without documents; kappa is 1 by convention when both judges gave every document one and
///         the same grade, since chance alone then explains the agreement
/// cost:   O(n log n)
/// source: Cohen 1960; weights: Cohen 1968, with the squared difference as the disagreement
JudgeAgreement judge_agreement(std::span<const std::pair<int, int>> grades);

}  // namespace metafuse::evaluation
