#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "evaluation/runs/judgments.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::fusion {

/// One training query: its lists, and which documents are relevant.
struct JudgedLists {
  QueryLists query;
  std::vector<char> is_relevant;  ///< one per document
  std::vector<char> is_judged;
  std::size_t relevant = 0;  ///< judged relevant, retrieved or not
};

JudgedLists judge_lists(QueryLists query, const evaluation::QueryJudgments& judgments, int relevance_level);

/// Weights of a weighted sum of scores that maximise the mean average precision on training queries, by
/// coordinate search: lists in the order of their own precision, each tried at multiples of a step while the
/// others stay, in sweeps until no weight changes (at most three, one for more than fifty lists). The weights
/// start in proportion to `precisions`, the best list at 1. Ties keep the weight that was there.
///
/// source: Vogt, Cottrell 1999 (linear combination); the search is ours
/// cost:   O(sweeps x lists x 8 x entries + documents log documents)
std::vector<double> tune_weights(std::span<const JudgedLists> queries, const std::vector<double>& precisions,
                                 Normalisation normalisation);

/// Learns what a method needs from judged queries: knowledge for the supervised ones, weights for those that
/// need weights (each list's mean average precision; tuned_weights by coordinate search on the mean average
/// precision of the fused lists).
///
/// in:     options - the user's; its parameter and normalisation hold in training too
/// out:    options with `knowledge` or `weights` filled
/// errors: bad_data when no training query has a relevant document in a list
/// cost:   O(entries); tuned_weights O(lists x grid x sweeps x documents log documents)
Result<FusionOptions> train_fusion(const FusionMethod& method, std::span<const JudgedLists> queries,
                                   FusionOptions options);

}  // namespace metafuse::fusion
