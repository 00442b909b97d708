#include "evaluation/reports/report.h"

#include <algorithm>
#include <iterator>

namespace metafuse::evaluation {
namespace {

constexpr std::pair<const char*, Format> kFormats[] = {
    {"table", Format::table}, {"trec_eval", Format::trec_eval}, {"json", Format::json},
    {"csv", Format::csv},     {"markdown", Format::markdown},   {"latex", Format::latex},
    {"html", Format::html}};

JsonObject measures_as_json(const Report& report, std::span<const double> values,
                            const std::string* relstring) {
  JsonObject out;
  for (std::size_t column = 0; column < report.set.size(); ++column) {
    const Measure& measure = report.set.measure_of(column);
    if (measure.name != "relstring")
      out[report.set.names[column]] = values[column];
    else if (relstring != nullptr)
      out[report.set.names[column]] = *relstring;
  }
  return out;
}

JsonArray runs_as_json(const Report& report) {
  JsonArray runs;
  for (const RunEvaluation& run : report.runs) {
    JsonObject item;
    item["run"] = run.run;
    item["queries"] = run.queries.size();
    item["measures"] = measures_as_json(report, run.summary, nullptr);
    if (report.is_per_query) {
      JsonObject queries;
      for (std::size_t query = 0; query < run.queries.size(); ++query)
        queries[run.queries[query]] =
            measures_as_json(report, std::span(run.values).subspan(query * run.columns(), run.columns()),
                             run.relstrings.empty() ? nullptr : &run.relstrings[query]);
      item["per_query"] = std::move(queries);
    }
    runs.push_back(std::move(item));
  }
  return runs;
}

JsonArray agreements_as_json(const Report& report) {
  JsonArray agreements;
  for (const Agreement& a : report.agreements)
    agreements.push_back(
        JsonObject{{"run", a.run}, {"topics", a.topics}, {"kendall_tau", a.tau}, {"rbo", a.overlap}});
  return agreements;
}

JsonArray comparisons_as_json(const Report& report) {
  JsonArray comparisons;
  for (const Comparison& c : report.comparisons) {
    JsonObject item{{"run", c.run},
                    {"measure", c.measure},
                    {"difference", c.difference},
                    {"low", c.low},
                    {"high", c.high},
                    {"p", c.p},
                    {"p_holm", c.p_holm},
                    {"p_bonferroni", c.p_bonferroni},
                    {"wins", c.wins},
                    {"ties", c.ties},
                    {"losses", c.losses}};
    if (c.p_tukey) item["p_tukey"] = *c.p_tukey;
    comparisons.push_back(std::move(item));
  }
  return comparisons;
}

}  // namespace

std::optional<Format> format_of(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kFormats), std::end(kFormats),
                                      [&](const auto& row) { return row.first == name; });
  if (at == std::end(kFormats)) return std::nullopt;
  return at->second;
}

JsonObject report_as_json(const Report& report) {
  JsonObject out;
  out["runs"] = runs_as_json(report);
  if (!report.agreements.empty()) {
    out["reference"] = report.reference;
    out["agreements"] = agreements_as_json(report);
  }
  if (!report.comparisons.empty()) {
    out["baseline"] = report.baseline;
    out["test"] = report.test;
    out["comparisons"] = comparisons_as_json(report);
  }
  return out;
}

std::string format_report(const Report& report, Format format) {
  switch (format) {
    case Format::table:
      return format_table(report);
    case Format::trec_eval:
      return format_trec_eval(report);
    case Format::json:
      return to_pretty_text(report_as_json(report));
    case Format::csv:
      return format_csv(report);
    case Format::markdown:
      return format_markdown(report);
    case Format::latex:
      return format_latex(report);
    case Format::html:
      break;
  }
  return format_html(report);
}

}  // namespace metafuse::evaluation
