// Every fusion method on real runs and real engines, one table per collection: TREC-3 (40 systems),
// TREC-COVID round 1 (143 systems), FedWeb 2013 (157 web search engines, lists reconstructed from the
// document ids).
#include <algorithm>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "fusion/training/method_comparison.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/judged_queries.h"

namespace metafuse::lab::experiments {
namespace {

Result<std::string> make_table(RunCollection& collection, const ExperimentOptions& options) {
  fusion::MethodComparisonOptions comparison;
  TRY(auto set, evaluation::parse_measures(collection.measures));
  comparison.set = std::move(set);
  comparison.evaluation.threads = options.threads;
  comparison.evaluation.depth = collection.limit;
  comparison.folds = collection.folds;
  comparison.significance.seed = options.seed;
  comparison.learners = {"rankboost", "auto"};
  comparison.learner_options["rounds"] = std::to_string(options.is_quick() ? 20 : 200);
  comparison.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  comparison.progress = options.progress;
  if (options.is_quick()) comparison.methods = {"rrf", "combmnz", "borda", "searxng", "posfuse"};
  TRY(auto compared, fusion::compare_methods(collection.runs, collection.judgments, comparison));
  evaluation::Report& report = compared.report;
  report.title = collection.name;
  // Only the first measure: comparing every measure with the best run would fill pages.
  std::erase_if(report.comparisons,
                [&](const evaluation::Comparison& c) { return c.measure != report.set.names[0]; });
  if (!options.output.empty()) {
    std::string stem = collection.name.substr(0, collection.name.find(','));
    std::replace(stem.begin(), stem.end(), ' ', '-');
    for (const auto& [format, suffix] :
         {std::pair{evaluation::Format::json, ".json"}, std::pair{evaluation::Format::html, ".html"},
          std::pair{evaluation::Format::markdown, ".md"}})
      TRY_VOID(write_file(options.output + "/metasearch-" + stem + suffix, format_report(report, format)));
  }
  std::string text = fmt::format("{} ({} queries, {} lists; {} folds", collection.name,
                                 report.runs[0].queries.size(), collection.runs.size(), collection.folds);
  for (const std::string& note : compared.notes) text += "; " + note;
  return text + ")\n\n" + format_report(report, evaluation::Format::markdown) + "\n";
}

}  // namespace

Result<Report> run_metasearch(const ExperimentOptions& options) {
  Report report;
  for (const auto read : {read_trec3, read_covid_round1, read_fedweb}) {
    TRY(auto collection, read(options.data));
    TRY(const auto table, make_table(collection, options));
    report.text += table;
  }
  return report;
}

}  // namespace metafuse::lab::experiments
