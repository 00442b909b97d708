// The verb evaluate.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/parallel.h"
#include "evaluation/reports/report.h"
#include "evaluation/reports/run_evaluation.h"

namespace metafuse::cli {
namespace {

using namespace evaluation;

struct EvaluateArguments {
  std::string qrels;
  std::vector<std::string> runs;
  std::string letor;
  std::string letor_ranks;
  std::vector<std::string> scores;
  std::vector<std::string> measures;
  std::string mode = "trec10";
  std::optional<int> relevance_level;  ///< follows from the mode if it is not given
  EvaluationOptions options;
  bool has_groups = false;
  bool lists_measures = false;
  std::string z_scores;
  bool is_per_query = false;
  std::string format = "table";
  std::string output = "-";
  ComparisonOptions comparison;
  std::string agreement;
};

void print_measures() {
  for (const Measure& measure : all_measures()) {
    std::cout << measure.name << '\t' << measure.meaning << "\t(" << measure.source << ")\n";
  }
}

Result<EvaluationOptions> options_of(const EvaluateArguments& arguments) {
  TRY(const Mode mode, chosen_mode(arguments.mode));
  EvaluationOptions options = arguments.options;
  options.rules.mode = mode;
  options.rules.relevance_level = arguments.relevance_level.value_or(default_relevance_level(mode));
  options.file.is_lenient = true;
  return options;
}

Result<void> evaluate_runs(const EvaluateArguments& arguments, EvaluationOptions options, Report& report) {
  std::vector<Judgments> groups;
  Judgments judgments;
  if (arguments.has_groups) {
    TRY(groups, read_qrels_groups(arguments.qrels));
    options.rules.top_grade = 1;
    for (const Judgments& group : groups)
      options.rules.top_grade = std::max(options.rules.top_grade, highest_grade(group));
  } else {
    TRY(judgments, read_qrels(arguments.qrels));
    options.rules.top_grade = highest_grade(judgments);
  }
  for (const std::string& path : arguments.runs) {
    TRY(auto run, index_run(path));
    for (const RunEvaluation& other : report.runs)
      if (other.run == run.name)
        return fail(Code::usage, path + ": a run named \"" + run.name +
                                     "\" was already given; write NAME=FILE to give this one another name");
    TRY(auto evaluated, arguments.has_groups ? evaluate_run_by_groups(run, groups, report.set, options)
                                             : evaluate_run(run, judgments, report.set, options));
    report.runs.push_back(std::move(evaluated));
  }
  return {};
}

/// Adds Kendall's tau and rank-biased overlap of every other run with the named one.
Result<void> add_agreements(const EvaluateArguments& arguments, const EvaluationOptions& options,
                            Report& report) {
  TRY(auto runs, read_runs(arguments.runs, options.file, options.threads));
  const auto reference =
      std::find_if(runs.begin(), runs.end(), [&](const Run& run) { return run.name == arguments.agreement; });
  if (reference == runs.end())
    return fail(Code::usage,
                fmt::format("--agreement: no run is named \"{}\"; there are {} (a run is named by "
                            "its tag, or by NAME=FILE)",
                            arguments.agreement, fmt::join(names_of(runs), ", ")));
  report.reference = arguments.agreement;
  for (const Run& run : runs)
    if (&run != &*reference) report.agreements.push_back(agreement_of(run, *reference));
  return {};
}

Result<void> evaluate_scores(const EvaluateArguments& arguments, const EvaluationOptions& options,
                             Report& report) {
  const bool are_ranks = arguments.letor.empty();
  for (const std::string& path : arguments.scores) {
    TRY(auto evaluated, evaluate_letor(are_ranks ? arguments.letor_ranks : arguments.letor, are_ranks, path,
                                       report.set, options));
    report.runs.push_back(std::move(evaluated));
  }
  return {};
}

/// Renames the columns to NAME_avgjg, as trec_eval does with judgment groups.
void rename_for_groups(MeasureSet& set) {
  set.names.clear();
  for (MeasureRequest& request : set.requests)
    for (std::string& name : request.names) {
      name = request.measure->name + "_avgjg" + name.substr(request.measure->name.size());
      set.names.push_back(name);
    }
}

bool has_letor(const EvaluateArguments& arguments) {
  return !arguments.letor.empty() || !arguments.letor_ranks.empty();
}

Result<void> check(const EvaluateArguments& arguments) {
  const bool is_letor = has_letor(arguments);
  if (!is_letor && !arguments.scores.empty())
    return fail(Code::usage, "--scores goes with --letor or --letor-ranks; name the LETOR file");
  if (is_letor ? arguments.scores.empty() : arguments.qrels.empty() || arguments.runs.empty())
    return fail(Code::usage, "give --qrels and --runs, or --letor (or --letor-ranks) and --scores");
  if (is_letor && (!arguments.qrels.empty() || !arguments.runs.empty()))
    return fail(Code::usage, "--letor goes with --scores, --qrels with --runs; not both");
  if (!arguments.letor.empty() && !arguments.letor_ranks.empty())
    return fail(Code::usage, "give one of --letor and --letor-ranks");
  if (arguments.has_groups && is_letor) return fail(Code::usage, "--judgment-groups goes with --qrels");
  return {};
}

/// Says so where the means of runs are over different queries, because a reader would compare them.
void note_unequal_queries(const Report& report) {
  const auto [fewest, most] = std::minmax_element(
      report.runs.begin(), report.runs.end(),
      [](const RunEvaluation& a, const RunEvaluation& b) { return a.queries.size() < b.queries.size(); });
  if (report.runs.empty() || fewest->queries.size() == most->queries.size()) return;
  fmt::print(
      stderr,
      "metafuse: each mean is over the run's own queries, from {} of {} to {} of {}; --complete counts "
      "every judged query in all\n",
      fewest->queries.size(), fewest->run, most->queries.size(), most->run);
}

Result<void> run_evaluate(const EvaluateArguments& arguments) {
  if (arguments.lists_measures) {
    print_measures();
    return {};
  }
  TRY_VOID(check(arguments));
  TRY(const Format format, chosen_format(arguments.format));
  TRY(auto options, options_of(arguments));
  const std::string fallback = arguments.has_groups                 ? "qrels_jg"
                               : format == Format::trec_eval        ? "official"
                               : options.rules.mode == Mode::gdeval ? "graded"
                                                                    : "map,recip_rank,P_10,ndcg_cut_10";
  TRY(auto set,
      parse_measures(
          arguments.measures.empty() ? fallback : fmt::format("{}", fmt::join(arguments.measures, ",")),
          format == Format::trec_eval));
  Report report;
  report.set = std::move(set);
  report.is_per_query = arguments.is_per_query;
  auto evaluated = has_letor(arguments) ? evaluate_scores(arguments, options, report)
                                        : evaluate_runs(arguments, options, report);
  if (!evaluated) return evaluated;
  note_unequal_queries(report);
  if (arguments.has_groups) rename_for_groups(report.set);
  if (!arguments.z_scores.empty()) {
    report.is_z_score = true;
    for (RunEvaluation& run : report.runs) TRY_VOID(convert_to_z_scores(arguments.z_scores, report.set, run));
  }
  if (!arguments.comparison.baseline.empty()) TRY_VOID(compare_with_baseline(report, arguments.comparison));
  if (!arguments.agreement.empty()) TRY_VOID(add_agreements(arguments, options, report));
  return write_file(arguments.output, format_report(report, format));
}

void add_options(CLI::App& verb, EvaluateArguments& a) {
  a.options.threads = hardware_threads();
  verb.add_option("--qrels", a.qrels, "judgments: topic iteration document grade");
  verb.add_option("--runs", a.runs, "TREC runs, FILE or NAME=FILE");
  verb.add_option("--letor", a.letor, "LETOR file with grades, used with --scores");
  verb.add_option("--letor-ranks", a.letor_ranks, "LETOR aggregation file, used with --scores");
  verb.add_option("--scores", a.scores, "files with one score per LETOR row");
  verb.add_option(
      "-m,--measures", a.measures,
      "measures such as map,P_10,ndcg_cut.5,10 or a set: official, all_trec, set, paper, letor, graded");
  verb.add_flag("--list-measures", a.lists_measures, "print every measure with its meaning and source");
  add_defaulted(verb, "--mode", a.mode, "rules of: trec10, trec9, letor3, letor4, mslr, gdeval");
  add_relevance_level(verb, a.relevance_level);
  verb.add_flag("-c,--complete", a.options.is_complete,
                "average over all judged queries, including those without a list");
  verb.add_flag("-J,--judged-only", a.options.judged_only, "remove unjudged documents from the lists first");
  verb.add_option("-M,--depth", a.options.depth, "count only this many documents of each list");
  verb.add_option("-N,--collection-size", a.options.rules.collection_size,
                  "number of documents in the collection, for the fourth weight of utility");
  verb.add_flag("--judgment-groups", a.has_groups,
                "the second column of the qrels names a judge: average over judges");
  verb.add_option("-Z,--z-scores", a.z_scores,
                  "file of lines `query measure mean deviation`: print z-scores");
  verb.add_flag("-q,--per-query", a.is_per_query, "print every query, then the summary");
  add_report_format(verb, a.format);
  add_output(verb, a.output, "file for the report");
  CLI::Option* compare = verb.add_option("--compare", a.comparison.baseline,
                                         "name of the run that the others are compared with");
  add_defaulted(verb, "--test", a.comparison.test, "t, wilcoxon or randomisation")->needs(compare);
  add_defaulted(verb, "--seed", a.comparison.seed, "seed of randomised tests and intervals");
  verb.add_option("--agreement", a.agreement,
                  "name of the run that the others' lists are compared with (Kendall's tau, RBO)");
  add_threads(verb, a.options.threads);
}

}  // namespace

void add_evaluate(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "evaluate", "measure runs or scores against judgments", run_evaluate, program);
  add_options(verb, a);
  verb.footer(
      "Examples:\n"
      "  metafuse evaluate --qrels qrels.txt --runs a.run b.run\n"
      "  metafuse evaluate --qrels qrels.txt --runs a.run --measures all_trec --per-query --format "
      "trec_eval\n"
      "  metafuse evaluate --qrels qrels.txt --runs a=a.run b=b.run --compare a --test randomisation "
      "--format html --output report.html\n"
      "  metafuse evaluate --letor test.txt --scores scores.txt --mode letor4 --measures letor");
}

}  // namespace metafuse::cli
