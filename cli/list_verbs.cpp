// The verb `lists`, which measures what each list adds to the fusion.
#include <iostream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/parallel.h"
#include "evaluation/runs/judgments.h"
#include "fusion/training/list_worth.h"

namespace metafuse::cli {
namespace {

struct ListsArguments {
  std::vector<std::string> runs;
  std::string qrels;
  std::string measure = "map";
  std::string method = "rrf";
  std::string learner;
  std::string output = "-";
  bool is_json = false;
  fusion::ListWorthOptions options;
};

Result<void> run_lists(ListsArguments& a) {
  fusion::MethodComparisonOptions& comparison = a.options.comparison;
  TRY(comparison.set, evaluation::parse_measures(a.measure));
  comparison.methods = {a.method};
  if (!a.learner.empty()) comparison.learners = {a.learner};
  comparison.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  TRY_VOID(check_writable(a.output));
  TRY(const auto judgments, evaluation::read_qrels(a.qrels));
  TRY(const auto runs, evaluation::read_runs(a.runs, {}, comparison.evaluation.threads));
  comparison.progress = terminal_progress("lists");
  TRY(const auto report, fusion::worth_of_lists(runs, judgments, a.options));
  return write_file(a.output, a.is_json ? to_pretty_text(fusion::to_json(report)) : fusion::to_table(report));
}

}  // namespace

void add_lists(CLI::App& app, Result<void>& outcome) {
  auto [verb, a] =
      add_verb(app, "lists", "measure what each list adds to the fusion and which lists could be dropped",
               run_lists, outcome);
  auto& comparison = a.options.comparison;
  comparison.evaluation.threads = hardware_threads();
  verb.add_option("--runs", a.runs, "TREC runs, FILE or NAME=FILE: the lists, two or more")->required();
  verb.add_option("--qrels", a.qrels, "judgments")->required();
  verb.add_option("--measure", a.measure, "one measure, named as in metafuse evaluate")
      ->capture_default_str();
  auto* method =
      verb.add_option("--method", a.method, "how the lists are fused; see metafuse fuse --list-methods")
          ->capture_default_str();
  verb.add_option("--learner", a.learner,
                  "fuse by a learner instead, cross-validated and retrained without each list")
      ->excludes(method);
  verb.add_option("--folds", comparison.folds, "folds of the cross-validation of methods that learn")
      ->check(CLI::Range(2U, 1000U))
      ->capture_default_str();
  verb.add_option("--depth", comparison.depth, "how far down each list counts (0: all of it)")
      ->capture_default_str();
  verb.add_option("-l,--relevance-level", comparison.evaluation.rules.relevance_level,
                  "lowest grade that is relevant")
      ->capture_default_str();
  verb.add_option("--most-loss", a.options.most_loss,
                  "how much of the measure may be lost if all droppable lists are removed")
      ->check(at_least_zero())
      ->capture_default_str();
  verb.add_option("--seed", comparison.significance.seed, "seed of folds and intervals")
      ->capture_default_str();
  verb.add_flag("--json", a.is_json, "print JSON instead of the table");
  add_output(verb, a.output, "file for the report");
  add_threads(verb, comparison.evaluation.threads);
  verb.footer(
      "Examples:\n"
      "  metafuse lists --runs a.run b.run c.run --qrels qrels\n"
      "  metafuse lists --runs *.run --qrels qrels --learner rankboost --measure ndcg_cut_10 --json");
}

}  // namespace metafuse::cli
