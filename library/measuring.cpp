// The evaluation functions of metafuse.h, and the tables of methods, learners and measures.
#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/json.h"
#include "core/parallel.h"
#include "evaluation/reports/report.h"
#include "fusion/training/method_comparison.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/fusion_method.h"
#include "library/handles.h"

namespace metafuse::library {
namespace {

using evaluation::EvaluationOptions;
using evaluation::Mode;

void declare_yes_or_no(fusion::OptionTable& table, std::string name, bool& value, std::string meaning) {
  table.choice(std::move(name), value, {{"no", false}, {"yes", true}}, std::move(meaning));
}

/// The options of every evaluation. If no relevance level is given, it follows from the mode.
struct EvaluationSettings {
  EvaluationOptions options;
  int relevance_level = 1;

  EvaluationSettings() { options.threads = hardware_threads(); }
};

void declare_rules(fusion::OptionTable& table, EvaluationSettings& settings) {
  table.choice("mode", settings.options.rules.mode,
               {{"trec10", Mode::trec10},
                {"trec9", Mode::trec9},
                {"letor3", Mode::letor3},
                {"letor4", Mode::letor4},
                {"mslr", Mode::mslr},
                {"gdeval", Mode::gdeval}},
               "the tool whose rules apply");
  table.count("relevance-level", settings.relevance_level, 1, 1000, "the lowest relevant grade");
  table.count("threads", settings.options.threads, 1, 1024, "threads to use");
}

void declare_lists(fusion::OptionTable& table, EvaluationSettings& settings) {
  declare_yes_or_no(table, "complete", settings.options.is_complete, "means over all judged queries");
  declare_yes_or_no(table, "judged-only", settings.options.judged_only, "leave unjudged documents out");
  table.count("depth", settings.options.depth, 0, 1U << 31, "how far down lists count, 0 for all of them");
}

/// Sets the rules that depend on both the options and the judgments.
void settle(const Options& given, const evaluation::Judgments& judgments, EvaluationSettings& settings) {
  evaluation::Rules& rules = settings.options.rules;
  rules.relevance_level = given.contains("relevance-level") ? settings.relevance_level
                                                            : evaluation::default_relevance_level(rules.mode);
  rules.top_grade = evaluation::highest_grade(judgments);
}

Result<evaluation::MeasureSet> measures_of(const char* text) {
  TRY_VOID(check_given({{text, "measures"}}));
  return evaluation::parse_measures(text);
}

struct ReportSettings {
  EvaluationSettings evaluation;
  evaluation::ComparisonOptions comparison;
  evaluation::Format format = evaluation::Format::json;
  bool is_per_query = false;
};

void declare_report(fusion::OptionTable& table, ReportSettings& settings) {
  using evaluation::Format;
  table.choice("test", settings.comparison.test,
               {{"t", "t"}, {"wilcoxon", "wilcoxon"}, {"randomisation", "randomisation"}}, "which test");
  table.count("seed", settings.comparison.seed, 0, 1ULL << 62, "seed of random draws");
  declare_yes_or_no(table, "per-query", settings.is_per_query, "list every query before the summary");
  table.choice("format", settings.format,
               {{"json", Format::json},
                {"table", Format::table},
                {"markdown", Format::markdown},
                {"latex", Format::latex},
                {"csv", Format::csv},
                {"html", Format::html}},
               "format of the report");
  table.text("baseline", settings.comparison.baseline, "the run against which the others are tested");
}

Result<std::string> compared(const metafuse_run* const* runs, std::size_t count, const metafuse_qrels* qrels,
                             const char* measures, const Options& given) {
  ReportSettings settings;
  fusion::OptionTable table;
  declare_rules(table, settings.evaluation);
  declare_lists(table, settings.evaluation);
  declare_report(table, settings);
  TRY_VOID(read_options(table, given));
  TRY_VOID(check_given({{qrels, "qrels"}}));
  settle(given, qrels->sorted(), settings.evaluation);
  evaluation::Report report;
  TRY(report.set, measures_of(measures));
  report.is_per_query = settings.is_per_query;
  TRY(const auto all, runs_of(runs, count));
  for (const evaluation::Run* const run : all) {
    TRY(auto row, evaluate_run(*run, qrels->sorted(), report.set, settings.evaluation.options));
    report.runs.push_back(std::move(row));
  }
  if (!settings.comparison.baseline.empty()) TRY_VOID(compare_with_baseline(report, settings.comparison));
  return format_report(report, settings.format);
}

void declare_methods(fusion::OptionTable& table, fusion::MethodComparisonOptions& options) {
  table.count("folds", options.folds, 2, 1000, "number of parts of the queries");
  table.count("depth", options.depth, 0, 1U << 31, "how far down each list counts, 0 for all of it");
  table.text("derive", options.derive, "derived features of the learners");
  for (auto* names : {&options.methods, &options.learners})
    table.custom(
        {names == &options.methods ? "methods" : "learners", "NAME,...", "", "names of the rows, or none"},
        [names](const std::string& text) -> Result<void> {
          *names = text.empty() || text == "none" ? std::vector<std::string>() : comma_separated(text);
          return {};
        });
}

Result<std::string> methods_compared(const metafuse_run* const* runs, std::size_t count,
                                     const metafuse_qrels* qrels, const char* measures, const Options& given,
                                     ProgressReport progress) {
  ReportSettings settings;
  fusion::MethodComparisonOptions options;
  options.learners = {"rankboost"};
  options.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  settings.comparison = {"best_run", "randomisation", 1};
  fusion::OptionTable table;
  declare_rules(table, settings.evaluation);
  declare_report(table, settings);
  declare_methods(table, options);
  table.count("limit", settings.evaluation.options.depth, 0, 1U << 31,
              "how far down fused lists are evaluated");
  TRY_VOID(read_options(table, given));
  TRY_VOID(check_given({{qrels, "qrels"}}));
  settle(given, qrels->sorted(), settings.evaluation);
  TRY(options.set, measures_of(measures));
  options.evaluation = settings.evaluation.options;
  options.significance = settings.comparison;
  options.progress = std::move(progress);
  TRY(const auto copies, copies_of(runs, count));
  TRY(auto comparison, fusion::compare_methods(copies, qrels->sorted(), options));
  comparison.report.is_per_query = settings.is_per_query;
  comparison.report.title = "Fusion methods";
  return format_report(comparison.report, settings.format);
}

JsonArray methods_json() {
  JsonArray rows;
  for (const fusion::FusionMethod& method : fusion::fusion_methods()) {
    JsonObject row{{"name", method.name}, {"meaning", method.meaning}, {"source", method.source}};
    if (!method.parameter.empty())
      row["k"] = JsonObject{{"meaning", method.parameter}, {"default", method.default_k}};
    row["uses_scores"] = method.uses_scores;
    row["takes_weights"] = method.takes_weights;
    row["needs_training"] = method.is_supervised || method.needs_weights;
    rows.push_back(std::move(row));
  }
  return rows;
}

JsonArray learners_json() {
  JsonArray rows;
  for (const fusion::Learner& learner : fusion::product_learners()) {
    JsonArray options;
    for (const fusion::LearnerOption& option : learner.options)
      options.push_back(JsonObject{{"name", option.name},
                                   {"values", option.values},
                                   {"default", option.fallback},
                                   {"meaning", option.meaning}});
    rows.push_back(JsonObject{{"name", learner.name},
                              {"meaning", learner.meaning},
                              {"source", learner.source},
                              {"options", std::move(options)}});
  }
  return rows;
}

JsonArray measures_json() {
  JsonArray rows;
  for (const evaluation::Measure& measure : evaluation::all_measures())
    rows.push_back(JsonObject{{"name", measure.name},
                              {"meaning", measure.meaning},
                              {"source", measure.source},
                              {"lower_is_better", measure.is_cost}});
  return rows;
}

Result<JsonArray> described(std::string_view table) {
  if (table == "methods") return methods_json();
  if (table == "learners") return learners_json();
  if (table == "measures") return measures_json();
  return fail(Code::usage, fmt::format("no table \"{}\"; use methods, learners or measures", table));
}

const fusion::FusionMethod* method_at(std::size_t place) {
  const auto methods = fusion::fusion_methods();
  return place < methods.size() ? &methods[place] : nullptr;
}

}  // namespace
}  // namespace metafuse::library

