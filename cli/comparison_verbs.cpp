// The verbs that compare ways of fusing on judged queries: compare-methods, crossvalidate, lists.
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "cli/training_options.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/number.h"
#include "core/parallel.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/significance/significance.h"
#include "fusion/training/cross_validation.h"
#include "fusion/training/list_worth.h"
#include "fusion/training/method_comparison.h"

namespace metafuse::cli {
namespace {

struct CompareMethodsArguments {
  std::vector<std::string> runs;
  std::string qrels;
  std::vector<std::string> measures;
  std::vector<std::string> learner_options;
  std::string query_weights = "equal";
  std::string format = "table";
  std::string output = "-";
  std::string mode = "trec10";
  std::optional<int> relevance_level;  ///< follows from the mode if it is not given
  fusion::MethodComparisonOptions options;
};

Result<void> run_compare(CompareMethodsArguments& a) {
  TRY(const auto format, chosen_format(a.format));
  TRY(const auto mode, chosen_mode(a.mode));
  if (a.query_weights != "equal" && a.query_weights != "pairs")
    return fail(Code::usage, "--query-weights: equal or pairs");
  a.options.feedback.query_weights = a.query_weights == "equal"
                                         ? fusion::FeedbackOptions::QueryWeights::equal
                                         : fusion::FeedbackOptions::QueryWeights::pairs;
  a.options.evaluation.rules.mode = mode;
  a.options.evaluation.rules.relevance_level =
      a.relevance_level.value_or(evaluation::default_relevance_level(mode));
  TRY(a.options.set,
      evaluation::parse_measures(a.measures.empty() ? "map,ndcg_cut_10,P_10,recip_rank"
                                                    : fmt::format("{}", fmt::join(a.measures, ","))));
  TRY(a.options.learner_options, read_settings("--learner-option", a.learner_options));
  std::vector<std::string>& learners = a.options.learners;
  if (learners == std::vector<std::string>{"none"}) learners.clear();
  if (learners == std::vector<std::string>{"all"}) learners = names_of(a.options.table);
  TRY_VOID(check_writable(a.output));
  TRY(auto judgments, evaluation::read_qrels(a.qrels));
  TRY(auto runs, evaluation::read_runs(a.runs, {.may_be_empty = true}, a.options.evaluation.threads));
  a.options.progress = terminal_progress("compare-methods");
  TRY(auto compared, fusion::compare_methods(runs, judgments, a.options));
  compared.report.title = "Fusion methods";
  for (const std::string& note : compared.notes) std::cerr << "metafuse: " << note << '\n';
  return write_file(a.output, format_report(compared.report, format));
}

}  // namespace

void add_compare_methods(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "compare-methods", "compare every fusion method on judged runs", run_compare, program);
  auto& o = a.options;
  o.evaluation.threads = hardware_threads();
  o.table = program.learners;
  o.learners = {std::string(fusion::kDefaultLearner), "rankboost"};
  verb.add_option("--runs", a.runs, "TREC runs, FILE or NAME=FILE")->required();
  verb.add_option("--qrels", a.qrels, "judgments")->required();
  add_defaulted(verb, "--folds", o.folds, "folds of the cross-validation of methods that learn");
  verb.add_option("-m,--measures", a.measures,
                  "measures, named as in metafuse evaluate; the first one chooses the best run");
  verb.add_option("--methods", o.methods, "only these methods, separated by commas")->delimiter(',');
  add_defaulted(verb, "--learners", o.learners,
                "learners to train too: names separated by commas, all or none")
      ->delimiter(',');
  verb.add_option("--learner-option", a.learner_options,
                  "NAME=VALUE for the learners that have this option, for example rounds=200");
  add_defaulted(verb, "--query-weights", a.query_weights, "equal or pairs, for learners");
  verb.add_option("--derive", o.derive, "derived features for the learners, as in metafuse train");
  add_defaulted(verb, "--depth", o.depth, "how far down each list counts (0: all of it)");
  add_defaulted(verb, "-M,--limit", o.evaluation.depth, "how far down fused lists are judged (0: all of it)");
  add_defaulted(verb, "--compare", o.significance.baseline, "row that the others are compared with");
  add_defaulted(verb, "--test", o.significance.test, "t, wilcoxon or randomisation");
  add_defaulted(verb, "--mode", a.mode, "rules, as in metafuse evaluate");
  add_relevance_level(verb, a.relevance_level);
  add_report_format(verb, a.format);
  add_output(verb, a.output, "file for the report");
  add_defaulted(verb, "--seed", o.significance.seed, "seed of folds and tests");
  add_threads(verb, o.evaluation.threads);
  verb.footer(
      "Examples:\n"
      "  metafuse compare-methods --runs a.run b.run c.run --qrels qrels.txt --folds 5\n"
      "  metafuse compare-methods --runs *.run --qrels qrels.txt --methods rrf,combmnz,probfuse --measures "
      "map,P_10 --format latex\n"
      "  metafuse compare-methods --runs *.run --qrels qrels.txt --learner-option rounds=200 --compare rrf "
      "--format html --output methods.html");
}

