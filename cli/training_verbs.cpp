#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/terminal.h"
#include "cli/training_options.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/number.h"
#include "core/parallel.h"
#include "evaluation/runs/lines.h"
#include "fusion/model/prior.h"
#include "fusion/training/calibration.h"
#include "fusion/training/certainty.h"
#include "fusion/training/learned_from.h"
#include "fusion/training/registry.h"
#include "service/learning/judge_grades.h"
#include "service/learning/judgment_transfer.h"
#include "service/learning/model_comparison.h"
#include "service/learning/promotion.h"
#include "service/learning/store_training.h"
#include "service/search/search_pipeline.h"

namespace metafuse::cli {
namespace {

Result<void> check_store_options(const TrainArguments& arguments, const fusion::TrainingInput& input) {
  if (!input.letor.empty() || !input.letor_ranks.empty())
    return fail(Code::usage,
                "--store can be combined with --runs and --qrels; leave out --letor and --letor-ranks");
  if (input.runs.empty() != input.qrels.empty())
    return fail(Code::usage, "--runs and --qrels go together, also with --store");
  if (!input.pairs.empty() || (input.depth != 0 && input.runs.empty()))
    return fail(Code::usage, "--store has its own judgments and lists; leave out --pairs and --depth");
  if (input.query_weights != "pairs" && input.query_weights != "equal")
    return fail(Code::usage, "--store takes --query-weights pairs or equal");
  if (arguments.from_store.domain.empty())
    return fail(Code::usage, "--store needs --domain, the domain to learn for");
  return {};
}

/// Whose judgments --weight, --only and --calibrate-judge choose.
Result<service::JudgeChoice> chosen_judges(const TrainArguments& arguments) {
  service::JudgeChoice judges = arguments.from_store.judges;
  judges.model = service::model_name(arguments.only_model);
  judges.is_only = !arguments.only_model.empty();
  if (!arguments.model_weight.empty()) {
    const std::size_t sign = arguments.model_weight.rfind('=');
    judges.model = service::model_name(
        std::string_view(arguments.model_weight).substr(0, std::min(sign, arguments.model_weight.size())));
    const bool has_number =
        sign != std::string::npos &&
        to_double(std::string_view(arguments.model_weight).substr(sign + 1), judges.weight);
    if (judges.model.empty() || !has_number || !(judges.weight > 0 && judges.weight <= 10))
      return fail(Code::usage, "--weight takes MODEL=NUMBER with a number above 0 and up to 10, not \"" +
                                   arguments.model_weight + "\"");
  }
  if (judges.is_calibrated && judges.model.empty())
    return fail(Code::usage, "--calibrate-judge says how to read a model's grades; add --weight or --only");
  return judges;
}

Result<service::StoreTrainingOptions> store_options(const TrainArguments& arguments,
                                                    const fusion::TrainingInput& input) {
  service::StoreTrainingOptions options = arguments.from_store;
  TRY(options.judges, chosen_judges(arguments));
  options.now = seconds_now();
  options.features = input.expected;
  options.derive = input.derive;
  options.feedback = input.feedback;
  options.are_unjudged_ignored = input.is_unjudged_ignored;
  if (input.query_weights == "equal")
    options.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  return options;
}

/// A set from a store, and the language model whose judgments are in it.
struct StoreData {
  fusion::TrainingSet set;
  fusion::LearnedJudge judge;
};

Result<StoreData> read_store(const TrainArguments& arguments, const fusion::TrainingInput& input) {
  TRY_VOID(check_store_options(arguments, input));
  TRY(auto store, service::open_store(arguments.store, service::StoreMode::read));
  TRY(service::StoreTrainingOptions options, store_options(arguments, input));
  TRY(const std::size_t held_out, service::held_out_queries(*store, options.domain, options.features));
  if (held_out < service::PromotionRules().fewest_queries) options.are_held_out_used = true;
  if (!input.runs.empty()) {
    TRY(const std::string secret, store->privacy.secret());
    TRY(options.offline,
        service::read_offline_queries({input.runs, input.qrels, options.domain, input.depth, {}},
                                      {secret, false, {}}, options.now));
  }
  service::StoreTrainingReport report;
  TRY(auto set, service::training_set_from_store(*store, options, &report));
  if (report.is_model_unknown || !report.has_feedback())
    return fail(Code::bad_data, report.too_little(options.domain));
  std::cerr << report.text() << '\n';
  return StoreData{std::move(set), report.judge(options.judges)};
}

bool is_same_store(const std::string& one, const std::string& other) {
  std::error_code error;
  return one == other || std::filesystem::equivalent(one, other, error);
}

/// The domain's k of RRF, with which a server trains: from the named configuration or, if none is named, from
/// the one that other verbs would find, provided that the store is its own.
Result<std::optional<double>> rrf_k_of_domain(const TrainArguments& arguments) {
  const auto file = chosen_config(arguments.config);
  if (!file) return std::optional<double>();
  TRY(auto config, read_server_configuration(*file));
  if (arguments.config.file.empty() && !is_same_store(config.store, arguments.store))
    return std::optional<double>();
  config.models.clear();  // a model that cannot be read may be what this training replaces
  TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
  TRY(const service::LoadedDomain* const domain,
      service::named_domain(*snapshot, arguments.from_store.domain));
  return std::optional<double>(domain->domain.rrf_k);
}

/// Lets a learner that uses RRF take the domain's k, unless the user gave one.
Result<void> take_rrf_k(const fusion::Learner& learner, TrainArguments& arguments) {
  auto& options = arguments.learner.options;
  const bool has_k =
      std::ranges::find(learner.options, "k", &fusion::LearnerOption::name) != learner.options.end();
  if (arguments.store.empty() || !has_k || options.contains("k")) return {};
  auto k = rrf_k_of_domain(arguments);
  if (!k && !arguments.config.file.empty()) return k.error();
  if (!k) print_warnings({"the domain's rrf_k is not taken from the configuration: " + k.error().text});
  if (k && *k) options.emplace("k", fmt::format("{}", **k));
  return {};
}

/// Whether a trace line belongs to a round that --trace-every selects; learners may report every round.
bool is_asked_for(const JsonObject& line, std::size_t every) {
  const Json* round = line.if_contains("round");
  return round == nullptr || !round->is_number() || round->to_number<std::size_t>() % every == 0;
}

Result<void> write_trace(const std::string& path, const std::vector<JsonObject>& trace, std::size_t every) {
  std::string text;
  for (const JsonObject& line : trace)
    if (is_asked_for(line, every)) text += to_text(line) + "\n";
  return write_file(path, text);
}

Result<std::optional<fusion::Model>> resumed_model(const TrainArguments& arguments,
                                                   const fusion::Learner& learner) {
  if (arguments.resume.empty() || learner.can.checkpoint) return std::optional<fusion::Model>();
  if (!learner.can.resume)
    return fusion::refused_by(learner, "cannot resume from a model; leave out --resume");
  TRY(auto model, fusion::read_model(arguments.resume));
  return std::optional<fusion::Model>(std::move(model));
}

/// What the models of --start-from say about the features; nothing without the option.
Result<std::optional<fusion::Prior>> prior_from_files(const std::vector<std::string>& files,
                                                      const std::vector<fusion::Feature>& features) {
  if (files.empty()) return std::optional<fusion::Prior>();
  std::vector<fusion::Model> models;
  for (const std::string& file : files) {
    TRY(auto model, fusion::read_model(file));
    models.push_back(std::move(model));
  }
  std::vector<fusion::PriorSource> sources;
  for (std::size_t i = 0; i < files.size(); ++i) sources.push_back({files[i], &models[i]});
  auto prior = fusion::prior_of(sources, features);
  if (!prior) return fail(prior.error().code, "--start-from: " + prior.error().text);
  return std::optional<fusion::Prior>(std::move(*prior));
}

/// The validation input: judgments of the same runs, or files of the training input's kind.
Result<fusion::TrainingSet> read_validation(const TrainArguments& arguments, fusion::TrainingInput input,
                                            const std::vector<fusion::Feature>& features) {
  input.expected = features;
  input.communicator = nullptr;  // every process measures all of it
  input.progress = {};
  input.pairs.clear();
  if (input.query_weights != "equal") input.query_weights = "pairs";
  if (!input.runs.empty()) {
    if (arguments.validate.size() != 1)
      return fail(Code::usage, "--validate takes one qrels file beside --runs: judgments of other queries");
    input.qrels = arguments.validate.front();
  } else if (!input.letor.empty()) {
    input.letor = arguments.validate;
  } else {
    input.letor_ranks = arguments.validate;
  }
  return fusion::read_training_set(input);
}

/// Early stopping on the queries that are trained on would never stop.
Result<void> check_other_queries(const fusion::TrainingSet& train, const fusion::TrainingSet& validation) {
  std::set<std::string> trained;
  for (const fusion::QueryRange& query : train.queries) trained.insert(query.id);
  std::size_t both = 0;
  std::string first;
  for (const fusion::QueryRange& query : validation.queries)
    if (trained.contains(query.id) && both++ == 0) first = query.id;
  if (both == 0) return {};
  return fail(Code::usage,
              fmt::format("--validate: {} of its {} queries are trained on, the first is {}; name qrels of "
                          "other queries",
                          both, validation.queries.size(), evaluation::shown(first)));
}

Result<void> check_abilities(const TrainArguments& arguments, const fusion::Learner& learner) {
  fusion::ValidationOptions validation = arguments.validation;
  validation.has_set = !arguments.validate.empty();
  TRY_VOID(fusion::check_validation(learner, validation));
  if (!arguments.start_from.empty() && !learner.can.start_from)
    return fusion::refused_by(learner, "starts from nothing; leave out --start-from, or give --learner auto");
  if (!arguments.start_from.empty() && arguments.wants_certainty)
    return fail(Code::usage, "--certainty trains without a start; leave out --certainty or --start-from");
  if (!arguments.request.checkpoints.file.empty() && !learner.can.checkpoint)
    return fusion::refused_by(learner, "writes no checkpoints; name one that does, such as rankboost");
  if (arguments.request.limit.seconds > 0.0 && !learner.can.limit_time)
    return fusion::refused_by(learner, "has no --time-limit; leave it out");
  return {};
}

/// The parts of a request that say when to stop and what to save.
Result<void> set_stopping(const TrainArguments& arguments, const fusion::Learner& learner,
                          const std::optional<fusion::TrainingSet>& validation, const Clock& clock,
                          fusion::TrainingRequest& request) {
  TRY_VOID(
      fusion::set_validation(learner, arguments.validation, validation ? &*validation : nullptr, request));
  request.limit.clock = &clock;
  if (learner.can.checkpoint) request.checkpoints.resume = arguments.resume;
  return {};
}

/// Checked before training, so that a mistyped folder does not cost hours of work.
Result<void> check_outputs(const TrainArguments& arguments) {
  for (const std::string& path :
       {arguments.model, arguments.trace, arguments.request.checkpoints.file, arguments.reliability_plot})
    if (!path.empty()) TRY_VOID(check_writable(path));
  return {};
}

/// Starting threads in every round pays off from several million cells on.
unsigned threads_worth_starting(unsigned most, const fusion::FeatureMatrix& matrix) {
  constexpr std::size_t kCellsPerThread = 2'000'000;
  const std::size_t worth = 1 + matrix.document_count() * matrix.feature_count() / kCellsPerThread;
  return static_cast<unsigned>(std::min<std::size_t>(most, worth));
}

/// Under MPI every process opens every file, so each must be a regular file that can be read repeatedly.
Result<void> check_shareable(const TrainArguments& arguments) {
  if (!arguments.store.empty())
    return fail(Code::usage, "--store cannot be read by several processes; leave out mpirun");
  const fusion::TrainingInput& input = arguments.input;
  std::vector<std::string> paths{input.qrels, input.pairs, input.query_weights, arguments.resume};
  for (const auto& more : {input.runs, input.letor, input.letor_ranks, arguments.validate})
    paths.insert(paths.end(), more.begin(), more.end());
  for (const std::string& path : paths) {
    std::error_code none;
    if (path == "-" || std::filesystem::is_fifo(path, none) || std::filesystem::is_character_file(path, none))
      return fail(Code::usage,
                  path + ": several processes cannot share input that can be read only once; name a file");
  }
  return {};
}

Result<void> check_memory(const TrainArguments& arguments, const fusion::Learner& learner) {
  if (arguments.memory.bytes == 0) return {};
  if (!learner.bytes_per_document)
    return fusion::refused_by(
        learner, "needs all columns in memory; leave out --memory-limit, or give --learner rankboost");
  if (arguments.wants_certainty || !arguments.store.empty())
    return fail(Code::usage, std::string("--memory-limit reads --letor and --letor-ranks once; leave out ") +
                                 (arguments.wants_certainty ? "--certainty" : "--store"));
  return {};
}

/// Calibration and the choice of lists train anew on parts of the queries, which this process must hold
/// in memory.
Result<void> check_calibration(const TrainArguments& arguments, const fusion::Communicator* communicator) {
  const bool is_calibrated = arguments.wants_calibration.value_or(false);
  const auto refused = [&](const std::string& what) {
    return fail(Code::usage,
                (is_calibrated ? "--calibrate " : "--choose-lists ") + what + "; leave out one of them");
  };
  if (!is_calibrated && !arguments.choice) return {};
  if (communicator != nullptr) return refused("does not work with several processes (mpirun)");
  if (arguments.memory.bytes > 0)
    return refused("needs all columns in memory and cannot obey --memory-limit");
  if (!arguments.resume.empty())
    return refused("must hold queries out, and --resume continues from a model that may have seen them");
  return {};
}

/// The memory limit from --memory-limit and --temporary, if given.
std::optional<fusion::MemoryLimit> memory_limit(const TrainArguments& arguments,
                                                const fusion::Learner& learner, bool is_first) {
  if (arguments.memory.bytes == 0) return std::nullopt;
  fusion::MemoryLimit limit = arguments.memory;
  const auto model_folder = std::filesystem::path(arguments.model).parent_path();
  if (limit.folder.empty()) limit.folder = model_folder.empty() ? "." : model_folder.string();
  limit.bytes_per_document = *learner.bytes_per_document;
  if (is_first) limit.progress = terminal_progress("columns");
  return limit;
}

/// All checks that are made before training.
Result<void> check_request(const TrainArguments& arguments, const fusion::Learner& learner,
                           const fusion::Communicator* communicator) {
  TRY_VOID(check_abilities(arguments, learner));
  TRY_VOID(check_memory(arguments, learner));
  TRY_VOID(check_calibration(arguments, communicator));
  if (arguments.wants_certainty && communicator != nullptr)
    return fail(Code::usage, "--certainty does not work with several processes; leave it out");
  if (communicator != nullptr && !learner.can.distribute)
    return fusion::refused_by(
        learner, "cannot be trained by several processes; leave out mpirun, or give --learner rankboost");
  return communicator != nullptr ? check_shareable(arguments) : Result<void>();
}

/// The training data and, if given, the validation data.
struct TrainingData {
  fusion::TrainingSet set;
  fusion::TrainingInputReport report;
  std::optional<fusion::TrainingSet> validation;
  fusion::LearnedJudge judge;
};

Result<TrainingData> read_data(const TrainArguments& arguments, const fusion::TrainingInput& input) {
  fusion::TrainingInputReport report;
  StoreData read;
  if (arguments.store.empty()) {
    TRY(read.set, fusion::read_training_set(input, &report));
  } else {
    TRY(read, read_store(arguments, input));
  }
  std::int64_t counts[] = {static_cast<std::int64_t>(report.judged_queries),
                           static_cast<std::int64_t>(report.unretrieved_queries)};
  fusion::sum_over_processes(input.communicator, counts);
  report = {static_cast<std::size_t>(counts[0]), static_cast<std::size_t>(counts[1])};
  TrainingData data{std::move(read.set), report, {}, std::move(read.judge)};
  if (arguments.validate.empty()) return data;
  TRY(data.validation, read_validation(arguments, input, data.set.matrix.features()));
  if (!input.runs.empty()) TRY_VOID(check_other_queries(data.set, *data.validation));
  return data;
}

Result<void> write_outcome(const TrainArguments& arguments, const fusion::TrainingResult& result,
                           const fusion::TrainingInputReport& report) {
  if (!arguments.trace.empty())
    TRY_VOID(write_trace(arguments.trace, result.trace, arguments.request.trace.every));
  TRY_VOID(fusion::write_model(arguments.model, result.model));
  if (!arguments.reliability_plot.empty())
    TRY_VOID(write_file(arguments.reliability_plot, fusion::reliability_plot(result.model.training)));
  std::cerr << result.summary;
  if (report.unretrieved_queries > 0)
    std::cerr << report.unretrieved_queries << " of " << report.judged_queries
              << " judged queries have no answer in any list\n";
  return {};
}

/// The certainty report that --certainty asks for.
Result<void> add_certainty(const TrainArguments& arguments, const fusion::Learner& learner,
                           const fusion::TrainingSet& set, unsigned threads, fusion::TrainingResult& result) {
  fusion::CertaintyOptions options;
  options.learner = &learner;
  options.learner_options = arguments.learner.options;
  options.measure = arguments.validation.metric.value_or(std::string(fusion::kTrainMetric));
  options.seed = arguments.request.seed;
  options.threads = threads;
  options.progress = terminal_progress("certainty");
  TRY(auto certainty, fusion::certainty_of(set, options));
  result.model.training["certainty"] = std::move(certainty);
  result.summary += fusion::certainty_text(result.model.training);
  return {};
}

/// Calibrates the scores, if that is asked for, or if the learner is one that chooses and has no time limit.
Result<void> add_calibration(const TrainArguments& arguments, const fusion::Learner& learner,
                             fusion::TrainingRequest request, fusion::TrainingResult& result) {
  const bool is_by_default = learner.chooses_by_measure && request.limit.seconds <= 0.0;
  if (!arguments.wants_calibration.value_or(is_by_default)) return {};
  if (request.progress) request.progress = terminal_progress("calibrate");
  return arguments.wants_calibration ? fusion::calibrate(request, learner, result)
                                     : fusion::calibrate_if_possible(request, learner, result);
}

Result<void> add_list_choice(const fusion::ListChoiceOptions& options, const fusion::Learner& learner,
                             fusion::TrainingRequest request, fusion::TrainingResult& result) {
  if (request.progress) request.progress = terminal_progress("choose lists");
  TRY_VOID(fusion::choose_lists(request, learner, options, result));
  if (!result.model.choice)
    return fail(Code::bad_data,
                "--choose-lists: no list holds a relevant document; judge more, or train without it");
  return {};
}

Result<void> train_in_processes(TrainArguments arguments, fusion::Communicator* communicator) {
  arguments.learner.must_start_from = !arguments.start_from.empty();
  TRY(const auto learner, chosen_learner(arguments.learner));
  TRY_VOID(take_rrf_k(*learner, arguments));
  TRY_VOID(check_outputs(arguments));
  TRY_VOID(check_request(arguments, *learner, communicator));
  TRY(const auto resumed, resumed_model(arguments, *learner));
  const unsigned most = communicator == nullptr ? hardware_threads() : 1;
  const unsigned threads = arguments.threads > 0 ? arguments.threads : most;
  fusion::TrainingInput input = arguments.input;
  input.threads = threads;
  if (resumed) input.expected = resumed->features;
  input.communicator = communicator;
  const bool is_first = communicator == nullptr || communicator->rank() == 0;
  input.limit = memory_limit(arguments, *learner, is_first);
  if (is_first) input.progress = terminal_progress("read");
  TRY(const auto data, read_data(arguments, input));
  const Clock& clock = machine_clock();
  fusion::TrainingRequest request = arguments.request;
  request.train = &data.set;
  TRY(const auto prior, prior_from_files(arguments.start_from, data.set.matrix.features()));
  if (prior) request.prior = &*prior;
  TRY_VOID(set_stopping(arguments, *learner, data.validation, clock, request));
  request.options = arguments.learner.options;
  request.threads = arguments.threads > 0 ? threads : threads_worth_starting(threads, data.set.matrix);
  if (resumed) request.resume = &*resumed;
  if (is_first) request.progress = terminal_progress("train");
  request.communicator = communicator;
  request.trace.is_wanted = !arguments.trace.empty();
  request.trace.first_feature_number = input.runs.empty() && arguments.store.empty() ? 1 : 0;
  TRY(auto result, learner->train(request));
  fusion::note_judge(data.judge, result.model.training);
  if (arguments.wants_certainty) TRY_VOID(add_certainty(arguments, *learner, data.set, threads, result));
  TRY_VOID(add_calibration(arguments, *learner, request, result));
  if (arguments.choice) TRY_VOID(add_list_choice(*arguments.choice, *learner, request, result));
  result.model.is_absent_zero = !input.letor.empty() && !input.is_absent_unranked;
  return is_first ? write_outcome(arguments, result, data.report) : Result<void>();
}

/// Under mpirun every process reads and trains on its own queries; the first writes.
Result<void> run_train(const TrainArguments& arguments) {
  const char* processes = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (processes == nullptr || std::string_view(processes) == "1")
    return train_in_processes(arguments, nullptr);
  TRY(const auto mpi, load_mpi());
  const auto communicator = mpi.start();
  auto outcome = train_in_processes(arguments, communicator.get());
  if (outcome) return outcome;
  std::cerr << "metafuse: " + outcome.error().text + "\n";  // one write: processes share the stream
  mpi.abort(static_cast<int>(outcome.error().code));
  return outcome;
}

}  // namespace

void add_train(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(app, "train", "learn a fused ranking from judged queries", run_train, program);
  a.learner.table = program.learners;
  add_train_options(verb, a);
}

}  // namespace metafuse::cli
