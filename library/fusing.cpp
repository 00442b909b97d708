// Fusing of metafuse.h: by a method or by a model, lists of one query or whole runs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/json.h"
#include "core/near_names.h"
#include "core/number.h"
#include "core/parallel.h"
#include "fusion/model/fuse.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/fuse_runs.h"
#include "fusion/unsupervised/supervised_fusion.h"
#include "library/handles.h"

namespace metafuse::library {
namespace {

using evaluation::Run;
using evaluation::RunTopic;
using fusion::FusionMethod;
using fusion::FusionOptions;
using fusion::ListEntry;
using fusion::QueryLists;
using fusion::ScoreQuery;

/// Of a document whose list has no scores: no method that looks at scores sees it (check_scores), and a model
/// whose features are scores takes it as unranked.
constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

/// What every way of fusing may be told.
struct FuseSettings {
  FusionOptions method;
  std::size_t depth = 0;
  std::size_t limit = 0;
  unsigned threads = hardware_threads();
  int relevance_level = 1;
  std::string tag = "metafuse";
  bool may_be_missing = false;
};

Result<std::vector<double>> weights_of(const std::string& text) {
  std::vector<double> weights;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    double weight = 0.0;
    if (!to_double(std::string_view(text).substr(at, end - at), weight))
      return fail(Code::usage, fmt::format("weights {}: give numbers separated by commas", text));
    weights.push_back(weight);
    at = end + 1;
  }
  return weights;
}

void declare_limit(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("limit", settings.limit, 0, 1U << 31, "documents in the result, 0 for all");
}

void declare_of_method(fusion::OptionTable& table, FuseSettings& settings) {
  declare_limit(table, settings);
  table.number_or_none("k", settings.method.k, 0.0, 1e9, "the method's parameter", "the method's");
  table.custom({"normalise", "NAME", "the method's", "how scores are made comparable"},
               [&settings](const std::string& given) -> Result<void> {
                 settings.method.normalise = fusion::normalisation_of(given);
                 if (settings.method.normalise) return {};
                 return fusion::refused_option("normalise", given, fusion::normalisation_names());
               });
  table.custom({"weights", "W,...", "1", "a weight for each list"},
               [&settings](const std::string& given) -> Result<void> {
                 TRY(settings.method.weights, weights_of(given));
                 return {};
               });
}

void declare_of_runs(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("threads", settings.threads, 1, 1024, "threads to use");
  table.custom({"tag", "NAME", "metafuse", "the name of the result"},
               [&settings](const std::string& given) -> Result<void> {
                 settings.tag = given;
                 return {};
               });
}

Result<void> read_given(const fusion::OptionTable& table, const metafuse_option* options, std::size_t count) {
  TRY(const auto given, options_of(options, count));
  return read_options(table, given);
}

Result<const FusionMethod*> method_named(const char* name) {
  TRY_VOID(check_given(name, "method"));
  const FusionMethod* const method = fusion::find_fusion_method(name);
  if (method != nullptr) return method;
  std::vector<std::string> names;
  for (const FusionMethod& row : fusion::fusion_methods()) names.push_back(row.name);
  return fail(Code::usage, fmt::format("no method \"{}\"{}", name, did_you_mean(name, names)));
}

/// Whether the method can work with lists that have no scores.
Result<void> check_scores(const FusionMethod& method, const FusionOptions& options, bool has_scores,
                          std::string_view list) {
  using fusion::Normalisation;
  const Normalisation normalise = options.normalise.value_or(method.default_normalise);
  if (has_scores || !method.uses_scores || normalise == Normalisation::rank ||
      normalise == Normalisation::borda)
    return {};
  return fail(Code::usage,
              fmt::format("the method {} adds up scores, and \"{}\" has none; give every document "
                          "a score, or name a method that looks at ranks",
                          method.name, list));
}

// ---- Lists of one query ----

/// A document that stands twice counts by its better rank.
Result<std::vector<ListEntry>> entries_of(const metafuse_list& list, evaluation::IdTable& ids) {
  if (list.count > 0) TRY_VOID(check_given(list.documents, "the documents of a list"));
  std::vector<ListEntry> entries;
  std::vector<char> is_seen;
  bool is_new = false;
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.documents[i] == nullptr || *list.documents[i] == '\0')
      return fail(Code::usage,
                  fmt::format("list {}, document {}: an id has one byte or more", list.name, i + 1));
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
      return fail(Code::usage, fmt::format("two lists are named \"{}\"; names are unique", lists[i].name));
    TRY(auto entries, entries_of(lists[i], ids));
    query.lists.push_back(std::move(entries));
  }
  query.documents = ids.ids();
  return query;
}

/// Score descending, then the better best rank, then what the lists name first.
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

/// The best documents as a topic of views into the query.
RunTopic fused_topic(std::string_view topic, const QueryLists& query, const std::vector<double>& scores,
                     const std::vector<std::uint32_t>& order, std::size_t limit) {
  RunTopic out{topic, {}};
  const std::size_t count = limit > 0 ? std::min(limit, order.size()) : order.size();
  for (std::size_t i = 0; i < count; ++i)
    out.entries.push_back({query.documents[order[i]], scores[order[i]]});
  return out;
}

