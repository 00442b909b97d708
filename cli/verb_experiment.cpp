#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/verbs.h"
#include "experiments/experiment.h"

namespace metafuse::cli {
namespace {

using experiments::Experiment;
using experiments::ExperimentOptions;

struct ExperimentArguments {
  std::string name;
  ExperimentOptions options;
  bool is_quick = false;
  bool is_full = false;
};

void print_list() {
  for (const Experiment& experiment : experiments::experiments())
    std::cout << experiment.name << '\t' << experiment.meaning << "\t(" << experiment.source << "; needs "
              << experiment.data << ")\n";
}

Result<void> run_experiment(ExperimentArguments& arguments) {
  if (arguments.name == "list") {
    print_list();
    return {};
  }
  const Experiment* experiment = experiments::find_experiment(arguments.name);
  if (experiment == nullptr)
    return fail(Code::usage, "no experiment \"" + arguments.name + "\"; see metafuse experiment list");
  if (!arguments.options.peer_runs.empty() && !experiment->takes_peer_runs)
    return fail(Code::usage,
                "the experiment " + experiment->name + " compares with no runs; leave out --peer-runs");
  if (arguments.is_quick) arguments.options.size = ExperimentOptions::Size::quick;
  if (arguments.is_full) arguments.options.size = ExperimentOptions::Size::full;
  if (!arguments.options.output.empty()) {
    std::error_code error;
    std::filesystem::create_directories(arguments.options.output, error);
    if (error)
      return fail(Code::no_input,
                  arguments.options.output + ": " + error.message() + "; name a writable folder");
  }
  arguments.options.progress = terminal_progress(experiment->name);
  TRY(auto table, experiment->run(arguments.options));
  std::cout << table;
  return {};
}

}  // namespace

void add_experiment(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("experiment", "remake one table or figure of a paper, or of ours");
  auto arguments = std::make_shared<ExperimentArguments>();
  verb->add_option("NAME", arguments->name, "an experiment's name, or list")->required();
  verb->add_option("--data", arguments->options.data, "folder that holds the data sets")
      ->envname("METAFUSE_DATA");
  verb->add_option("--output", arguments->options.output, "folder for the table, JSON and HTML report");
  verb->add_option("--peer-runs", arguments->options.peer_runs,
                   "letor-agg: folder of another learner's runs, as scripts/letor-agg-xgboost writes it");
  verb->add_option("--seed", arguments->options.seed, "seed of everything drawn at random")
      ->capture_default_str();
  verb->add_option("--threads", arguments->options.threads, "threads to use")->capture_default_str();
  auto* quick = verb->add_flag("--quick", arguments->is_quick, "a small version, for a first look");
  verb->add_flag("--full", arguments->is_full, "the large counts")->excludes(quick);
  verb->footer(
      "Examples:\n"
      "  metafuse experiment list\n"
      "  metafuse experiment letor-agg --data ~/letor --output report/\n"
      "  scripts/letor-agg-xgboost ~/letor peer/ && metafuse experiment letor-agg --data ~/letor --peer-runs "
      "peer/");
  verb->callback([arguments, &outcome] { outcome = run_experiment(*arguments); });
}

}  // namespace metafuse::cli
