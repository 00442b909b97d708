#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/agreement.h"
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
  std::optional<double> p;       ///< nullopt if the test gives none: see paired_t_test()
  std::optional<double> p_holm;  ///< corrected over all comparisons of the report that have a p
  std::optional<double> p_bonferroni;
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

/// The format html, in report_page.cpp.
std::string format_html(const Report& report);

/// Who reads a table: programs want all digits, and means also where readers want counts.
enum class Audience { readers, programs };

using ReportRows = std::vector<std::vector<std::string>>;

/// The table of measures: a header, then one row per run, preceded by its queries' rows if is_per_query.
ReportRows report_rows(const Report& report, bool is_per_query, Audience audience = Audience::readers);

struct ReportTable {
  std::string title;
  ReportRows rows;  ///< the first is the header
};

/// What a "-" in the columns of p values means; empty if every comparison has one.
std::string missing_p_note(const Report& report);

ReportTable comparison_table(const Report& report);
ReportTable agreement_table(const Report& report);

/// Whether a run has the best summary of the column in a field of its row, which tables set in bold. Never
/// true for a count, for a report of one run, or when all runs are equal.
bool is_best(const Report& report, std::size_t run, std::size_t field);

// comparison.cpp

struct ComparisonOptions {
  std::string baseline;    ///< the name of a run
  std::string test = "t";  ///< "t", "wilcoxon" or "randomisation"
  std::uint64_t seed = 1;  ///< for the randomisation test, the intervals and Tukey's test
};

/// Fills the report's comparisons: every other run against the baseline, on every column that is not a count,
/// over the queries for which both have values.
///
/// errors: usage when no test or no run has the given name; bad_data when two runs share no query
Result<void> compare_with_baseline(Report& report, const ComparisonOptions& options);

/// trec_eval's -Z: expresses every value of a query as its distance from the mean of reference runs, in units
/// of their standard deviation.
///
/// in:     path - lines `query measure mean deviation`
/// out:    `evaluation` with values and summary converted; kMissingZScore where the file has no mean, and
///         where the deviation is 0 but the value is not the mean
/// errors: those of for_each_line; bad_data with file and line for wrong columns and numbers
Result<void> convert_to_z_scores(const std::string& path, const MeasureSet& set, RunEvaluation& evaluation);

constexpr double kMissingZScore = -1000000.0;  ///< as trec_eval prints it

}  // namespace metafuse::evaluation
