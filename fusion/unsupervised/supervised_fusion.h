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
  std::size_t relevant = 0;  ///< judged relevant documents, whether retrieved or not
};

JudgedLists judge_lists(QueryLists query, const evaluation::QueryJudgments& judgments, int relevance_level);

/// Learns from judged queries what a method needs: `knowledge` for supervised methods, `weights` for methods
/// that need weights. A list's weight is its mean average precision; tuned_weights instead searches for
/// weights that maximise the mean average precision of the fused lists.
///
/// in:     options - the user's; their parameter and normalisation apply in training too
/// out:    the options with `knowledge` or `weights` filled in
/// errors: bad_data when no training query has a relevant document in a list
/// cost:   O(entries); for tuned_weights that of tune_weights()
Result<FusionOptions> train_fusion(const FusionMethod& method, std::span<const JudgedLists> queries,
                                   FusionOptions options);

}  // namespace metafuse::fusion
