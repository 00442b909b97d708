// The verb crossvalidate.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "cli/training_options.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "evaluation/significance/significance.h"
#include "fusion/training/cross_validation.h"

namespace metafuse::cli {
namespace {

constexpr int kPaperDepth = 30;

struct CrossvalidateArguments {
  InputChoice input;
  LearnerChoice learner;
  std::size_t folds = 4;
  std::string fold_file;
  unsigned threads = 1;
  std::uint64_t seed = 1;
  bool is_json = false;
  std::string report;
  std::optional<std::string> metric;
};

Result<evaluation::Folds> folds_of(const CrossvalidateArguments& arguments, const fusion::TrainingSet& set) {
  std::vector<std::string_view> queries;
  for (const fusion::QueryRange& query : set.queries) queries.emplace_back(query.id);
  if (!arguments.fold_file.empty()) return evaluation::read_folds(arguments.fold_file, queries);
  return evaluation::random_folds(queries, arguments.folds, arguments.seed);
}

Result<void> run_crossvalidate(const CrossvalidateArguments& arguments) {
  TRY(auto learner, chosen_learner(arguments.learner));
  if (!arguments.report.empty()) TRY_VOID(check_writable(arguments.report));
  TRY(auto set, fusion::read_training_set(chosen_input(arguments.input, arguments.threads)));
  TRY(auto folds, folds_of(arguments, set));
  fusion::CrossValidationOptions options;
  options.learner = learner;
  options.learner_options = arguments.learner.options;
  if (fusion::count_lists(set.matrix.features()) > 0) options.baselines = fusion::rank_baselines();
  options.depth = arguments.input.input.depth > 0 ? arguments.input.input.depth : kPaperDepth;
  options.seed = arguments.seed;
  options.threads = arguments.threads;
  if (arguments.metric && !learner->chooses_by_measure)
    return fail(Code::usage,
                "--metric: the learner " + learner->name + " does not choose by a measure; leave it out");
  options.measure_name = arguments.metric.value_or(std::string(kTrainMetric));
  options.progress = terminal_progress("cross-validating");
  TRY(auto result, fusion::cross_validate(set, folds, options));
  if (!arguments.report.empty())
    if (auto written = write_file(arguments.report, to_pretty_text(fusion::to_json(result))); !written)
      return written;
  std::cout << (arguments.is_json ? to_pretty_text(fusion::to_json(result)) : fusion::to_table(result));
  return {};
}

}  // namespace

void add_crossvalidate(CLI::App& app, Result<void>& outcome) {
  auto [verb, a] =
      add_verb(app, "crossvalidate", "cross-validate by folds; prints top-k counts and average rank",
               run_crossvalidate, outcome);
  add_input_options(verb, a.input);
  add_learner_options(verb, a.learner);
  auto* folds = verb.add_option("--folds", a.folds, "how many folds, drawn at random by query")
                    ->check(CLI::Range(2U, 1000U))
                    ->capture_default_str();
  verb.add_option("--fold-file", a.fold_file, "file of folds to use instead, one line per query: query fold")
      ->excludes(folds);
  verb.add_option("--threads", a.threads, "threads to use; the table does not depend on it")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  verb.add_option("--seed", a.seed, "seed of the folds and of the learner")->capture_default_str();
  verb.add_option("--report", a.report, "also write the JSON to this file");
  verb.add_option("--metric", a.metric,
                  "with the learner auto: the measure to choose by, named as in evaluate")
      ->default_str(std::string(kTrainMetric));
  verb.add_flag("--json", a.is_json, "print JSON with the rank of every query instead of the table");
  verb.footer(
      "Examples:\n"
      "  metafuse crossvalidate --runs runs/*.run --qrels qrels --folds 4 --rounds 60\n"
      "  metafuse crossvalidate --letor-ranks A?.txt --fold-file folds.txt --json");
}

}  // namespace metafuse::cli
