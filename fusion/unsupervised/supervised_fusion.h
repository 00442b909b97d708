#pragma once

#include <functional>
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
  std::size_t relevant = 0;       ///< judged relevant documents, whether retrieved or not
  const evaluation::QueryJudgments* judgments = nullptr;  ///< set by judged_lists()
};

/// The judged queries that have a list.
/// in: judgments - must outlive the result; lists_of(query id) - the lists of a query
std::vector<JudgedLists> judged_lists(const evaluation::Judgments& judgments, int relevance_level,
                                      const std::function<QueryLists(std::string_view query)>& lists_of);

/// Learns from judged queries what a method needs: `value_at` for supervised methods, `weights` for methods
/// that need weights. A list's weight is its mean average precision; tuned_weights instead searches for
/// weights that maximise the mean average precision of the fused lists.
///
/// in:     options - the user's; their parameter and normalisation apply in training too
/// out:    the options with `value_at` or `weights` filled in
/// errors: bad_data when no training query has a relevant document in a list
/// cost:   O(entries + lists x longest list); for tuned_weights that of tune_weights()
Result<FusionOptions> train_fusion(const FusionMethod& method, std::span<const JudgedLists> queries,
                                   FusionOptions options);

/// Finds the weights of a weighted sum of scores that maximise the mean average precision on training
/// queries, by coordinate search. The weights start in proportion to the lists' own precision, the best list
/// at 1. A sweep visits the lists in the order of their own precision and moves each weight up, or else down,
/// a grid for as long as that gains while the other weights stay. Sweeps repeat until no weight changes (at
/// most three; only one for more than fifty lists). Ties keep the old weight.
///
/// in:     queries - a document occurs at most once per list
/// cost:   sweeps x lists x queries x about 3 x (entries log entries + relevant), where entries are those of
///         one list of one query; each accepted weight adds one pass over the query's documents
/// source: Vogt, Cottrell 1999 (linear combination); the search is ours
std::vector<double> tune_weights(std::span<const JudgedLists> queries, Normalisation normalisation);

/// The mean average precision of the training queries when each list is weighted by its own mean average
/// precision, which is the start of tune_weights(). 0 without queries.
double precision_of_weighted_lists(std::span<const JudgedLists> queries, Normalisation normalisation);

/// The mean average precision of each list alone over the queries; empty without queries.
std::vector<double> mean_average_precisions(std::span<const JudgedLists> queries);

}  // namespace metafuse::fusion
