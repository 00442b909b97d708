#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/learner_options.h"
#include "cli/mpi_loader.h"
#include "cli/number_checks.h"
#include "cli/train_stream.h"
#include "cli/training_input.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/parallel.h"
#include "fusion/model_file.h"
#include "fusion/registry.h"
#include "service/learning/store_training.h"

namespace metafuse::cli {
namespace {

constexpr std::string_view kMetric = "map";
constexpr std::size_t kPatience = 50;

struct Arguments {
  TrainingOptions input;
  LearnerChoice learner;
  std::string model;
  std::string trace;
  unsigned threads = 0;  // 0: one a core
  std::uint64_t seed = 1;
  std::string resume;
  std::vector<std::string> validate;
  std::optional<std::string> metric;
  std::optional<std::size_t> patience;
  double time_limit = 0.0;
  std::string checkpoint;
  std::size_t checkpoint_every = 100;
  bool is_stream = false;
  std::string bad_lines = "fail";
  std::string store;
  std::string domain;
  double half_life_days = 30;
  bool are_held_out_used = false;
};

Result<void> write_trace(const std::string& path, const std::vector<JsonObject>& trace) {
  std::string text;
  for (const JsonObject& line : trace) text += to_text(line) + "\n";
  return write_file(path, text);
}

Result<std::optional<fusion::Model>> resumed_model(const Arguments& arguments,
                                                   const fusion::Learner& learner) {
  if (arguments.resume.empty() || learner.can_checkpoint) return std::optional<fusion::Model>();
  if (!learner.can_resume)
    return fail(Code::usage,
                "the learner " + learner.name + " cannot go on from a model; leave out --resume");
  auto model = fusion::read_model(arguments.resume);
  if (!model) return model.error();
  return std::optional<fusion::Model>(std::move(*model));
}

/// The validation input: judgments of the same runs, or files of the training input's kind.
Result<fusion::TrainingSet> read_validation(const Arguments& arguments, fusion::TrainingInput input,
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

Result<void> check_abilities(const Arguments& arguments, const fusion::Learner& learner) {
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
Result<void> set_stopping(const Arguments& arguments, const fusion::Learner& learner,
                          const std::optional<fusion::TrainingSet>& validation, const Clock& clock,
                          fusion::TrainingRequest& request) {
  if (validation) {
    request.validate = &*validation;
    if (learner.can_stop_early) {
      request.measure_name = arguments.metric.value_or(std::string(kMetric));
      auto measure = fusion::score_measure(*validation, request.measure_name);
      if (!measure) return measure.error();
      request.measure = std::move(*measure);
      request.patience = arguments.patience.value_or(kPatience);
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
Result<void> check_outputs(const Arguments& arguments) {
  for (const std::string& path : {arguments.model, arguments.trace, arguments.checkpoint})
    if (!path.empty())
      if (auto writable = check_writable(path); !writable) return writable;
  return {};
}

Result<void> run_stream(const Arguments& arguments, const fusion::Learner& learner) {
  const fusion::TrainingInput& input = arguments.input.input;
  if (!input.letor.empty() || !input.letor_ranks.empty() || !input.runs.empty())
    return fail(Code::usage, "--stream reads standard input; leave out --letor, --letor-ranks and --runs");
  return train_on_stream({learner.name, arguments.learner.options, arguments.seed, arguments.resume,
                          arguments.model, arguments.bad_lines == "skip"});
}

/// What a server stored as training data.
Result<fusion::TrainingSet> read_store(const Arguments& arguments, const fusion::TrainingInput& input) {
  if (!input.letor.empty() || !input.letor_ranks.empty() || !input.runs.empty())
    return fail(Code::usage, "--store is the input; leave out --letor, --letor-ranks and --runs");
  if (!input.qrels.empty() || !input.pairs.empty() || input.depth != 0)
    return fail(Code::usage, "--store holds its judgments and lists; leave out --qrels, --pairs and --depth");
  if (input.query_weights != "pairs" && input.query_weights != "equal")
    return fail(Code::usage, "--store takes --query-weights pairs or equal");
  if (arguments.domain.empty()) return fail(Code::usage, "--store needs --domain, the domain to learn for");
  auto store = service::open_store(arguments.store, service::StoreMode::read);
  if (!store) return store.error();
  service::StoreTrainingOptions options;
  options.domain = arguments.domain;
  options.now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  options.clicks.half_life_days = arguments.half_life_days;
  options.are_held_out_used = arguments.are_held_out_used;
  options.features = input.expected;
  options.derive = input.derive;
  options.feedback = input.feedback;
  options.are_unjudged_ignored = input.is_unjudged_ignored;
  if (input.query_weights == "equal")
    options.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  service::StoreTrainingReport report;
  auto set = service::training_set_from_store(**store, options, &report);
  if (set) std::cerr << report.text() << '\n';
  return set;
}

/// Starting threads every round pays from some million cells on.
unsigned threads_worth_starting(unsigned most, const fusion::FeatureMatrix& matrix) {
  constexpr std::size_t kCellsAThread = 2'000'000;
  const std::size_t worth = 1 + matrix.document_count() * matrix.feature_count() / kCellsAThread;
  return static_cast<unsigned>(std::min<std::size_t>(most, worth));
}

Result<void> train_in_ranks(const Arguments& arguments, fusion::Communicator* communicator) {
  const auto learner = chosen_learner(arguments.learner);
  if (!learner) return learner.error();
  if (auto writable = check_outputs(arguments); !writable) return writable;
  if (arguments.is_stream) return run_stream(arguments, **learner);
  if (auto able = check_abilities(arguments, **learner); !able) return able;
  if (communicator != nullptr && !(*learner)->can_distribute)
    return fail(Code::usage,
                "the learner " + (*learner)->name + " cannot be trained by several ranks; leave out mpirun");
  const auto resumed = resumed_model(arguments, **learner);
  if (!resumed) return resumed.error();
  const unsigned most = communicator == nullptr ? hardware_threads() : 1;
  const unsigned threads = arguments.threads > 0 ? arguments.threads : most;
  fusion::TrainingInput input = training_input(arguments.input, threads);
  if (*resumed) input.expected = (*resumed)->features;
  const bool is_first = communicator == nullptr || communicator->rank() == 0;
  input.communicator = communicator;
  fusion::TrainingInputReport report;
  const auto set =
      arguments.store.empty() ? fusion::read_training_set(input, &report) : read_store(arguments, input);
  if (!set) return set.error();
  std::optional<fusion::TrainingSet> validation;
  if (!arguments.validate.empty()) {
    auto read = read_validation(arguments, input, set->matrix.features());
    if (!read) return read.error();
    validation = std::move(*read);
  }
  const SteadyClock clock;
  fusion::TrainingRequest request;
  request.train = &*set;
  if (auto stopping = set_stopping(arguments, **learner, validation, clock, request); !stopping)
    return stopping;
  request.options = arguments.learner.options;
  request.seed = arguments.seed;
  request.threads = arguments.threads > 0 ? threads : threads_worth_starting(threads, set->matrix);
  if (*resumed) request.resume = &**resumed;
  if (is_first) request.progress = terminal_progress("train");
  request.communicator = communicator;
  request.wants_trace = !arguments.trace.empty();
  request.first_feature_number = input.runs.empty() && arguments.store.empty() ? 1 : 0;
  auto result = (*learner)->train(request);
  if (!result) return result.error();
  result->model.is_absent_zero = !input.letor.empty() && !input.is_absent_unranked;
  if (!is_first) return {};
  if (!arguments.trace.empty())
    if (auto written = write_trace(arguments.trace, result->trace); !written) return written;
  if (auto written = fusion::write_model(arguments.model, result->model); !written) return written;
  std::cerr << result->summary;
  if (report.unretrieved_queries > 0)
    std::cerr << report.unretrieved_queries << " of " << report.judged_queries
              << " judged queries are answered by no list\n";
  return {};
}

/// Under mpirun every rank reads and trains on its own queries; the first writes.
Result<void> run_train(const Arguments& arguments) {
  const char* ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (ranks == nullptr || std::string_view(ranks) == "1") return train_in_ranks(arguments, nullptr);
  const auto mpi = load_mpi();
  if (!mpi) return mpi.error();
  const auto communicator = mpi->start();
  auto outcome = train_in_ranks(arguments, communicator.get());
  if (outcome) return outcome;
  std::cerr << "metafuse: " + outcome.error().text + "\n";  // one write: ranks share the stream
  mpi->abort(static_cast<int>(outcome.error().code));
  return outcome;
}

}  // namespace

void add_train(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("train", "learn a fused ranking from judged queries");
  auto arguments = std::make_shared<Arguments>();
  add_training_options(*verb, arguments->input);
  add_learner_options(*verb, arguments->learner);
  verb->add_option("--model", arguments->model, "the model file to write")->required();
  verb->add_option("--trace", arguments->trace, "one JSON object a round");
  verb->add_option(
          "--threads", arguments->threads,
          "threads to use, 0 for one a core (under mpirun one a rank); the model is the same for any number")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--seed", arguments->seed, "seed of everything drawn at random")->capture_default_str();
  CLI::Option* validate = verb->add_option(
      "--validate", arguments->validate,
      "stop early: files of the training input's kind, or beside --runs the qrels of other queries; "
      "the best number of rounds is kept");
  verb->add_option("--metric", arguments->metric, "with --validate: the measure, as evaluate names it")
      ->default_str(std::string(kMetric))
      ->needs(validate);
  verb->add_option("--patience", arguments->patience,
                   "with --validate: rounds without a better value after which to stop, 0 for never")
      ->default_str(std::to_string(kPatience))
      ->needs(validate);
  verb->add_option("--time-limit", arguments->time_limit, "stop after so many seconds, 0 for never")
      ->check(at_least_zero())
      ->capture_default_str();
  CLI::Option* checkpoint = verb->add_option("--checkpoint", arguments->checkpoint,
                                             "a file to go on from when training is interrupted");
  verb->add_option("--checkpoint-every", arguments->checkpoint_every, "rounds between two checkpoints")
      ->check(above_zero())
      ->capture_default_str()
      ->needs(checkpoint);
  verb->add_option(
      "--resume", arguments->resume,
      "a checkpoint to go on from; of an online learner: a model. The result is the same as without "
      "the interruption");
  CLI::Option* stream = verb->add_flag(
      "--stream", arguments->is_stream,
      "online learners: LETOR lines on standard input; each is predicted (grade TAB score on standard "
      "output), then learned from; the model is written at the end");
  verb->add_option("--bad-lines", arguments->bad_lines, "of --stream: skip (and report) or fail")
      ->check(CLI::IsMember({"skip", "fail"}))
      ->capture_default_str()
      ->needs(stream);
  CLI::Option* store = verb->add_option(
      "--store", arguments->store, "judgments and clicks of a server: its SQLite file or postgresql://...");
  verb->add_option("--domain", arguments->domain, "of --store: the domain to learn for")->needs(store);
  verb->add_option("--half-life", arguments->half_life_days,
                   "of --store: days after which a click counts half")
      ->check(above_zero())
      ->capture_default_str()
      ->needs(store);
  verb->add_flag("--use-held-out", arguments->are_held_out_used,
                 "of --store: also learn from the judged queries on which promotions are measured")
      ->needs(store);
  verb->footer(
      "Examples:\n"
      "  metafuse train --runs a.run b.run --qrels qrels --rounds 50 --model model.json\n"
      "  metafuse train --letor-ranks A1.txt.xz A2.txt.xz --model model.json --trace rounds.jsonl\n"
      "  metafuse train --letor train.txt --learner rankboost --weak-learner 3 --q-default learn --model "
      "m.json\n"
      "  metafuse train --letor-ranks A1.txt A2.txt A3.txt --validate A4.txt --metric map --rounds 1000 "
      "--model "
      "m.json\n"
      "  metafuse train --letor large.txt --rounds 5000 --checkpoint c.json --model m.json\n"
      "  mpirun -np 4 metafuse train --letor large.txt --rounds 500 --model m.json\n"
      "  metafuse train --learner oap-bpm --letor S1.txt S2.txt --passes 5 --model m.json\n"
      "  metafuse train --store state/metafuse.db --domain ml-homepages --model models/ml-homepages.json\n"
      "  tail -f judged.txt | metafuse train --learner oap-bpm --stream --resume m.json --model m.json");
  verb->callback([arguments, &outcome] { outcome = run_train(*arguments); });
}

}  // namespace metafuse::cli
