#include "service/learning/suggestions.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "fusion/input/training_set_builder.h"
#include "fusion/training/query_choice.h"
#include "service/learning/store_training.h"
#include "service/learning/stored_features.h"

namespace metafuse::service {
namespace {

/// Adds the documents of a search as rows without grades.
void add_pool_rows(fusion::TrainingSetBuilder& builder, const StoredSearch& search,
                   const std::vector<fusion::Feature>& features) {
  const fusion::QueryInstances instances = stored_instances(search, features);
  std::vector<fusion::Cell> cells;
  for (std::size_t document = 0; document < instances.documents.size(); ++document) {
    fusion::set_rank_cells(instances.ranks_of(document), cells);
    fusion::InstanceRow row;
    row.query = search.query;
    row.document = instances.documents[document];
    row.cells = cells;
    builder.add(row);
  }
}

/// The training set of all judgments and clicks so far; empty if there are none.
Result<fusion::TrainingSet> known_feedback(Store& store, const SuggestionOptions& options,
                                           const std::vector<fusion::Feature>& features) {
  StoreTrainingOptions training;
  training.domain = options.domain;
  training.now = options.now;
  training.are_held_out_used = true;
  training.features = features;
  auto set = training_set_from_store(store, training);
  if (set || set.error().code != Code::bad_data) return set;
  return fusion::TrainingSet();
}

}  // namespace

Result<std::vector<SuggestedQuery>> suggested_queries(Store& store, const SuggestionOptions& options) {
  TRY(const auto judged, store.judged_queries(options.domain));
  std::set<std::string_view> known;
  for (const JudgedQuery& query : judged) known.insert(query.query);
  TRY(auto asked, store.asked_queries(options.domain, kMaxQueued));
  std::erase_if(asked, [&](const AskedQuery& query) {
    return query.slots.slots.empty() || known.contains(query.query);
  });
  fusion::TrainingSetBuilder builder;
  std::vector<fusion::Feature> features = options.features;
  std::unordered_map<std::string, const AskedQuery*> by_digest;
  for (const AskedQuery& query : asked) {
    TRY(const auto search, store.find_search(query.search));
    if (!search || search->documents.empty()) continue;
    if (features.empty()) features = rank_features(*search);
    if (common_features(*search, features) == 0) continue;
    add_pool_rows(builder, *search, features);
    by_digest[query.query] = &query;
  }
  if (by_digest.empty()) return std::vector<SuggestedQuery>();
  TRY(const auto pool, builder.finish(features, {}));
  TRY(const auto feedback, known_feedback(store, options, features));
  fusion::QueryChoiceOptions choice;
  choice.count = options.count;
  choice.seed = options.seed;
  choice.threads = options.threads;
  TRY(const auto chosen, fusion::choose_queries(feedback, pool, choice));
  std::vector<SuggestedQuery> out;
  for (const fusion::QueryChoice& one : chosen) {
    SuggestedQuery suggestion{*by_digest.at(pool.queries[one.query].id), one.disagreement, {}};
    for (const std::size_t row : one.rows) suggestion.documents.emplace_back(pool.documents[row]);
    out.push_back(std::move(suggestion));
  }
  return out;
}

void order_by(const std::vector<SuggestedQuery>& suggestions, JudgingState& state) {
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < suggestions.size(); ++i) place.emplace(suggestions[i].asked.query, i);
  const auto key = [&](const QueuedQuery& query) {
    const auto at = place.find(query.asked.query);
    return std::pair(query.own_documents > 0, at == place.end() ? place.size() : at->second);
  };
  std::stable_sort(state.queries.begin(), state.queries.end(),
                   [&](const QueuedQuery& a, const QueuedQuery& b) { return key(a) < key(b); });
}

}  // namespace metafuse::service
