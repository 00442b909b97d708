#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "evaluation/measures/rank_correlation.h"
#include "evaluation/reports/run_evaluation.h"

namespace metafuse::evaluation {

enum class Format { table, trec_eval, json, csv, markdown, latex, html };

std::optional<Format> format_of(std::string_view name);

/// One comparison of a run with the baseline, on one column.
struct Comparison {
  std::string run;
  std::string measure;
  double difference = 0.0;  ///< run minus baseline: the mean over the queries of both
  double low = 0.0;         ///< 95 % bootstrap interval of the difference
  double high = 0.0;
  double p = 1.0;
  double p_holm = 1.0;  ///< corrected over all comparisons of the report
  double p_bonferroni = 1.0;
  std::optional<double> p_tukey;  ///< tested against all runs of the report at once
  std::size_t wins = 0;           ///< queries where the run is better
  std::size_t ties = 0;
  std::size_t losses = 0;
};

/// The content of a report, which every format prints.
struct Report {
  MeasureSet set;
  std::vector<RunEvaluation> runs;
  bool is_per_query = false;
  bool is_z_score = false;
  std::string baseline;  ///< of the comparisons; empty if there are none
  std::string test;      ///< the test of the comparisons: "t", "wilcoxon", "randomisation"
  std::vector<Comparison> comparisons;
  std::string reference;              ///< the run that the others are correlated with; empty if none
  std::vector<Agreement> agreements;  ///< one per other run
  std::string title = "Evaluation";
};

std::string format_report(const Report& report, Format format);

// One function per format; format_report() calls them.
std::string format_table(const Report& report);
std::string format_trec_eval(const Report& report);
std::string format_csv(const Report& report);
std::string format_markdown(const Report& report);
std::string format_latex(const Report& report);
std::string format_html(const Report& report);
JsonObject report_as_json(const Report& report);

/// The cells of the tables: a header, then one row per run (or per run and query), or one per comparison.
std::vector<std::vector<std::string>> report_rows(const Report& report);
std::vector<std::vector<std::string>> report_comparison_rows(const Report& report);
std::vector<std::vector<std::string>> report_agreement_rows(const Report& report);

/// Whether a run has the best summary of a column, which tables set in bold. Never true for a count, for a
/// report of one run, or when all runs are equal.
bool is_best(const Report& report, std::size_t run, std::size_t column);

/// A number as tables print it: counts without decimals, everything else with four.
std::string table_number(const Measure& measure, double value);

/// A run's summary of one column as tables print it; for `top`, the number of queries, as in Freund et
/// al. 2003.
std::string table_summary(const Report& report, std::size_t run, std::size_t column);

}  // namespace metafuse::evaluation
