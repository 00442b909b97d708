#include <algorithm>

#include "evaluation/report.h"
#include "evaluation/reports/bar_plot.h"
#include "evaluation/svg_plot.h"

// One self-contained page: tables, comparisons, and plots as inline SVG. Curves are drawn where the report
// has the columns: every cutoff measure with three or more cutoffs (top-k, success, precision ...), precision
// over recall from iprec_at_recall; per-query differences of each run against the baseline on the first
// column.
namespace metafuse::evaluation {
namespace {

constexpr std::size_t kMostCurves = 8;
constexpr std::size_t kMostBarPlots = 12;
constexpr std::size_t kMostBars = 400;

constexpr const char* kStyle =
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#111;background:#fff}"
    "table{border-collapse:collapse;margin:1em 0;display:block;overflow-x:auto}"
    "th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}"
    "figure{margin:1.5em 0}figcaption{color:#444}"
    "@media print{figure{break-inside:avoid}}";

std::string cell(const std::string& text, bool is_header) {
  const std::string tag = is_header ? "th" : "td";
  return "<" + tag + (is_header ? " scope=\"col\">" : ">") + escaped_html(text) + "</" + tag + ">";
}

std::string table_of(const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (const std::string& field : rows[r]) out += cell(field, r == 0);
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

/// Curves of one cutoff measure over its cutoffs, a line a run.
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

/// Differences by query, largest first, on the first column.
std::string differences_of(const Report& report) {
  const auto baseline = std::find_if(report.runs.begin(), report.runs.end(),
                                     [&](const RunEvaluation& run) { return run.run == report.baseline; });
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
    std::stable_sort(bars.begin(), bars.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
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
      escaped_html(report.title) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" +
      escaped_html(report.title) + "</h1>\n";
  out += "<h2>Means over queries</h2>\n";
  Report summary = report;
  summary.is_per_query = false;
  out += table_of(report_rows(summary));
  if (!report.comparisons.empty()) {
    out +=
        "<h2>Against " + escaped_html(report.baseline) + "</h2>\n" + table_of(report_comparison_rows(report));
    out += differences_of(report);
  }
  if (!report.agreements.empty())
    out += "<h2>Agreement with " + escaped_html(report.reference) + "</h2>\n" +
           table_of(report_agreement_rows(report));
  if (const std::string curves = curves_of(report); !curves.empty()) out += "<h2>Curves</h2>\n" + curves;
  if (report.is_per_query) out += "<h2>By query</h2>\n" + table_of(report_rows(report));
  return out + "</body></html>\n";
}

}  // namespace metafuse::evaluation
