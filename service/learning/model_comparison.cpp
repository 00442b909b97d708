#include "service/learning/model_comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "evaluation/measures/discounted_gain.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/base_queries.h"
#include "fusion/data/features.h"
#include "fusion/model/fuse.h"
#include "service/learning/store_training.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kCutoff = 10;
/// With few queries each fold has few of them, because every query left out is missed in training.
constexpr std::size_t kFewQueries = 20;
constexpr std::size_t kFoldsOfFew = 10;
constexpr std::size_t kFoldsOfMany = 5;

double gain_at(int grade, std::size_t position) {
  return evaluation::exponential_gain(grade) / evaluation::log_discount(position + 1);
}

/// The place of the first document with the best grade, from 1; 0 if none is there.
int best_place(const std::vector<std::string_view>& order, const std::map<std::string, int>& grades) {
  int best = 1;
  for (const auto& [document, grade] : grades) best = std::max(best, grade);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (const auto at = grades.find(std::string(order[i])); at != grades.end() && at->second == best)
      return static_cast<int>(i) + 1;
  return 0;
}

/// A judged query, and the lists of the search that it is ordered by.
struct JudgedSearch {
  std::string query;
  StoredSearch search;
  std::map<std::string, int> grades;
  ChangedPlace place{};

  std::vector<std::string_view> order_by(const ServedOrder& by) const {
    return without_set_aside(stored_ranking(search, by), search, grades);
  }
};

/// The held-out queries on which models can be measured: people judged a document relevant, and some search
/// of the query has a list of these features.
Result<std::vector<JudgedSearch>> measurable_held_out(Store& store, std::string_view domain,
                                                      const std::vector<fusion::Feature>& features) {
  std::vector<JudgedSearch> out;
  TRY(const auto judged, judged_by_people(store, domain));
  for (const JudgedQuery& query : judged) {
    auto grades = grades_of(query);
    const auto is_relevant = [](const auto& item) { return item.second > 0; };
    if (!is_held_out(query.query) || std::none_of(grades.begin(), grades.end(), is_relevant)) continue;
    TRY(auto search, search_to_learn(store, domain, query, features));
    if (search) out.push_back({query.query, std::move(*search), std::move(grades)});
  }
  return out;
}

/// The judged queries whose best-graded document some order can place.
Result<std::vector<JudgedSearch>> answerable_queries(Store& store, const GainRequest& request) {
  std::vector<JudgedSearch> out;
  TRY(const auto judged, judged_by_people(store, request.domain));
  for (const JudgedQuery& query : judged) {
    TRY(const auto search, search_to_learn(store, request.domain, query, request.set->matrix.features()));
    if (!search) continue;
    JudgedSearch item{query.query, *search, grades_of(query)};
    item.place = {query.query, best_place(item.order_by(request.before), item.grades), 0};
    if (item.place.before > 0) out.push_back(std::move(item));
  }
  return out;
}

/// The training set without the base queries of one fold.
fusion::TrainingSet without_fold(const fusion::TrainingSet& set, const std::vector<std::string_view>& ids,
                                 const evaluation::Folds& folds, std::size_t fold) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < set.queries.size(); ++i) {
    const std::string_view query = fusion::base_query_of(set.queries[i].id);
    const auto at = std::find(ids.begin(), ids.end(), query);
    if (at == ids.end() || folds.fold_of[static_cast<std::size_t>(at - ids.begin())] != fold)
      kept.push_back(i);
  }
  return fusion::select_queries(set, kept);
}

/// Sets the places of all queries in the order of models that have not seen them.
Result<void> place_by_folds(const GainRequest& request, std::vector<JudgedSearch>& queries) {
  std::vector<std::string_view> ids;
  for (const JudgedSearch& query : queries) ids.push_back(query.query);
  const std::size_t count = ids.size() <= kFewQueries ? std::min(ids.size(), kFoldsOfFew) : kFoldsOfMany;
  TRY(const auto folds, evaluation::random_folds(ids, count, request.seed));
  for (std::size_t fold = 0; fold < count; ++fold) {
    const auto set = without_fold(*request.set, ids, folds, fold);
    fusion::TrainingRequest training;
    training.train = &set;
    training.prior = request.prior;
    training.options = request.options;
    training.seed = request.seed;
    training.threads = request.threads;
    training.trace.is_wanted = false;
    TRY(const auto trained, request.learner->train(training));
    for (std::size_t i = 0; i < queries.size(); ++i)
      if (folds.fold_of[i] == fold)
        queries[i].place.after = best_place(queries[i].order_by({&trained.model}), queries[i].grades);
  }
  return {};
}

