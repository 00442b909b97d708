#include <cstdio>

#include "evaluation/reports/report.h"

// trec_eval's relational output, byte for byte: per-query lines query by query, then the summary with runid
// and num_q first; counts are whole numbers unless they are z-scores.
namespace metafuse::evaluation {
namespace {

void add_line(std::string& text, const char* prefix, const std::string& name, const std::string& query,
              const std::string& value) {
  char padded[128];
  std::snprintf(padded, sizeof padded, "%-22s", name.c_str());
  text += prefix;
  text += name.size() < 22 ? padded : name.c_str();
  text += '\t' + query + '\t' + value + '\n';
}

std::string number(double value, bool is_whole) {
  char text[352];
  if (is_whole)
    std::snprintf(text, sizeof text, "%ld", static_cast<long>(value));
  else
    std::snprintf(text, sizeof text, "%6.4f", value);
  return text;
}

void add_run(std::string& text, const Report& report, const RunEvaluation& run) {
  const char* const prefix = report.is_z_score ? "Z" : "";
  const auto is_whole = [&](const Measure& measure) { return measure.is_count && !report.is_z_score; };
  for (std::size_t query = 0; report.is_per_query && query < run.queries.size(); ++query) {
    for (std::size_t column = 0; column < report.set.size(); ++column) {
      const Measure& measure = report.set.measure_of(column);
      if (!measure.is_per_query) continue;
      if (measure.name == "relstring")
        add_line(text, "", report.set.names[column], run.queries[query], run.relstrings[query]);
      else
        add_line(text, prefix, report.set.names[column], run.queries[query],
                 number(run.value(query, column), is_whole(measure)));
    }
  }
  if (report.set.has_run_id) add_line(text, "", "runid", "all", run.run);
  if (report.set.has_query_count)
    add_line(text, prefix, "num_q", "all",
             number(static_cast<double>(run.queries.size()), !report.is_z_score));
  for (std::size_t column = 0; column < report.set.size(); ++column) {
    const Measure& measure = report.set.measure_of(column);
    if (measure.name == "relstring") continue;
    add_line(text, prefix, report.set.names[column], "all", number(run.summary[column], is_whole(measure)));
  }
}

}  // namespace

std::string format_trec_eval(const Report& report) {
  std::string text;
  for (const RunEvaluation& run : report.runs) add_run(text, report, run);
  return text;
}

}  // namespace metafuse::evaluation
