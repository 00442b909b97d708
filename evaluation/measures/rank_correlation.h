#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/runs/run_file.h"

namespace metafuse::evaluation {

/// Kendall's tau of two orders over the documents that both hold: pairs in the same order minus pairs in
/// the opposite order, divided by all pairs; 1 when fewer than two are shared. Each document stands once in
/// a list.
///
/// cost:   O(n log n)
/// source: Kendall 1938
double kendall_tau(std::span<const std::string_view> a, std::span<const std::string_view> b);

/// Rank-biased overlap, extrapolated (RBO_ext), of two lists that may differ in length; persistence p in (0,
/// 1). 1 for equal lists, 0 for lists that share nothing or when one is empty.
///
/// source: Webber, Moffat, Zobel 2010, eq. (32)
double rank_biased_overlap(std::span<const std::string_view> a, std::span<const std::string_view> b,
                           double p = 0.9);

/// How alike two runs are: means over the topics of both.
struct Agreement {
  std::string run;
  std::size_t topics = 0;
  double tau = 0.0;
  double overlap = 0.0;
};

Agreement agreement_of(const Run& run, const Run& reference);

}  // namespace metafuse::evaluation