double reciprocal(int place) {
  return place > 0 ? 1.0 / place : 0.0;
}

double improvement(const ChangedPlace& place) {
  return reciprocal(place.after) - reciprocal(place.before);
}

}  // namespace

std::vector<std::string_view> without_set_aside(std::vector<std::string_view> order,
                                                const StoredSearch& search,
                                                const std::map<std::string, int>& grades) {
  const auto set_aside = set_aside_documents(search);
  std::erase_if(order, [&](std::string_view document) {
    return set_aside.contains(document) && !grades.contains(std::string(document));
  });
  return order;
}

std::optional<double> judged_ndcg(const std::vector<std::string_view>& order,
                                  const std::map<std::string, int>& grades) {
  std::vector<int> ideal;
  for (const auto& [document, grade] : grades) ideal.push_back(grade);
  std::sort(ideal.begin(), ideal.end(), std::greater<>());
  double best = 0;
  for (std::size_t i = 0; i < std::min(kCutoff, ideal.size()); ++i) best += gain_at(ideal[i], i);
  if (best <= 0) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < std::min(kCutoff, order.size()); ++i)
    if (const auto at = grades.find(std::string(order[i])); at != grades.end()) sum += gain_at(at->second, i);
  return sum / best;
}

std::vector<std::string_view> stored_ranking(const StoredSearch& search, const ServedOrder& by) {
  std::vector<std::string_view> out;
  if (by.model != nullptr) {
    const auto fused = fusion::fuse(*by.model, stored_instances(search, by.model->features));
    for (const std::uint32_t i : fused.order) out.push_back(fused.instances.documents[i]);
    return out;
  }
  const auto instances = stored_instances(search, rank_features(search));
  std::vector<double> scores;
  for (std::size_t i = 0; i < instances.documents.size(); ++i)
    scores.push_back(fusion::reciprocal_rank_score(instances.ranks_of(i), by.rrf_k));
  for (const std::uint32_t i : fusion::order_instances(instances, scores))
    out.push_back(instances.documents[i]);
  return out;
}

Result<OrderValues> measure_on_held_out(Store& store, std::string_view domain, const ServedOrder& before,
                                        const fusion::Model& after) {
  OrderValues values;
  TRY(const auto queries, measurable_held_out(store, domain, after.features));
  for (const JudgedSearch& query : queries) {
    values.before.push_back(judged_ndcg(query.order_by(before), query.grades).value_or(0.0));
    values.after.push_back(judged_ndcg(query.order_by({&after}), query.grades).value_or(0.0));
  }
  return values;
}

Result<std::size_t> held_out_queries(Store& store, std::string_view domain,
                                     const std::vector<fusion::Feature>& features) {
  TRY(const auto queries, measurable_held_out(store, domain, features));
  return queries.size();
}

Result<LearningStory> learning_story(Store& store, std::string_view domain, const ModelState& state) {
  LearningStory story;
  story.decision = state.decision.text;
  if (!state.gain) return story;
  story.gain = gain_text(*state.gain);
  for (const auto* places : {&state.gain->better, &state.gain->worse})
    for (const ChangedPlace& place : *places) {
      TRY(const auto asked, store.searches.find_query(domain, place.query));
      const std::string words = asked ? words_of(asked->slots) : "";
      story.changes.push_back(fmt::format("{}: place {} before, {} now", words.empty() ? "a query" : words,
                                          place.before, place.after));
    }
  return story;
}

Result<JudgedGain> cross_validated_gain(Store& store, const GainRequest& request) {
  TRY(auto queries, answerable_queries(store, request));
  JudgedGain gain;
  gain.queries = queries.size();
  if (queries.size() < 2) return gain;
  TRY_VOID(place_by_folds(request, queries));
  std::vector<double> before;
  std::vector<double> after;
  for (const JudgedSearch& query : queries) {
    before.push_back(reciprocal(query.place.before));
    after.push_back(reciprocal(query.place.after));
    gain.before += before.back() / static_cast<double>(queries.size());
    gain.after += after.back() / static_cast<double>(queries.size());
    if (query.place.before != query.place.after)
      (improvement(query.place) > 0 ? gain.better : gain.worse).push_back(query.place);
  }
  gain.error = evaluation::error_of_difference(after, before, evaluation::kOneStandardError);
  const auto by_size = [](const ChangedPlace& a, const ChangedPlace& b) {
    return std::abs(improvement(a)) > std::abs(improvement(b));
  };
  std::stable_sort(gain.better.begin(), gain.better.end(), by_size);
  std::stable_sort(gain.worse.begin(), gain.worse.end(), by_size);
  return gain;
}

}  // namespace metafuse::service
