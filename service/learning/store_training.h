#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "service/learning/click_pairs.h"
#include "service/learning/judgment_transfer.h"
#include "service/store/store.h"

namespace metafuse::service {

/// What of a store becomes training data.
struct StoreTrainingOptions {
  std::string domain;
  UnixTime now = 0;
  ClickRules clicks;
  std::size_t most_clicked_searches = 20000;  ///< the latest ones
  double most_of_query = 50;                  ///< what the pairs of one base query's clicks weigh together
  bool are_held_out_used = false;             ///< also learn from what promotions are measured on
  bool are_unjudged_ignored = false;          ///< of judged queries: else unjudged documents have grade 0
  std::vector<fusion::Feature> features;      ///< the domain's rank features; empty: those of most searches
  std::string derive;                         ///< derived features: "lists,rrf,best-rank,median-rank"
  fusion::FeedbackOptions feedback;
  /// Judged elsewhere and learned from too; where the store judged the same query, the store's is taken.
  std::vector<OfflineQuery> offline;
};

struct StoreTrainingReport {
  std::size_t judged_queries = 0;     ///< learned from
  std::size_t offline_queries = 0;    ///< learned from, judged outside of the store
  std::size_t held_out_queries = 0;   ///< judged, and kept for measuring promotions
  std::size_t clicked_searches = 0;   ///< learned from
  std::size_t held_out_searches = 0;  ///< clicked, but their base query is held out
  std::size_t click_pairs = 0;
  std::size_t foreign_searches = 0;  ///< share no feature with the domain, or are gone
  std::size_t capped_searches = 0;   ///< their base query had its share already
  /// Pairs of held-out searches' clicks whose documents judges graded differently, by who is right.
  std::size_t agreeing_pairs = 0;
  std::size_t disagreeing_pairs = 0;
  double click_trust = 0;          ///< what a click's pair counts beside a judged one, from 0 to 1
  bool has_position_bias = false;  ///< harvested from results that stood at several positions; else believed

  std::string text() const;
};

/// Whether a base query is one of the 3 in 10 that no model is trained on, so that models can be measured on
/// its judgments. Decided by its digest alone: the same for every model, for ever.
bool is_held_out(std::string_view query);

/// One grade per document out of several judges': the lower median.
std::map<std::string, int> grades_of(const JudgedQuery& query);

/// Judgments and clicks of a domain as a training set: a judged base query with the lists of the search that
/// was judged last, and a clicked search with the pairs of click_pairs(), which decay and are bounded. A
/// clicked search's query is named "clicked DIGEST#SEARCH".
///
/// errors: those of the store; bad_data when nothing was judged or clicked, with what to do
Result<fusion::TrainingSet> training_set_from_store(Store& store, const StoreTrainingOptions& options,
                                                    StoreTrainingReport* report = nullptr);

}  // namespace metafuse::service
