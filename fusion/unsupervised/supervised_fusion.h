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

/// Learns what a method needs from judged queries: knowledge for the supervised ones, weights for those that
/// need weights (each list's mean average precision; tuned_weights by coordinate search on the mean average
/// precision of the fused lists).
///
/// in:     options - the user's; its parameter and normalisation hold in training too
/// out:    options with `knowledge` or `weights` filled
/// errors: bad_data when no training query has a relevant document in a list
/// cost:   O(entries); tuned_weights as tune_weights()
Result<FusionOptions> train_fusion(const FusionMethod& method, std::span<const JudgedLists> queries,
                                   FusionOptions options);

}  // namespace metafuse::fusion
