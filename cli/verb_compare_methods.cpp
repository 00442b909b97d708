#include <iostream>
#include <memory>

#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/parallel.h"
#include "fusion/training/method_comparison.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {
namespace {

struct CompareMethodsArguments {
  std::vector<std::string> runs;
  std::string qrels;
  std::vector<std::string> measures;
  std::vector<std::string> learners = {"rankboost"};
  std::vector<std::string> learner_options;
  std::string query_weights = "equal";
  std::string format = "table";
  std::string output = "-";
  std::string mode = "trec10";
  fusion::MethodComparisonOptions options;
};

Result<void> read_learner_options(const CompareMethodsArguments& a, std::map<std::string, std::string>& out) {
  for (const std::string& text : a.learner_options) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::usage, "--learner-option: \"" + text + "\" is not NAME=VALUE");
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return {};
}

Result<void> run_compare(CompareMethodsArguments a) {
  const auto format = evaluation::format_of(a.format);
  if (!format)
    return fail(Code::usage, "--format: no format \"" + a.format +
                                 "\"; there are table, trec_eval, json, csv, markdown, latex and html");
  const auto mode = evaluation::mode_of(a.mode);
  if (!mode) return fail(Code::usage, "--mode: no mode \"" + a.mode + "\"");
  if (a.query_weights != "equal" && a.query_weights != "pairs")
    return fail(Code::usage, "--query-weights: equal or pairs");
  a.options.feedback.query_weights = a.query_weights == "equal"
                                         ? fusion::FeedbackOptions::QueryWeights::equal
                                         : fusion::FeedbackOptions::QueryWeights::pairs;
  a.options.evaluation.rules.mode = *mode;
  std::string names;
  for (const std::string& measure : a.measures) names += (names.empty() ? "" : ",") + measure;
  TRY(auto set, evaluation::parse_measures(names.empty() ? "map,ndcg_cut_10,P_10,recip_rank" : names));
  a.options.set = std::move(set);
  if (auto read = read_learner_options(a, a.options.learner_options); !read) return read;
  if (a.learners == std::vector<std::string>{"none"}) a.learners.clear();
  if (a.learners == std::vector<std::string>{"all"}) {
    a.learners.clear();
    for (const fusion::Learner& learner : fusion::learners()) a.learners.push_back(learner.name);
  }
  a.options.learners = a.learners;
  if (auto writable = check_writable(a.output); !writable) return writable;
  TRY(auto judgments, evaluation::read_qrels(a.qrels));
  TRY(auto runs, evaluation::read_runs(a.runs, {}, a.options.evaluation.threads));
  a.options.progress = terminal_progress("compare-methods");
  TRY(auto compared, fusion::compare_methods(runs, judgments, a.options));
  compared.report.title = "Fusion methods";
  for (const std::string& note : compared.notes) std::cerr << "metafuse: " << note << '\n';
  return write_file(a.output, format_report(compared.report, *format));
}

}  // namespace

void add_compare_methods(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("compare-methods", "every fusion method side by side on judged runs");
  auto a = std::make_shared<CompareMethodsArguments>();
  auto& o = a->options;
  o.evaluation.threads = hardware_threads();
  verb->add_option("--runs", a->runs, "TREC runs, FILE or NAME=FILE")->required();
  verb->add_option("--qrels", a->qrels, "judgments")->required();
  verb->add_option("--folds", o.folds, "parts of the cross-validation of what learns")->capture_default_str();
  verb->add_option("-m,--measures", a->measures, "as metafuse evaluate; the first chooses the best run");
  verb->add_option("--methods", o.methods, "only these, separated by commas")->delimiter(',');
  verb->add_option("--learners", a->learners, "learners to train too: names separated by commas, all or none")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option("--learner-option", a->learner_options,
                   "NAME=VALUE for the learners that know it, for example rounds=200");
  verb->add_option("--query-weights", a->query_weights, "equal or pairs, for learners")
      ->capture_default_str();
  verb->add_option("--depth", o.depth, "how far down each list counts (0: all of it)")->capture_default_str();
  verb->add_option("-M,--limit", o.evaluation.depth, "how far down fused lists are judged (0: all of it)")
      ->capture_default_str();
  verb->add_option("--compare", o.baseline, "row that the others are compared with")->capture_default_str();
  verb->add_option("--test", o.test, "t, wilcoxon or randomisation")->capture_default_str();
  verb->add_option("--mode", a->mode, "whose rules, as metafuse evaluate")->capture_default_str();
  verb->add_option("-l,--relevance-level", o.evaluation.rules.relevance_level,
                   "lowest grade that is relevant")
      ->capture_default_str();
  verb->add_option("--format", a->format, "table, json, csv, markdown, latex or html")->capture_default_str();
  verb->add_option("--output", a->output, "file for the report")->capture_default_str();
  verb->add_option("--seed", o.seed, "seed of folds and tests")->capture_default_str();
  verb->add_option("--threads", o.evaluation.threads, "threads to use")->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  metafuse compare-methods --runs a.run b.run c.run --qrels qrels.txt --folds 5\n"
      "  metafuse compare-methods --runs *.run --qrels qrels.txt --methods rrf,combmnz,probfuse --measures "
      "map,P_10 --format latex\n"
      "  metafuse compare-methods --runs *.run --qrels qrels.txt --learner-option rounds=200 --compare rrf "
      "--format html --output methods.html");
  verb->callback([a, &outcome] { outcome = run_compare(*a); });
}

}  // namespace metafuse::cli
