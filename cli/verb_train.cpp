#include <iostream>
#include <memory>
#include <string>

#include "cli/learner_options.h"
#include "cli/training_input.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "fusion/model_file.h"

namespace metafuse::cli {
namespace {

struct Arguments {
  TrainingOptions input;
  LearnerChoice learner;
  std::string model;
  std::string trace;
  unsigned threads = 1;
  std::uint64_t seed = 1;
};

std::string lines_of(const std::vector<JsonObject>& trace) {
  std::string text;
  for (const JsonObject& round : trace) text += to_text(round) + '\n';
  return text;
}

Result<void> run_train(const Arguments& arguments) {
  auto learner = chosen_learner(arguments.learner);
  if (!learner) return learner.error();
  auto set = fusion::read_training_set(training_input(arguments.input, arguments.threads));
  if (!set) return set.error();
  fusion::TrainingRequest request;
  request.train = &*set;
  request.options = arguments.learner.options;
  request.seed = arguments.seed;
  request.threads = arguments.threads;
  request.progress = terminal_progress("training " + (*learner)->name);
  auto result = (*learner)->train(request);
  if (!result) return result.error();
  if (!arguments.trace.empty())
    if (auto written = write_file(arguments.trace, lines_of(result->trace)); !written) return written;
  if (auto written = fusion::write_model(arguments.model, result->model); !written) return written;
  std::cerr << result->summary;
  return {};
}

}  // namespace

void add_train(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("train", "train a model on judged base queries");
  auto arguments = std::make_shared<Arguments>();
  add_training_options(*verb, arguments->input);
  add_learner_options(*verb, arguments->learner);
  verb->add_option("--model", arguments->model, "the model file to write")->required();
  verb->add_option("--trace", arguments->trace, "one JSON object a round to this file");
  verb->add_option("--threads", arguments->threads, "threads to use; the model does not depend on it")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  verb->add_option("--seed", arguments->seed, "seed of everything drawn at random")->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  metafuse train --runs a.run b.run --qrels qrels --rounds 60 --model m.json\n"
      "  metafuse train --letor-ranks A1.txt A2.txt --rounds 25 --weak-learner 3.cum --model m.json --trace "
      "t.jsonl");
  verb->callback([arguments, &outcome] { outcome = run_train(*arguments); });
}

}  // namespace metafuse::cli
