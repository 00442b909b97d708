#include <iostream>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/terminal.h"
#include "lab/experiments/experiment.h"
#include "lab/program/verbs.h"

namespace metafuse::lab {
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
    return fail(Code::usage,
                "unknown experiment \"" + arguments.name + "\"; see metafuse-lab experiment list");
  if (arguments.is_full && !experiment->takes.full_size)
    return fail(Code::usage,
                "the experiment " + experiment->name + " has no larger counts; leave out --full");
  if (!arguments.options.peer_runs.empty() && !experiment->takes.peer_runs)
    return fail(Code::usage, "the experiment " + experiment->name +
                                 " does not compare with other runs; leave out --peer-runs");
  if (arguments.is_quick) arguments.options.size = ExperimentOptions::Size::quick;
  if (arguments.is_full) arguments.options.size = ExperimentOptions::Size::full;
  if (!arguments.options.output.empty()) TRY_VOID(cli::make_folder(arguments.options.output));
  arguments.options.progress = cli::terminal_progress(experiment->name);
  TRY(const auto table, experiments::run(*experiment, arguments.options));
  std::cout << table;
  return {};
}

}  // namespace

void add_experiment(CLI::App& app, cli::Program& program) {
  auto [verb, a] =
      cli::add_verb(app, "experiment", "reproduce one table or figure of a paper or of this project",
                    run_experiment, program);
  verb.add_option("NAME", a.name, "an experiment's name, or list")->required();
  verb.add_option("--data", a.options.data, "folder that holds the data sets")->envname("METAFUSE_DATA");
  verb.add_option("--output", a.options.output, "folder for the table, JSON and HTML report");
  verb.add_option("--peer-runs", a.options.peer_runs,
                  "letor-agg: folder of another learner's runs, as scripts/letor-agg-xgboost writes it");
  cli::add_defaulted(verb, "--seed", a.options.seed, "seed of everything drawn at random");
  cli::add_threads(verb, a.options.threads);
  auto* quick = verb.add_flag("--quick", a.is_quick, "a small version, for a first look");
  verb.add_flag("--full", a.is_full, "the large counts, if the experiment has any")->excludes(quick);
  for (const Experiment& experiment : experiments::experiments())
    program.words["experiment"].push_back(experiment.name);
  verb.footer(
      "Examples:\n"
      "  metafuse-lab experiment list\n"
      "  metafuse-lab experiment letor-agg --data ~/letor --output report/\n"
      "  scripts/letor-agg-xgboost ~/letor peer/ && metafuse-lab experiment letor-agg --data ~/letor "
      "--peer-runs "
      "peer/");
}

}  // namespace metafuse::lab
