// Fuses the lists of one query, by a method or by a model, and explains a document's score.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/json.h"
#include "fusion/model/fuse.h"
#include "library/fusing.h"

namespace metafuse::library {
namespace {

using evaluation::RunTopic;
using fusion::FusionMethod;
using fusion::FusionOptions;
using fusion::ListEntry;
using fusion::QueryLists;
using fusion::ScoreQuery;

/// The documents of a list with their scores. A document that occurs twice counts at its better rank.
Result<std::vector<ListEntry>> entries_of(const metafuse_list& list, evaluation::IdTable& ids) {
  if (list.count > 0) TRY_VOID(check_given(list.documents, "the documents of a list"));
  std::vector<ListEntry> entries;
  std::vector<char> is_seen;
  bool is_new = false;
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.documents[i] == nullptr || *list.documents[i] == '\0')
      return fail(Code::usage,
                  fmt::format("list {}, document {}: the id is empty; give one", list.name, i + 1));
    const double score = list.scores == nullptr ? kNoScore : list.scores[i];
    if (list.scores != nullptr && !std::isfinite(score))
      return fail(Code::usage,
                  fmt::format("list {}: the score of {} is not finite; give every document a number",
                              list.name, list.documents[i]));
    const std::uint32_t document = ids.insert(list.documents[i], is_new);
    if (document >= is_seen.size()) is_seen.resize(document + 1);
    if (is_seen[document] != 0) continue;
    is_seen[document] = 1;
    entries.push_back({document, score});
  }
  return entries;
}

Result<QueryLists> query_of(const metafuse_list* lists, std::size_t count) {
  if (count == 0) return fail(Code::usage, "no list is given; give one or more");
  TRY_VOID(check_given(lists, "lists"));
  QueryLists query;
  evaluation::IdTable ids;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given(lists[i].name, "the name of a list"));
    if (!names.insert(lists[i].name).second)
      return fail(Code::usage,
                  fmt::format("two lists are named \"{}\"; names must be unique", lists[i].name));
    TRY(auto entries, entries_of(lists[i], ids));
    query.lists.push_back(std::move(entries));
  }
  query.documents = ids.ids();
  return query;
}

/// Orders documents by descending score, then by best rank, then by the order in which the lists first
/// name them.
std::vector<std::uint32_t> callers_order(const QueryLists& query, const std::vector<double>& scores) {
  const auto standing = standings(query);
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (scores[a] != scores[b]) return scores[a] > scores[b];
    const std::uint32_t best_of_a = standing[a].best_rank;
    const std::uint32_t best_of_b = standing[b].best_rank;
    return best_of_a != best_of_b ? best_of_a < best_of_b : a < b;
  });
  return order;
}

metafuse_run* fused_query(const QueryLists& query, const std::vector<double>& scores, std::size_t limit) {
  std::vector<RunTopic> topics{fused_topic("", query, scores, callers_order(query, scores), limit)};
  return owned_run("metafuse", std::move(topics));
}

Result<std::vector<double>> scores_by_method(const metafuse_list* lists, const QueryLists& query,
                                             const FusionMethod& method, const FusionOptions& options) {
  if (method.is_supervised)
    return fail(Code::usage,
                fmt::format("the method {} learns from judgments; use it on runs, or fuse the lists with "
                            "another method or a model",
                            method.name));
  TRY_VOID(check_fusion_options(method, options, query.lists.size()));
  for (std::size_t i = 0; i < query.lists.size(); ++i)
    TRY_VOID(check_scores(method, options, lists[i].scores != nullptr || lists[i].count == 0, lists[i].name));
  return fuse_scores(method, query, options);
}

Result<ScoreQuery> score_by_model(const metafuse_model& model, const metafuse_list* lists,
                                  std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(lists[i].name);
  return score_with_model(model.model, names, true);
}

JsonObject explanation_json(const fusion::Model& model, const fusion::Explanation& explanation) {
  JsonArray features;
  for (const fusion::FeatureShare& share : explanation.features)
    features.push_back(JsonObject{{"feature", model.features[share.feature].name},
                                  {"rank", share.rank > 0 ? Json(share.rank) : Json(nullptr)},
                                  {"weight", share.weight}});
  return {{"score", explanation.score}, {"features", std::move(features)}};
}

Result<std::string> explained(const metafuse_model& model, const metafuse_list* lists, std::size_t count,
                              std::string_view document) {
  TRY(const QueryLists query, query_of(lists, count));
  TRY_VOID(score_by_model(model, lists, count));  // refuses names that the model does not know
  std::vector<std::vector<std::string_view>> ids(model.lists.size());
  std::vector<std::vector<double>> scores(model.lists.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(
        std::find(model.lists.begin(), model.lists.end(), lists[i].name) - model.lists.begin());
    for (const ListEntry& entry : query.lists[i]) {
      ids[place].push_back(query.documents[entry.document]);
      scores[place].push_back(entry.score);
    }
  }
  const auto ranking =
      fusion::fuse(model.model, std::vector<fusion::RankedIds>(ids.begin(), ids.end()), scores);
  const auto& known = ranking.instances.documents;
  const auto at = std::lower_bound(known.begin(), known.end(), document);
  if (at == known.end() || *at != document)
    return fail(Code::usage,
                fmt::format("no list contains the document {} within the model's depth", document));
  JsonObject out{{"document", document}};
  const auto why = explain(model.model, ranking, static_cast<std::size_t>(at - known.begin()));
  for (auto& [name, value] : explanation_json(model.model, why)) out[name] = value;
  return to_text(out);
}

}  // namespace
}  // namespace metafuse::library

using namespace metafuse;
using namespace metafuse::library;

int metafuse_fuse_lists(const metafuse_list* lists, size_t count, const char* method,
                        const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(fused, "fused"));
    TRY(const auto* const row, method_named(method));
    TRY(const auto settings, read_settings(options, option_count, {declare_limit, declare_method}));
    TRY(const auto query, query_of(lists, count));
    TRY(const auto scores, scores_by_method(lists, query, *row, settings.method));
    *fused = fused_query(query, scores, settings.limit);
    return {};
  });
}

int metafuse_model_fuse_lists(const metafuse_model* model, const metafuse_list* lists, size_t count,
                              const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(fused, "fused"));
    TRY(const auto settings, read_settings(options, option_count, {declare_limit}));
    TRY(const auto query, query_of(lists, count));
    TRY(const auto score, score_by_model(*model, lists, count));
    *fused = fused_query(query, score(query), settings.limit);
    return {};
  });
}

int metafuse_model_explain(const metafuse_model* model, const metafuse_list* lists, size_t count,
                           const char* document, char** json) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(document, "document"));
    TRY_VOID(check_given(json, "json"));
    TRY(const auto text, explained(*model, lists, count, document));
    *json = as_owned(text);
    return {};
  });
}