using namespace metafuse;
using namespace metafuse::library;

size_t metafuse_method_count(void) {
  return fusion::fusion_methods().size();
}

const char* metafuse_method_name(size_t method) {
  const auto* const row = method_at(method);
  return row == nullptr ? nullptr : row->name.c_str();
}

const char* metafuse_method_meaning(size_t method) {
  const auto* const row = method_at(method);
  return row == nullptr ? nullptr : row->meaning.c_str();
}

int metafuse_describe(const char* table, char** json) {
  return guarded_text({{table, "table"}, {json, "json"}}, json, [&]() -> Result<std::string> {
    TRY(const auto rows, described(table));
    return to_text(rows);
  });
}

int metafuse_evaluate(const metafuse_run* run, const metafuse_qrels* qrels, const char* measures,
                      const metafuse_option* options, size_t option_count, metafuse_evaluation** evaluation) {
  return guarded({{run, "run"}, {qrels, "qrels"}, {evaluation, "evaluation"}}, [&]() -> Result<void> {
    EvaluationSettings settings;
    fusion::OptionTable table;
    declare_rules(table, settings);
    declare_lists(table, settings);
    TRY(const auto given, options_of(options, option_count));
    TRY_VOID(read_options(table, given));
    settle(given, qrels->sorted(), settings);
    TRY(auto set, measures_of(measures));
    auto made = std::make_unique<metafuse_evaluation>();
    TRY(made->evaluation, evaluate_run(run->sorted(), qrels->sorted(), set, settings.options));
    made->measures = std::move(set.names);
    *evaluation = made.release();
    return {};
  });
}

