#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"
#include "fusion/data/training_set.h"
#include "fusion/training/learned_from.h"
#include "service/learning/click_pairs.h"
#include "service/learning/judge_grades.h"
#include "service/learning/judgment_transfer.h"
#include "service/store/store.h"

namespace metafuse::service {

/// A search's rank features, each once, in the order of its lists.
std::vector<fusion::Feature> rank_features(const StoredSearch& search);

/// The instances of a search under a model's rank features, made by the same function as when the search was
/// served. If several lists belong to one feature (a template's own and a caller's variants), the best rank
/// counts. A feature without a list leaves every document unranked.
///
/// out: views into the search; documents that are in no list of these features are left out
fusion::QueryInstances stored_instances(const StoredSearch& search,
                                        const std::vector<fusion::Feature>& features);

/// The documents of a search that were no results of their own. If they have no grade, that says nothing.
std::set<std::string_view> set_aside_documents(const StoredSearch& search);

/// For how many of the rank features the search has a list.
std::size_t common_features(const StoredSearch& search, const std::vector<fusion::Feature>& features);

/// Which of a store's data become training data.
struct StoreTrainingOptions {
  std::string domain;
  UnixTime now = 0;
  ClickRules clicks;
  std::size_t most_clicked_searches = 20000;  ///< the latest ones
  double most_of_query = 50;       ///< largest total weight of the pairs of one base query's clicks
  bool are_held_out_used = false;  ///< also learn from the held-out queries
  /// Ignore the unjudged documents of judged queries; else they have grade 0.
  bool are_unjudged_ignored = false;
  /// The domain's rank features; empty: those that most searches have.
  std::vector<fusion::Feature> features;
  std::string derive;  ///< derived features: "lists,rrf,best-rank,median-rank"
  fusion::FeedbackOptions feedback;
  JudgeChoice judges;
  /// Queries judged elsewhere, which are learned from, too. If the store has judgments of the same query,
  /// those are used instead.
  std::vector<OfflineQuery> offline;
};

struct StoreTrainingReport {
  std::size_t judged_queries = 0;            ///< learned from, judged by people
  std::string model;                         ///< the language model whose judgments count, too; empty: none
  bool is_model_unknown = false;             ///< the store has no judgment of it
  std::vector<std::string> models;           ///< then: whose judgments the store has
  std::size_t model_queries = 0;             ///< learned from, judged by the model only
  std::size_t answerable_model_queries = 0;  ///< of them, those with a relevant document in a list
  std::size_t calibrated_by = 0;      ///< documents whose two grades say how to read the model's grades
  std::size_t offline_queries = 0;    ///< learned from, judged outside of the store
  std::size_t held_out_queries = 0;   ///< judged, and held out for measuring promotions
  std::size_t clicked_searches = 0;   ///< learned from
  std::size_t held_out_searches = 0;  ///< clicked, but their base query is held out
  std::size_t click_pairs = 0;
  std::size_t foreign_searches = 0;  ///< searches that share no feature with the domain or no longer exist
  std::size_t capped_searches = 0;   ///< their base query's weight was already used up
  /// Pairs from clicks whose documents judges graded differently: whether clicks agree with the judges. Only
  /// of queries that are learned from, because promotions are measured by the others' judgments.
  std::size_t agreeing_pairs = 0;
  std::size_t disagreeing_pairs = 0;
  double click_trust = 0;  ///< weight of a click's pair relative to a judged pair, from 0 to 1
  /// Estimated from results shown at several positions; else the prior is used.
  bool has_position_bias = false;

  bool has_feedback() const {
    return judged_queries + model_queries + offline_queries + clicked_searches > 0;
  }
  /// That the store has no judgment of the model, and of which it has some; empty if it has.
  std::string unknown_model() const;
  /// The language model whose judgments were learned from.
  fusion::LearnedJudge judge(const JudgeChoice& choice) const {
    return {model,          choice.is_only ? 1.0 : choice.weight,
            choice.is_only, choice.is_calibrated,
            model_queries,  answerable_model_queries};
  }
  /// The sentence for a domain without feedback.
  std::string too_little(const std::string& domain) const;
  /// All of it in one sentence.
  std::string text() const;
};

/// Whether a base query is one of the 3 in 10 that no model is trained on, so that models can be measured on
/// its judgments. It depends only on the query's digest, so it is the same for every model and never changes.
bool is_held_out(std::string_view query);

/// The search whose lists a judged query is learned from: the one that was judged last or, if that has no
/// list of these features, as after an import, the latest search of the same query. Else nothing.
///
/// in: features - empty: any list will do
Result<std::optional<StoredSearch>> search_to_learn(Store& store, std::string_view domain,
                                                    const JudgedQuery& query,
                                                    const std::vector<fusion::Feature>& features);

/// A domain's judgments and clicks as a training set. A query that people judged is learned from their grades
/// alone; one that only a chosen model judged, from the model's, with the weight of the choice. What a model
/// did not grade is left out, since it lay deeper than the pool and may be good. A judged base query gets the
/// lists of the search that was judged last. A clicked search gets the pairs of click_pairs(), whose weights
/// decay and are bounded; its query is named "clicked DIGEST#SEARCH".
///
/// out:    empty if nothing was judged or clicked, as report->has_feedback() says
/// errors: those of the store
/// cost:   every search is read once and kept until the end
Result<fusion::TrainingSet> training_set_from_store(Store& store, const StoreTrainingOptions& options,
                                                    StoreTrainingReport* report = nullptr);

}  // namespace metafuse::service