namespace {

constexpr int kPaperDepth = 30;

struct CrossvalidateArguments {
  fusion::TrainingInput input;
  LearnerChoice learner;
  std::size_t folds = 4;
  std::string fold_file;
  fusion::CrossValidationOptions options;  ///< threads and seed
  bool is_json = false;
  std::string report;
  std::optional<std::string> metric;
};

Result<evaluation::Folds> folds_of(const CrossvalidateArguments& arguments, const fusion::TrainingSet& set) {
  std::vector<std::string_view> queries;
  for (const fusion::QueryRange& query : set.queries) queries.emplace_back(query.id);
  if (!arguments.fold_file.empty()) return evaluation::read_folds(arguments.fold_file, queries);
  return evaluation::random_folds(queries, arguments.folds, arguments.options.seed);
}

/// The k of RRF as a baseline: that of --k.
double rrf_k(const LearnerChoice& choice) {
  double k = fusion::kRrfConstant;
  const auto given = choice.options.find("k");
  // what is no number, the learner refuses
  if (given != choice.options.end()) static_cast<void>(to_double(given->second, k));
  return k;
}

Result<void> run_crossvalidate(const CrossvalidateArguments& arguments) {
  TRY(auto learner, chosen_learner(arguments.learner));
  if (!arguments.report.empty()) TRY_VOID(check_writable(arguments.report));
  fusion::TrainingInput input = arguments.input;
  input.threads = arguments.options.threads;
  TRY(auto set, fusion::read_training_set(input));
  TRY(auto folds, folds_of(arguments, set));
  fusion::CrossValidationOptions options = arguments.options;
  options.learner = learner;
  options.learner_options = arguments.learner.options;
  if (fusion::count_lists(set.matrix.features()) > 0)
    options.baselines = fusion::rank_baselines(rrf_k(arguments.learner));
  options.depth = input.depth > 0 ? input.depth : kPaperDepth;
  if (arguments.metric && !learner->chooses_by_measure)
    return fail(Code::usage,
                "--metric: the learner " + learner->name + " does not choose by a measure; leave it out");
  options.measure_name = arguments.metric.value_or(std::string(fusion::kTrainMetric));
  options.progress = terminal_progress("cross-validating");
  TRY(auto result, fusion::cross_validate(set, folds, options));
  if (!arguments.report.empty())
    TRY_VOID(write_file(arguments.report, to_pretty_text(fusion::to_json(result))));
  std::cout << (arguments.is_json ? to_pretty_text(fusion::to_json(result)) : fusion::to_table(result));
  return {};
}

}  // namespace

void add_crossvalidate(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "crossvalidate", "cross-validate by folds; prints top-k counts and average rank",
               run_crossvalidate, program);
  add_input_options(verb, a.input);
  a.learner.table = program.learners;
  add_learner_options(verb, a.learner);
  auto* folds = add_defaulted(verb, "--folds", a.folds, "how many folds, drawn at random by query")
                    ->check(CLI::Range(2U, 1000U));
  verb.add_option("--fold-file", a.fold_file, "file of folds to use instead, one line per query: query fold")
      ->excludes(folds);
  add_defaulted(verb, "--threads", a.options.threads, "threads to use; the table does not depend on it")
      ->check(CLI::Range(1U, 1024U));
  add_defaulted(verb, "--seed", a.options.seed, "seed of the folds and of the learner");
  verb.add_option("--report", a.report, "also write the JSON to this file");
  verb.add_option("--metric", a.metric,
                  "with the learner auto: the measure to choose by, named as in evaluate")
      ->default_str(std::string(fusion::kTrainMetric));
  verb.add_flag("--json", a.is_json, "print JSON with the rank of every query instead of the table");
  verb.footer(
      "Examples:\n"
      "  metafuse crossvalidate --runs runs/*.run --qrels qrels --folds 4 --rounds 60\n"
      "  metafuse crossvalidate --letor-ranks A?.txt --fold-file folds.txt --json");
}

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
  TRY(const auto runs, evaluation::read_runs(a.runs, {.may_be_empty = true}, comparison.evaluation.threads));
  comparison.progress = terminal_progress("lists");
  TRY(const auto report, fusion::worth_of_lists(runs, judgments, a.options));
  return write_file(a.output, a.is_json ? to_pretty_text(fusion::to_json(report)) : fusion::to_table(report));
}

}  // namespace

void add_lists(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "lists", "measure what each list adds to the fusion and which lists could be dropped",
               run_lists, program);
  auto& comparison = a.options.comparison;
  comparison.evaluation.threads = hardware_threads();
  comparison.table = program.learners;
  verb.add_option("--runs", a.runs, "TREC runs, FILE or NAME=FILE: the lists, two or more")->required();
  verb.add_option("--qrels", a.qrels, "judgments")->required();
  add_defaulted(verb, "--measure", a.measure, "one measure, named as in metafuse evaluate");
  auto* method =
      add_defaulted(verb, "--method", a.method, "how the lists are fused; see metafuse fuse --list-methods");
  verb.add_option("--learner", a.learner,
                  "fuse by a learner instead, cross-validated and retrained without each list")
      ->excludes(method);
  add_defaulted(verb, "--folds", comparison.folds, "folds of the cross-validation of methods that learn")
      ->check(CLI::Range(2U, 1000U));
  add_defaulted(verb, "--depth", comparison.depth, "how far down each list counts (0: all of it)");
  add_relevance_level(verb, comparison.evaluation.rules.relevance_level);
  add_defaulted(verb, "--most-loss", a.options.most_loss,
                "how much of the measure may be lost if all droppable lists are removed")
      ->check(at_least_zero());
  add_defaulted(verb, "--seed", comparison.significance.seed, "seed of folds and intervals");
  verb.add_flag("--json", a.is_json, "print JSON instead of the table");
  add_output(verb, a.output, "file for the report");
  add_threads(verb, comparison.evaluation.threads);
  verb.footer(
      "Examples:\n"
      "  metafuse lists --runs a.run b.run c.run --qrels qrels\n"
      "  metafuse lists --runs *.run --qrels qrels --learner rankboost --measure ndcg_cut_10 --json");
}

}  // namespace metafuse::cli
