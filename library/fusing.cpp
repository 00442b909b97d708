// Fuses the lists of one query or whole runs, by a method (which may first have to learn) or by a model, and
// explains a document's score.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/json.h"
#include "core/number.h"
#include "core/parallel.h"
#include "core/text.h"
#include "fusion/model/fuse.h"
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

/// The score of a document whose list has no scores. Methods that use scores never see it, because
/// check_scores() refuses such lists.
constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

/// The settings that any kind of fusing may take.
struct FuseSettings {
  fusion::FusionOptions method;
  std::size_t depth = 0;
  std::size_t limit = 0;
  unsigned threads = hardware_threads();
  int relevance_level = 1;
  std::string tag = "metafuse";
  bool may_be_missing = false;
};

using DeclareSettings = void (*)(fusion::OptionTable&, FuseSettings&);

Result<std::vector<double>> weights_of(const std::string& text) {
  std::vector<double> weights;
  for (const std::string& part : comma_separated(text))
    if (!to_double(part, weights.emplace_back()))
      return fail(Code::usage, fmt::format("weights {}: give numbers separated by commas", text));
  return weights;
}

void declare_limit(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("limit", settings.limit, 0, 1U << 31, "documents in the result, 0 for all");
}

void declare_method(fusion::OptionTable& table, FuseSettings& settings) {
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

void declare_output(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("threads", settings.threads, 1, 1024, "threads to use");
  table.text("tag", settings.tag, "the name of the result");
}

void declare_training(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("depth", settings.depth, 0, 1U << 31, "how far down each list counts, 0 for all of it");
  table.count("relevance-level", settings.relevance_level, 1, 1000, "the lowest relevant grade in training");
}

void declare_missing(fusion::OptionTable& table, FuseSettings& settings) {
  table.choice("missing", settings.may_be_missing, {{"refuse", false}, {"unranked", true}},
               "whether a run of the model may be missing");
}

/// Reads the caller's options into settings; only the declared options are allowed.
/// errors: usage: an option that is not declared; a value out of range
Result<FuseSettings> read_settings(const metafuse_option* options, std::size_t count,
                                   std::initializer_list<DeclareSettings> declared) {
  FuseSettings settings;
  fusion::OptionTable table;
  for (const DeclareSettings declare : declared) declare(table, settings);
  TRY(const auto given, options_of(options, count));
  TRY_VOID(read_options(table, given));
  return settings;
}

/// Checks that the method can work with lists without scores, if there are such.
///
/// errors: usage: it needs scores
Result<void> check_scores(const FusionMethod& method, const FusionOptions& options, bool has_scores,
                          std::string_view list) {
  using fusion::Normalisation;
  const Normalisation normalise = options.normalise.value_or(method.default_normalise);
  if (has_scores || !method.uses_scores || normalise == Normalisation::rank ||
      normalise == Normalisation::borda)
    return {};
  return fail(Code::usage, fmt::format("the method {} needs scores, and \"{}\" has none; give every document "
                                       "a score, or use a method based on ranks",
                                       method.name, list));
}

/// The best documents of a query as a topic, whose views point into the query.
///
/// in:  order - documents, best first
///      limit - how many documents at most; 0: all
RunTopic fused_topic(std::string_view topic, const QueryLists& query, const std::vector<double>& scores,
                     const std::vector<std::uint32_t>& order, std::size_t limit) {
  RunTopic out{topic, {}};
  const std::size_t count = limit > 0 ? std::min(limit, order.size()) : order.size();
  for (std::size_t i = 0; i < count; ++i)
    out.entries.push_back({query.documents[order[i]], scores[order[i]]});
  return out;
}

/// A run that owns its texts, made of topics in ascending order.
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

/// The documents of a list with their scores. A document that occurs twice counts at its better rank.
Result<std::vector<ListEntry>> entries_of(const metafuse_list& list, evaluation::IdTable& ids) {
  if (list.count > 0) TRY_VOID(check_given({{list.documents, "the documents of a list"}}));
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
  TRY_VOID(check_given({{lists, "lists"}}));
  QueryLists query;
  evaluation::IdTable ids;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given({{lists[i].name, "the name of a list"}}));
    if (!names.insert(lists[i].name).second)
      return fail(Code::usage,
                  fmt::format("two lists are named \"{}\"; names must be unique", lists[i].name));
    TRY(auto entries, entries_of(lists[i], ids));
    query.lists.push_back(std::move(entries));
  }
  query.documents = ids.ids();
  return query;
}

metafuse_run* fused_query(const QueryLists& query, const std::vector<double>& scores, std::size_t limit) {
  std::vector<RunTopic> topics{fused_topic("", query, scores, callers_order(query, scores), limit)};
  return owned_run("metafuse", std::move(topics));
}

