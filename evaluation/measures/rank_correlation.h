#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace metafuse::evaluation
