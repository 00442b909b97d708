// Fuses whole runs, by a method (which may first have to learn) or by a model.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "fusion/model/fuse.h"
#include "fusion/unsupervised/supervised_fusion.h"
#include "library/fusing.h"

namespace metafuse::library {
namespace {

using evaluation::Run;
using evaluation::RunTopic;
using fusion::FusionMethod;
using fusion::FusionOptions;
using fusion::ListEntry;
using fusion::QueryLists;
using fusion::ScoreQuery;

/// The sorted runs of the handles, which must have unique names.
Result<std::vector<const Run*>> views_of(const metafuse_run* const* runs, std::size_t count) {
  if (count == 0) return fail(Code::usage, "no run is given; give one or more");
  TRY_VOID(check_given(runs, "runs"));
  std::vector<const Run*> out;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given(runs[i], "a run"));
    out.push_back(&runs[i]->sorted());
    if (!names.insert(out.back()->name).second)
      return fail(Code::usage,
                  fmt::format("two runs are named \"{}\"; names must be unique", out.back()->name));
  }
  return out;
}

QueryLists lists_of(const std::vector<const Run*>& runs, std::string_view topic, std::size_t depth) {
  std::vector<const RunTopic*> lists;
  for (const Run* const run : runs) lists.push_back(run->find(topic));
  return fusion::join_lists(lists, depth);
}

/// Wraps `score` so that runs without scores have kNoScore instead of the scores derived from their order.
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

/// Learns the method's parameters from the judged topics of the runs.
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
                fmt::format("the method {} does not learn; leave the training judgments out", method.name));
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

void declare_training(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("depth", settings.depth, 0, 1U << 31, "how far down each list counts, 0 for all of it");
  table.count("relevance-level", settings.relevance_level, 1, 1000, "the lowest relevant grade in training");
}

void declare_missing(fusion::OptionTable& table, FuseSettings& settings) {
  table.choice("missing", settings.may_be_missing, {{"refuse", false}, {"unranked", true}},
               "whether a run of the model may be missing");
}

}  // namespace
}  // namespace metafuse::library

using namespace metafuse;
using namespace metafuse::library;

int metafuse_fuse_runs(const metafuse_run* const* runs, size_t count, const char* method,
                       const metafuse_qrels* train, const metafuse_option* options, size_t option_count,
                       metafuse_run** fused) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(fused, "fused"));
    TRY(const auto* const row, method_named(method));
    TRY(const auto settings,
        read_settings(options, option_count,
                      {declare_limit, declare_method, declare_output, declare_training}));
    TRY(const auto views, views_of(runs, count));
    TRY(const auto score, score_by_method(*row, views, runs, train, settings));
    *fused = fuse_topics(views, score, settings);
    return {};
  });
}

int metafuse_model_fuse_runs(const metafuse_model* model, const metafuse_run* const* runs, size_t count,
                             const metafuse_option* options, size_t option_count, metafuse_run** fused) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(fused, "fused"));
    TRY(const auto settings,
        read_settings(options, option_count, {declare_limit, declare_output, declare_missing}));
    TRY(const auto views, views_of(runs, count));
    std::vector<std::string> names;
    for (const Run* const run : views) names.push_back(run->name);
    TRY(const auto score, score_with_model(model->model, names, settings.may_be_missing));
    *fused = fuse_topics(views, without_made_up_scores(score, runs, count), settings);
    return {};
  });
}