/// Topics, ascending, as a run that owns its texts.
metafuse_run* owned_run(const std::string& name, std::vector<RunTopic> topics) {
  auto run = std::make_unique<metafuse_run>();
  run->run.name = name;
  for (RunTopic& topic : topics) {
    topic.topic = run->texts.keep(topic.topic);
    for (evaluation::RunEntry& entry : topic.entries) entry.document = run->texts.keep(entry.document);
    run->queries.insert(topic.topic);
  }
  run->run.topics = std::move(topics);
  return run.release();
}

metafuse_run* fused_query(const QueryLists& query, const std::vector<double>& scores, std::size_t limit) {
  std::vector<RunTopic> topics{fused_topic("", query, scores, callers_order(query, scores), limit)};
  return owned_run("metafuse", std::move(topics));
}

Result<std::vector<double>> scores_by_method(const metafuse_list* lists, const QueryLists& query,
                                             const FusionMethod& method, const FusionOptions& options) {
  if (method.is_supervised)
    return fail(Code::usage, fmt::format("the method {} learns from judgments; fuse runs by it, or lists by "
                                         "another method or a model",
                                         method.name));
  TRY_VOID(check_fusion_options(method, options, query.lists.size()));
  for (std::size_t i = 0; i < query.lists.size(); ++i)
    TRY_VOID(check_scores(method, options, lists[i].scores != nullptr || lists[i].count == 0, lists[i].name));
  return fuse_scores(method, query, options);
}

// ---- Runs ----

/// The runs as they stand in their handles, with unique names.
Result<std::vector<const Run*>> views_of(const metafuse_run* const* runs, std::size_t count) {
  if (count == 0) return fail(Code::usage, "no run is given; give one or more");
  TRY_VOID(check_given(runs, "runs"));
  std::vector<const Run*> out;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given(runs[i], "a run"));
    out.push_back(&runs[i]->sorted());
    if (!names.insert(out.back()->name).second)
      return fail(Code::usage, fmt::format("two runs are named \"{}\"; names are unique", out.back()->name));
  }
  return out;
}

QueryLists lists_of(const std::vector<const Run*>& runs, std::string_view topic, std::size_t depth) {
  std::vector<const RunTopic*> lists;
  for (const Run* const run : runs) lists.push_back(run->find(topic));
  return fusion::join_lists(lists, depth);
}

/// The same way of scoring, for runs of which some have no scores.
ScoreQuery without_made_up_scores(ScoreQuery score, const metafuse_run* const* runs, std::size_t count) {
  std::vector<std::size_t> bare;
  for (std::size_t i = 0; i < count; ++i)
    if (!runs[i]->has_scores) bare.push_back(i);
  if (bare.empty()) return score;
  return [score = std::move(score), bare](const QueryLists& query) {
    QueryLists known = query;
    for (const std::size_t list : bare)
      for (ListEntry& entry : known.lists[list]) entry.score = kNoScore;
    return score(known);
  };
}

metafuse_run* fuse_topics(const std::vector<const Run*>& runs, const ScoreQuery& score,
                          const FuseSettings& settings) {
  std::set<std::string_view> topics;
  for (const Run* const run : runs)
    for (const RunTopic& topic : run->topics) topics.insert(topic.topic);
  const std::vector<std::string_view> ids(topics.begin(), topics.end());
  std::vector<RunTopic> fused(ids.size());
  parallel_for(ids.size(), settings.threads, [&](std::size_t i) {
    const QueryLists query = lists_of(runs, ids[i], settings.depth);
    const std::vector<double> scores = score(query);
    fused[i] = fused_topic(ids[i], query, scores, fused_order(query, scores), settings.limit);
  });
  return owned_run(settings.tag, std::move(fused));
}

/// Learns what the method needs from the judged topics of the runs.
Result<FusionOptions> learned_options(const FusionMethod& method, const std::vector<const Run*>& runs,
                                      const metafuse_qrels& train, const FuseSettings& settings) {
  std::vector<fusion::JudgedLists> queries;
  for (const evaluation::QueryJudgments& query : train.sorted().queries) {
    QueryLists lists = lists_of(runs, query.query, settings.depth);
    if (lists.size() > 0) queries.push_back(judge_lists(std::move(lists), query, settings.relevance_level));
  }
  if (queries.empty())
    return fail(Code::bad_data, "the judgments share no query with the runs; are they of one collection?");
  return train_fusion(method, queries, settings.method);
}

