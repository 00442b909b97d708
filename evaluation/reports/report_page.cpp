#include <algorithm>
#include <functional>

#include "core/encoding.h"
#include "evaluation/reports/plots.h"
#include "evaluation/reports/report.h"

// The HTML report, one self-contained page: tables, comparisons, and plots as inline SVG. Curves are drawn if
// the report has the columns for them: every cutoff measure with three or more cutoffs (top-k, success,
// precision ...), and precision over recall from iprec_at_recall. Bars show each run's per-query differences
// from the baseline on the first column.
namespace metafuse::evaluation {
namespace {

constexpr std::size_t kMostCurves = 8;
constexpr std::size_t kMostBarPlots = 12;
constexpr std::size_t kMostBars = 400;

constexpr const char* kStyle =
    "body{font:15px/1.5 sans-serif;max-width:68em;margin:2em auto;padding:0 1em;color:#111;background:#fff}"
    "table{border-collapse:collapse;margin:1em 0;display:block;overflow-x:auto}"
    "th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}"
    "svg{max-width:100%;height:auto;width:44em}p.note{color:#444;max-width:50em}"
    "figure{margin:1.5em 0}figcaption{color:#444}"
    "@media print{figure{break-inside:avoid}}";

std::string cell(const std::string& text, bool is_header) {
  const std::string tag = is_header ? "th" : "td";
  return "<" + tag + (is_header ? " scope=\"col\">" : ">") + xml_escaped(text) + "</" + tag + ">";
}

std::string table_of(const ReportRows& rows) {
  std::string out = "<table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (const std::string& field : rows[r]) out += cell(field, r == 0);
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

/// The table of means: a row per run, the best of each column in bold; transposed when there are
/// many measures.
std::string means_of(const Report& report) {
  constexpr std::size_t kMostColumns = 9;
  const ReportRows rows = report_rows(report, false);
  const bool is_turned = rows[0].size() > kMostColumns && rows.size() <= kMostColumns + 1;
  const std::size_t height = is_turned ? rows[0].size() : rows.size();
  const std::size_t width = is_turned ? rows.size() : rows[0].size();
  std::string out = "<table>";
  for (std::size_t r = 0; r < height; ++r) {
    out += "<tr>";
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t row = is_turned ? c : r;
      const std::size_t field = is_turned ? r : c;
      const std::string& text = rows[row][field];
      const bool is_bold = row > 0 && is_best(report, row - 1, field);
      out += is_bold ? "<td><strong>" + xml_escaped(text) + "</strong></td>" : cell(text, r == 0);
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

/// The note that explains the columns of the comparison.
std::string comparison_note(const Report& report) {
  const std::string test = report.test == "t"          ? "the paired t test"
                           : report.test == "wilcoxon" ? "Wilcoxon's signed ranks"
                                                       : "the paired randomisation test";
  const std::string missing = missing_p_note(report);
  return "<p class=\"note\">Differences are run minus " + xml_escaped(report.baseline) +
         ", means over the queries of both, with 95 % bootstrap intervals; p is two-sided, of " + test +
         "; Holm's and Bonferroni's corrections are over the " + std::to_string(report.comparisons.size()) +
         " comparisons of this table, Tukey's randomised test over all runs. Wins, ties and losses count "
         "queries" +
         (missing.empty() ? "" : "; " + missing) + ".</p>\n";
}

/// A plot of one cutoff measure over its cutoffs, one line per run.
std::string curve_of(const Report& report, const MeasureRequest& request, std::size_t first_column) {
  std::vector<Curve> curves;
  for (const RunEvaluation& run : report.runs) {
    if (curves.size() == kMostCurves) break;
    Curve curve{run.run, request.parameters.values, {}};
    for (std::size_t i = 0; i < request.names.size(); ++i) curve.y.push_back(run.summary[first_column + i]);
    curves.push_back(std::move(curve));
  }
  const bool is_recall = request.measure->name == "iprec_at_recall";
  const PlotText text{
      is_recall ? "Precision over recall" : request.measure->name + ": " + request.measure->meaning,
      is_recall ? "recall" : "cutoff", is_recall ? "precision" : request.measure->name, false};
  return "<figure>" + svg_plot(curves, text) + "</figure>\n";
}

std::string curves_of(const Report& report) {
  std::string out;
  std::size_t column = 0;
  for (const MeasureRequest& request : report.set.requests) {
    const bool has_curve =
        request.names.size() >= 3 && request.names.size() == request.parameters.values.size();
    if (has_curve && !report.runs.empty()) out += curve_of(report, request, column);
    column += request.names.size();
  }
  return out;
}

/// A plot of the per-query differences on the first column, largest first.
std::string differences_of(const Report& report) {
  const auto baseline = std::ranges::find(report.runs, report.baseline, &RunEvaluation::run);
  if (baseline == report.runs.end()) return "";
  std::string out;
  std::size_t plots = 0;
  for (const RunEvaluation& run : report.runs) {
    if (&run == &*baseline || plots++ == kMostBarPlots) continue;
    std::vector<std::pair<std::string, double>> bars;
    for (std::size_t i = 0; i < run.queries.size(); ++i) {
      const auto at = std::lower_bound(baseline->queries.begin(), baseline->queries.end(), run.queries[i]);
      if (at == baseline->queries.end() || *at != run.queries[i]) continue;
      bars.emplace_back(
          run.queries[i],
          run.value(i, 0) - baseline->value(static_cast<std::size_t>(at - baseline->queries.begin()), 0));
    }
    std::ranges::stable_sort(bars, std::greater<>(), [](const auto& bar) { return bar.second; });
    if (bars.size() > kMostBars) {
      // Evenly spaced quantiles of the differences keep the shape of the curve.
      std::vector<std::pair<std::string, double>> kept;
      for (std::size_t i = 0; i < kMostBars; ++i)
        kept.push_back(bars[i * (bars.size() - 1) / (kMostBars - 1)]);
      bars = std::move(kept);
    }
    out += bar_plot(run.run + " minus " + report.baseline + ", " + report.set.names[0] + " by query",
                    "queries, by difference", "difference", bars);
  }
  return out;
}

}  // namespace

std::string format_html(const Report& report) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      xml_escaped(report.title) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" +
      xml_escaped(report.title) + "</h1>\n";
  out += "<h2>Means over queries</h2>\n";
  out += means_of(report);
  if (const std::string curves = curves_of(report); !curves.empty()) out += "<h2>Curves</h2>\n" + curves;
  if (!report.comparisons.empty())
    out += "<h2>Against " + xml_escaped(report.baseline) + "</h2>\n" + differences_of(report) +
           comparison_note(report) + table_of(comparison_table(report).rows);
  if (!report.agreements.empty()) {
    const ReportTable agreements = agreement_table(report);
    out += "<h2>" + xml_escaped(agreements.title) + "</h2>\n" + table_of(agreements.rows);
  }
  if (report.is_per_query) out += "<h2>By query</h2>\n" + table_of(report_rows(report, true));
  return out + "</body></html>\n";
}

}  // namespace metafuse::evaluation
