// The training functions of metafuse.h: a model from judged runs, and cross-validation.
#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/json.h"
#include "core/parallel.h"
#include "core/text.h"
#include "fusion/input/input_files.h"
#include "fusion/training/calibration.h"
#include "fusion/training/cross_validation.h"
#include "fusion/training/registry.h"
#include "fusion/training/training_options.h"
#include "library/handles.h"

namespace metafuse::library {
namespace {

using fusion::Learner;
using fusion::LearnerOption;
using fusion::TrainingSet;

/// The options of training other than the learner's own.
struct TrainSettings {
  fusion::TrainingInput input;
  std::uint64_t seed = 1;
  unsigned threads = hardware_threads();
  std::size_t folds = 4;
};

void declare_train_options(fusion::OptionTable& table, TrainSettings& settings) {
  fusion::declare_input_options(table, settings.input);
  table.count("seed", settings.seed, 0, 1ULL << 62, "seed of random draws");
  table.count("threads", settings.threads, 1, 1024, "threads to use");
}

/// Reads the options that are not the learner's own, and returns the learner's.
Result<Options> read_train_options(const Learner& learner, const fusion::OptionTable& table,
                                   const Options& given) {
  Options own;
  Options others;
  std::vector<std::string> names;
  for (const LearnerOption& option : learner.options) names.push_back(option.name);
  for (const auto& option : given)
    (std::find(names.begin(), names.end(), option.first) != names.end() ? own : others).insert(option);
  for (const LearnerOption& row : table.rows()) names.push_back(row.name);
  for (const auto& [name, value] : others)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fail(Code::usage, fmt::format("the learner {} has no option {}{}", learner.name, name,
                                           did_you_mean(name, names)));
  TRY_VOID(read_options(table, others));
  return own;
}

Result<TrainingSet> training_set(const metafuse_run* const* runs, std::size_t count,
                                 const metafuse_qrels* qrels, const fusion::TrainingInput& input) {
  TRY_VOID(check_given({{qrels, "qrels"}}));
  TRY(auto copies, copies_of(runs, count));
  fusion::TrainingInputReport report;
  TRY(auto set, fusion::training_set_of(std::move(copies), qrels->sorted(), input, report));
  TRY_VOID(fusion::apply_query_weights(input.query_weights, set));
  return set;
}

struct TrainCall {
  const metafuse_run* const* runs;
  std::size_t count;
  const metafuse_qrels* qrels;
  const metafuse_qrels* validate;
  ProgressReport progress;
};

/// errors: usage: a null or unknown name
Result<const fusion::Learner*> named_learner(const char* name) {
  TRY_VOID(check_given({{name, "learner"}}));
  return fusion::learner_named(name);
}

Result<fusion::Model> trained(const TrainCall& call, const char* name, const Options& given) {
  TRY(const auto* const learner, named_learner(name));
  TrainSettings settings;
  fusion::OptionTable table;
  declare_train_options(table, settings);
  std::string metric;
  std::size_t patience = 0;
  table.text("metric", metric, "measure used for validation");
  table.count("patience", patience, 0, 1U << 30, "stop after so many rounds without a better value");
  fusion::TrainingRequest request;
  TRY(request.options, read_train_options(*learner, table, given));
  fusion::ValidationOptions by{call.validate != nullptr, {}, {}};
  if (given.contains("metric")) by.metric = metric;
  if (given.contains("patience")) by.patience = patience;
  TRY_VOID(fusion::check_validation(*learner, by));
  TRY(const auto set, training_set(call.runs, call.count, call.qrels, settings.input));
  TrainingSet validation;
  if (call.validate != nullptr) {
    fusion::TrainingInput input = settings.input;
    input.expected = set.matrix.features();
    TRY(validation, training_set(call.runs, call.count, call.validate, input));
  }
  TRY_VOID(fusion::set_validation(*learner, by, call.validate == nullptr ? nullptr : &validation, request));
  request.train = &set;
  request.seed = settings.seed;
  request.threads = settings.threads;
  request.progress = call.progress;
  request.trace.is_wanted = false;
  TRY(auto result, learner->train(request));
  if (learner->chooses_by_measure) TRY_VOID(fusion::calibrate_if_possible(request, *learner, result));
  return std::move(result.model);
}

Result<std::string> cross_validated(const TrainCall& call, const char* name, const Options& given) {
  TRY(const auto* const learner, named_learner(name));
  TrainSettings settings;
  fusion::OptionTable table;
  declare_train_options(table, settings);
  table.count("folds", settings.folds, 2, 1000, "number of parts of the queries");
  fusion::CrossValidationOptions options;
  table.text("metric", options.measure_name, "measure by which learners that choose do so");
  TRY(options.learner_options, read_train_options(*learner, table, given));
  TRY(const auto set, training_set(call.runs, call.count, call.qrels, settings.input));
  std::vector<std::string_view> queries;
  for (const fusion::QueryRange& query : set.queries) queries.emplace_back(query.id);
  TRY(const auto folds, evaluation::random_folds(queries, settings.folds, settings.seed));
  options.learner = learner;
  options.baselines = fusion::rank_baselines();
  if (settings.input.depth > 0) options.depth = settings.input.depth;
  options.seed = settings.seed;
  options.threads = settings.threads;
  options.progress = call.progress;
  TRY(const auto result, fusion::cross_validate(set, folds, options));
  return to_text(fusion::to_json(result));
}

}  // namespace
}  // namespace metafuse::library

using namespace metafuse;
using namespace metafuse::library;

int metafuse_train(const metafuse_run* const* runs, size_t count, const metafuse_qrels* qrels,
                   const metafuse_qrels* validate, const char* learner, const metafuse_option* options,
                   size_t option_count, metafuse_progress progress, void* context, metafuse_model** model) {
  return guarded({{model, "model"}}, [&]() -> Result<void> {
    TRY(const auto given, options_of(options, option_count));
    const TrainCall call{runs, count, qrels, validate, progress_of(progress, context)};
    TRY(auto made, trained(call, learner, given));
    *model = model_handle(std::move(made));
    return {};
  });
}

int metafuse_cross_validate(const metafuse_run* const* runs, size_t count, const metafuse_qrels* qrels,
                            const char* learner, const metafuse_option* options, size_t option_count,
                            metafuse_progress progress, void* context, char** json) {
  return guarded_text({{json, "json"}}, json, [&]() -> Result<std::string> {
    TRY(const auto given, options_of(options, option_count));
    const TrainCall call{runs, count, qrels, nullptr, progress_of(progress, context)};
    return cross_validated(call, learner, given);
  });
}
