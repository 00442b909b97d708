#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "evaluation/runs/run_file.h"

namespace metafuse::evaluation {

/// Kendall's tau of two orders, over the documents that both hold: the number of pairs in the same order
/// minus the number in opposite order, divided by the number of pairs; 1 when the lists share fewer than two
/// documents. A document occurs at most once per list.
///
/// cost:   O(n log n)
/// source: Kendall 1938
double kendall_tau(std::span<const std::string_view> a, std::span<const std::string_view> b);

/// Extrapolated rank-biased overlap (RBO_ext) of two lists, which may differ in length, with persistence p in
/// (0, 1): 1 for equal lists; 0 if they share nothing or one is empty.
///
/// source: Webber, Moffat, Zobel 2010, eq. (32)
double rank_biased_overlap(std::span<const std::string_view> a, std::span<const std::string_view> b,
                           double p = 0.9);

/// How alike two runs are: means over the topics that both have.
struct Agreement {
  std::string run;
  std::size_t topics = 0;
  double tau = 0.0;
  double overlap = 0.0;
};

Agreement agreement_of(const Run& run, const Run& reference);

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
