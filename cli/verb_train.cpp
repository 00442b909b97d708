#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/mpi_loader.h"
#include "cli/train_options.h"
#include "cli/train_store.h"
#include "cli/train_stream.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/parallel.h"
#include "fusion/model/model_file.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {
namespace {

Result<void> write_trace(const std::string& path, const std::vector<JsonObject>& trace) {
  std::string text;
  for (const JsonObject& line : trace) text += to_text(line) + "\n";
  return write_file(path, text);
}

Result<std::optional<fusion::Model>> resumed_model(const TrainArguments& arguments,
                                                   const fusion::Learner& learner) {
  if (arguments.resume.empty() || learner.can_checkpoint) return std::optional<fusion::Model>();
  if (!learner.can_resume)
    return fail(Code::usage,
                "the learner " + learner.name + " cannot go on from a model; leave out --resume");
  TRY(auto model, fusion::read_model(arguments.resume));
  return std::optional<fusion::Model>(std::move(model));
}

/// The validation input: judgments of the same runs, or files of the training input's kind.
Result<fusion::TrainingSet> read_validation(const TrainArguments& arguments, fusion::TrainingInput input,
                                            const std::vector<fusion::Feature>& features) {
  input.expected = features;
  input.communicator = nullptr;  // every rank measures all of it
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

Result<void> check_abilities(const TrainArguments& arguments, const fusion::Learner& learner) {
  if (!arguments.validate.empty() && !learner.can_validate)
    return fail(Code::usage,
                "the learner " + learner.name + " does not use validation data; leave out --validate");
  if ((arguments.metric || arguments.patience) && !learner.can_stop_early)
    return fail(Code::usage, "the learner " + learner.name + " has its own rule for --validate; leave out " +
                                 (arguments.metric ? "--metric" : "--patience"));
  if ((!arguments.checkpoint.empty() || arguments.time_limit > 0.0) && !learner.can_checkpoint)
    return fail(Code::usage, "the learner " + learner.name + " knows neither --checkpoint nor --time-limit");
  return {};
}

/// Everything of a request that says when to stop and what to save.
Result<void> set_stopping(const TrainArguments& arguments, const fusion::Learner& learner,
                          const std::optional<fusion::TrainingSet>& validation, const Clock& clock,
                          fusion::TrainingRequest& request) {
  if (validation) {
    request.validate = &*validation;
    if (learner.can_stop_early) {
      request.measure_name = arguments.metric.value_or(std::string(kTrainMetric));
      TRY(auto measure, fusion::validation_measure(*validation, request.measure_name));
      request.measure = std::move(measure.value);
      request.is_measure_cost = measure.is_cost;
      request.patience = arguments.patience.value_or(kTrainPatience);
    }
  }
  if (learner.can_checkpoint) {
    request.clock = &clock;
    request.time_limit_seconds = arguments.time_limit;
    request.checkpoint = arguments.checkpoint;
    request.checkpoint_every = arguments.checkpoint_every;
    request.resume_checkpoint = arguments.resume;
  }
  return {};
}

/// Asked before the work: hours of training are not lost to a mistyped folder.
Result<void> check_outputs(const TrainArguments& arguments) {
  for (const std::string& path : {arguments.model, arguments.trace, arguments.checkpoint})
    if (!path.empty())
      if (auto writable = check_writable(path); !writable) return writable;
  return {};
}

Result<void> run_stream(const TrainArguments& arguments, const fusion::Learner& learner) {
  const fusion::TrainingInput& input = arguments.input.input;
  if (!input.letor.empty() || !input.letor_ranks.empty() || !input.runs.empty())
    return fail(Code::usage, "--stream reads standard input; leave out --letor, --letor-ranks and --runs");
  return train_on_stream({learner.name, arguments.learner.options, arguments.seed, arguments.resume,
                          arguments.model, arguments.bad_lines == "skip"});
}

/// Starting threads every round pays from some million cells on.
unsigned threads_worth_starting(unsigned most, const fusion::FeatureMatrix& matrix) {
  constexpr std::size_t kCellsAThread = 2'000'000;
  const std::size_t worth = 1 + matrix.document_count() * matrix.feature_count() / kCellsAThread;
  return static_cast<unsigned>(std::min<std::size_t>(most, worth));
}

/// Every rank opens every file, which only files that can be read again bear.
Result<void> check_shareable(const TrainArguments& arguments) {
  if (arguments.is_stream || !arguments.store.empty())
    return fail(Code::usage, std::string(arguments.is_stream ? "--stream" : "--store") +
                                 " cannot be read by several ranks; leave out mpirun");
  const fusion::TrainingInput& input = arguments.input.input;
  std::vector<std::string> paths{input.qrels, input.pairs, input.query_weights, arguments.resume};
  for (const auto& more : {input.runs, input.letor, input.letor_ranks, arguments.validate})
    paths.insert(paths.end(), more.begin(), more.end());
  for (const std::string& path : paths) {
    std::error_code none;
    if (path == "-" || std::filesystem::is_fifo(path, none) || std::filesystem::is_character_file(path, none))
      return fail(Code::usage, path + ": ranks cannot share what can be read only once; name a file");
  }
  return {};
}

/// Everything that is asked before the work.
Result<void> check_request(const TrainArguments& arguments, const fusion::Learner& learner,
                           const fusion::Communicator* communicator) {
  if (auto able = check_abilities(arguments, learner); !able) return able;
  if (communicator != nullptr && !learner.can_distribute)
    return fail(Code::usage,
                "the learner " + learner.name + " cannot be trained by several ranks; leave out mpirun");
  return communicator != nullptr ? check_shareable(arguments) : Result<void>();
}

/// What is learned from.
struct TrainingData {
  fusion::TrainingSet set;
  fusion::TrainingInputReport report;
  std::optional<fusion::TrainingSet> validation;
};

Result<TrainingData> read_data(const TrainArguments& arguments, const fusion::TrainingInput& input) {
  fusion::TrainingInputReport report;
  TRY(auto set,
      arguments.store.empty() ? fusion::read_training_set(input, &report) : read_store(arguments, input));
  std::int64_t counts[] = {static_cast<std::int64_t>(report.judged_queries),
                           static_cast<std::int64_t>(report.unretrieved_queries)};
  fusion::sum_over_ranks(input.communicator, counts);
  report = {static_cast<std::size_t>(counts[0]), static_cast<std::size_t>(counts[1])};
  TrainingData data{std::move(set), report, {}};
  if (arguments.validate.empty()) return data;
  TRY(auto validation, read_validation(arguments, input, data.set.matrix.features()));
  data.validation = std::move(validation);
  return data;
}

Result<void> write_outcome(const TrainArguments& arguments, const fusion::TrainingResult& result,
                           const fusion::TrainingInputReport& report) {
  if (!arguments.trace.empty())
    if (auto written = write_trace(arguments.trace, result.trace); !written) return written;
  if (auto written = fusion::write_model(arguments.model, result.model); !written) return written;
  std::cerr << result.summary;
  if (report.unretrieved_queries > 0)
    std::cerr << report.unretrieved_queries << " of " << report.judged_queries
              << " judged queries are answered by no list\n";
  return {};
}

Result<void> train_in_ranks(const TrainArguments& arguments, fusion::Communicator* communicator) {
  TRY(const auto learner, chosen_learner(arguments.learner));
  if (auto writable = check_outputs(arguments); !writable) return writable;
  if (arguments.is_stream && communicator == nullptr) return run_stream(arguments, *learner);
  if (auto able = check_request(arguments, *learner, communicator); !able) return able;
  TRY(const auto resumed, resumed_model(arguments, *learner));
  const unsigned most = communicator == nullptr ? hardware_threads() : 1;
  const unsigned threads = arguments.threads > 0 ? arguments.threads : most;
  fusion::TrainingInput input = training_input(arguments.input, threads);
  if (resumed) input.expected = resumed->features;
  input.communicator = communicator;
  TRY(const auto data, read_data(arguments, input));
  const bool is_first = communicator == nullptr || communicator->rank() == 0;
  const SteadyClock clock;
  fusion::TrainingRequest request;
  request.train = &data.set;
  if (auto set = set_stopping(arguments, *learner, data.validation, clock, request); !set) return set;
  request.options = arguments.learner.options;
  request.seed = arguments.seed;
  request.threads = arguments.threads > 0 ? threads : threads_worth_starting(threads, data.set.matrix);
  if (resumed) request.resume = &*resumed;
  if (is_first) request.progress = terminal_progress("train");
  request.communicator = communicator;
  request.wants_trace = !arguments.trace.empty();
  request.first_feature_number = input.runs.empty() && arguments.store.empty() ? 1 : 0;
  TRY(auto result, learner->train(request));
  result.model.is_absent_zero = !input.letor.empty() && !input.is_absent_unranked;
  return is_first ? write_outcome(arguments, result, data.report) : Result<void>();
}

/// Under mpirun every rank reads and trains on its own queries; the first writes.
Result<void> run_train(const TrainArguments& arguments) {
  const char* ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (ranks == nullptr || std::string_view(ranks) == "1") return train_in_ranks(arguments, nullptr);
  TRY(const auto mpi, load_mpi());
  const auto communicator = mpi.start();
  auto outcome = train_in_ranks(arguments, communicator.get());
  if (outcome) return outcome;
  std::cerr << "metafuse: " + outcome.error().text + "\n";  // one write: ranks share the stream
  mpi.abort(static_cast<int>(outcome.error().code));
  return outcome;
}

}  // namespace

void add_train(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("train", "learn a fused ranking from judged queries");
  auto arguments = std::make_shared<TrainArguments>();
  add_train_options(*verb, *arguments);
  verb->callback([arguments, &outcome] { outcome = run_train(*arguments); });
}

}  // namespace metafuse::cli