void metafuse_evaluation_free(metafuse_evaluation* evaluation) {
  delete evaluation;
}

size_t metafuse_evaluation_query_count(const metafuse_evaluation* evaluation) {
  return evaluation == nullptr ? 0 : evaluation->evaluation.queries.size();
}

const char* metafuse_evaluation_query(const metafuse_evaluation* evaluation, size_t query) {
  return query < metafuse_evaluation_query_count(evaluation) ? evaluation->evaluation.queries[query].c_str()
                                                             : nullptr;
}

size_t metafuse_evaluation_measure_count(const metafuse_evaluation* evaluation) {
  return evaluation == nullptr ? 0 : evaluation->measures.size();
}

const char* metafuse_evaluation_measure(const metafuse_evaluation* evaluation, size_t measure) {
  return measure < metafuse_evaluation_measure_count(evaluation) ? evaluation->measures[measure].c_str()
                                                                 : nullptr;
}

const double* metafuse_evaluation_values(const metafuse_evaluation* evaluation) {
  return evaluation == nullptr ? nullptr : evaluation->evaluation.values.data();
}

const double* metafuse_evaluation_summary(const metafuse_evaluation* evaluation) {
  return evaluation == nullptr ? nullptr : evaluation->evaluation.summary.data();
}

int metafuse_compare(const metafuse_run* const* runs, size_t count, const metafuse_qrels* qrels,
                     const char* measures, const metafuse_option* options, size_t option_count,
                     char** report) {
  return guarded_text({{report, "report"}}, report, [&]() -> Result<std::string> {
    TRY(const auto given, options_of(options, option_count));
    return compared(runs, count, qrels, measures, given);
  });
}

int metafuse_compare_methods(const metafuse_run* const* runs, size_t count, const metafuse_qrels* qrels,
                             const char* measures, const metafuse_option* options, size_t option_count,
                             metafuse_progress progress, void* context, char** report) {
  return guarded_text({{report, "report"}}, report, [&]() -> Result<std::string> {
    TRY(const auto given, options_of(options, option_count));
    return methods_compared(runs, count, qrels, measures, given, progress_of(progress, context));
  });
}