Result<ScoreQuery> score_by_method(const FusionMethod& method, const std::vector<const Run*>& runs,
                                   const metafuse_run* const* handles, const metafuse_qrels* train,
                                   const FuseSettings& settings) {
  FusionOptions options = settings.method;
  const bool learns = method.is_supervised || (method.needs_weights && options.weights.empty());
  if (train != nullptr && !learns)
    return fail(Code::usage,
                fmt::format("the method {} learns nothing; leave the training judgments out", method.name));
  if (learns && train == nullptr)
    return fail(Code::usage, fmt::format("the method {} learns from judgments; give them{}", method.name,
                                         method.needs_weights ? ", or weights" : ""));
  for (std::size_t i = 0; i < runs.size(); ++i)
    TRY_VOID(check_scores(method, options, handles[i]->has_scores, runs[i]->name));
  if (learns) {
    TRY(options, learned_options(method, runs, *train, settings));
  }
  TRY_VOID(check_fusion_options(method, options, runs.size()));
  return ScoreQuery(
      [&method, options](const QueryLists& query) { return fuse_scores(method, query, options); });
}

// ---- Models ----

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
  TRY_VOID(score_by_model(model, lists, count));  // names that the model does not know
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
    return fail(Code::usage, fmt::format("no list holds the document {} within the model's depth", document));
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
    FuseSettings settings;
    fusion::OptionTable table;
    declare_of_method(table, settings);
    TRY_VOID(read_given(table, options, option_count));
    TRY(const auto query, query_of(lists, count));
    TRY(const auto scores, scores_by_method(lists, query, *row, settings.method));
    *fused = fused_query(query, scores, settings.limit);
    return {};
  });
}

int metafuse_fuse_runs(const metafuse_run* const* runs, size_t count, const char* method,
                       const metafuse_qrels* train, const metafuse_option* options, size_t option_count,
                       metafuse_run** fused) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(fused, "fused"));
    TRY(const auto* const row, method_named(method));
    FuseSettings settings;
    fusion::OptionTable table;
    declare_of_method(table, settings);
    declare_of_runs(table, settings);
    table.count("depth", settings.depth, 0, 1U << 31, "how far down each list counts, 0 for all of it");
    table.count("relevance-level", settings.relevance_level, 1, 1000,
                "the lowest relevant grade in training");
    TRY_VOID(read_given(table, options, option_count));
    TRY(const auto views, views_of(runs, count));
    TRY(const auto score, score_by_method(*row, views, runs, train, settings));
    *fused = fuse_topics(views, score, settings);
    return {};
  });
}

int metafuse_model_read(const char* file, metafuse_model** model) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(file, "file"));
    TRY_VOID(check_given(model, "model"));
    TRY(auto read, fusion::read_model(file));
    *model = model_handle(std::move(read)).release();
    return {};
  });
}

int metafuse_model_parse(const char* text, metafuse_model** model) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(text, "text"));
    TRY_VOID(check_given(model, "model"));
    TRY(auto read, fusion::parse_model(text, "model"));
    *model = model_handle(std::move(read)).release();
    return {};
  });
}

int metafuse_model_write(const metafuse_model* model, const char* file) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(file, "file"));
    return fusion::write_model(file, model->model);
  });
}

int metafuse_model_text(const metafuse_model* model, char** text) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(text, "text"));
    *text = as_owned(fusion::model_text(model->model));
    return {};
  });
}

int metafuse_model_show(const metafuse_model* model, char** text) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(text, "text"));
    *text = as_owned(model->model.ranker->describe(model->model.features));
    return {};
  });
}

void metafuse_model_free(metafuse_model* model) {
  delete model;
}

const char* metafuse_model_learner(const metafuse_model* model) {
  return model == nullptr ? nullptr : model->model.learner.c_str();
}

size_t metafuse_model_list_count(const metafuse_model* model) {
  return model == nullptr ? 0 : model->lists.size();
}

const char* metafuse_model_list_name(const metafuse_model* model, size_t list) {
  return model == nullptr || list >= model->lists.size() ? nullptr : model->lists[list].c_str();
}

int metafuse_model_fuse_lists(const metafuse_model* model, const metafuse_list* lists, size_t count,
                              const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(fused, "fused"));
    FuseSettings settings;
    fusion::OptionTable table;
    declare_limit(table, settings);
    TRY_VOID(read_given(table, options, option_count));
    TRY(const auto query, query_of(lists, count));
    TRY(const auto score, score_by_model(*model, lists, count));
    *fused = fused_query(query, score(query), settings.limit);
    return {};
  });
}

int metafuse_model_fuse_runs(const metafuse_model* model, const metafuse_run* const* runs, size_t count,
                             const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(fused, "fused"));
    FuseSettings settings;
    fusion::OptionTable table;
    declare_limit(table, settings);
    declare_of_runs(table, settings);
    table.choice("missing", settings.may_be_missing, {{"refuse", false}, {"unranked", true}},
                 "whether a run of the model may be missing");
    TRY_VOID(read_given(table, options, option_count));
    TRY(const auto views, views_of(runs, count));
    std::vector<std::string> names;
    for (const Run* const run : views) names.push_back(run->name);
    TRY(const auto score, score_with_model(model->model, names, settings.may_be_missing));
    *fused = fuse_topics(views, without_made_up_scores(score, runs, count), settings);
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