Result<std::vector<double>> scores_by_method(const metafuse_list* lists, const QueryLists& query,
                                             const FusionMethod& method, const FusionOptions& options) {
  if (method.is_supervised)
    return fail(Code::usage, fmt::format("the method {} learns from judgments; use it on runs, or fuse the "
                                         "lists with another method or a model",
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
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(
        std::find(model.lists.begin(), model.lists.end(), lists[i].name) - model.lists.begin());
    for (const ListEntry& entry : query.lists[i]) ids[place].push_back(query.documents[entry.document]);
  }
  const auto ranking = fusion::fuse(model.model, std::vector<fusion::RankedIds>(ids.begin(), ids.end()));
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

QueryLists lists_of(const std::vector<const Run*>& runs, std::string_view topic, std::size_t depth) {
  std::vector<const RunTopic*> lists;
  for (const Run* const run : runs) lists.push_back(run->find(topic));
  return fusion::join_lists(lists, depth);
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

/// Learns the method's parameters from the judged topics of the runs.
Result<FusionOptions> learned_options(const FusionMethod& method, const std::vector<const Run*>& runs,
                                      const metafuse_qrels& train, const FuseSettings& settings) {
  const auto queries =
      fusion::judged_lists(train.sorted(), settings.relevance_level,
                           [&](std::string_view query) { return lists_of(runs, query, settings.depth); });
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
                fmt::format("the method {} does not learn; leave the training judgments out", method.name));
  if (learns && train == nullptr)
    return fail(Code::usage, fmt::format("the method {} learns from judgments; give them{}", method.name,
                                         method.needs_weights ? ", or weights" : ""));
  for (std::size_t i = 0; i < runs.size(); ++i)
    TRY_VOID(check_scores(method, options, handles[i]->has_scores, runs[i]->name));
  TRY_VOID(check_fusion_options(method, options, runs.size(), learns));
  if (learns) {
    TRY(options, learned_options(method, runs, *train, settings));
  }
  return ScoreQuery(
      [&method, options](const QueryLists& query) { return fuse_scores(method, query, options); });
}

}  // namespace
}  // namespace metafuse::library

using namespace metafuse;
using namespace metafuse::library;

int metafuse_fuse_lists(const metafuse_list* lists, size_t count, const char* method,
                        const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded({{fused, "fused"}}, [&]() -> Result<void> {
    TRY(const auto* const row, row_named(fusion::fusion_methods(), "method", method));
    TRY(const auto settings, read_settings(options, option_count, {declare_limit, declare_method}));
    TRY(const auto query, query_of(lists, count));
    TRY(const auto scores, scores_by_method(lists, query, *row, settings.method));
    *fused = fused_query(query, scores, settings.limit);
    return {};
  });
}

int metafuse_model_fuse_lists(const metafuse_model* model, const metafuse_list* lists, size_t count,
                              const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded({{model, "model"}, {fused, "fused"}}, [&]() -> Result<void> {
    TRY(const auto settings, read_settings(options, option_count, {declare_limit}));
    TRY(const auto query, query_of(lists, count));
    TRY(const auto score, score_by_model(*model, lists, count));
    *fused = fused_query(query, score(query), settings.limit);
    return {};
  });
}

int metafuse_model_explain(const metafuse_model* model, const metafuse_list* lists, size_t count,
                           const char* document, char** json) {
  return guarded_text({{model, "model"}, {document, "document"}, {json, "json"}}, json,
                      [&] { return explained(*model, lists, count, document); });
}

int metafuse_fuse_runs(const metafuse_run* const* runs, size_t count, const char* method,
                       const metafuse_qrels* train, const metafuse_option* options, size_t option_count,
                       metafuse_run** fused) {
  return guarded({{fused, "fused"}}, [&]() -> Result<void> {
    TRY(const auto* const row, row_named(fusion::fusion_methods(), "method", method));
    TRY(const auto settings,
        read_settings(options, option_count,
                      {declare_limit, declare_method, declare_output, declare_training}));
    TRY(const auto views, runs_of(runs, count));
    TRY(const auto score, score_by_method(*row, views, runs, train, settings));
    *fused = fuse_topics(views, score, settings);
    return {};
  });
}

int metafuse_model_fuse_runs(const metafuse_model* model, const metafuse_run* const* runs, size_t count,
                             const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded({{model, "model"}, {fused, "fused"}}, [&]() -> Result<void> {
    TRY(const auto settings,
        read_settings(options, option_count, {declare_limit, declare_output, declare_missing}));
    TRY(const auto views, runs_of(runs, count));
    std::vector<std::string> names;
    for (const Run* const run : views) names.push_back(run->name);
    TRY(const auto score, score_with_model(model->model, names, settings.may_be_missing));
    *fused = fuse_topics(views, score, settings);
    return {};
  });
}
