#include "evaluation/reports/report.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "core/number.h"
#include "evaluation/reports/plots.h"

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

// Tables for readers and spreadsheets: aligned text, CSV, Markdown, LaTeX. Rows are runs, columns
// are measures.
namespace metafuse::evaluation {
namespace {

using Row = std::vector<std::string>;

std::string fixed(double value, int decimals) {
  char text[352];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

Row header_of(const Report& report) {
  Row row = {"run", "queries"};
  for (std::size_t column = 0; column < report.set.size(); ++column)
    if (report.set.measure_of(column).name != "relstring") row.push_back(report.set.names[column]);
  return row;
}

/// The report's column shown in a field of its rows; fields 0 and 1 are the run and its queries.
std::size_t column_of_field(const Report& report, std::size_t field) {
  std::size_t column = 0;
  for (std::size_t at = 2;; ++column) {
    if (report.set.measure_of(column).name == "relstring") continue;
    if (at++ == field) return column;
  }
}

Row row_of(const Report& report, const std::string& label, const std::string& queries,
           std::span<const double> values) {
  Row row = {label, queries};
  for (std::size_t column = 0; column < report.set.size(); ++column)
    if (report.set.measure_of(column).name != "relstring")
      row.push_back(table_number(report.set.measure_of(column), values[column]));
  return row;
}

/// A run's summary row as readers see it.
Row summary_row(const Report& report, std::size_t run, const std::string& queries) {
  Row row = {report.runs[run].run, queries};
  for (std::size_t column = 0; column < report.set.size(); ++column)
    if (report.set.measure_of(column).name != "relstring") row.push_back(table_summary(report, run, column));
  return row;
}

/// The header, then one row per run, or per run and query.
std::vector<Row> rows_of(const Report& report, bool is_for_people = true) {
  std::vector<Row> rows = {header_of(report)};
  for (std::size_t number = 0; number < report.runs.size(); ++number) {
    const RunEvaluation& run = report.runs[number];
    for (std::size_t query = 0; report.is_per_query && query < run.queries.size(); ++query)
      rows.push_back(row_of(report, run.run, run.queries[query],
                            std::span(run.values).subspan(query * run.columns(), run.columns())));
    const std::string queries = report.is_per_query ? "all" : std::to_string(run.queries.size());
    rows.push_back(is_for_people ? summary_row(report, number, queries)
                                 : row_of(report, run.run, queries, run.summary));
  }
  return rows;
}

/// A p value for readers, never printed as 0.
std::string shown_p(double p) {
  return p < 0.00005 ? "< 0.0001" : fixed(p, 4);
}

/// A p value for programs, in full precision.
std::string exact_p(double p) {
  std::string text;
  append_number(text, p);
  return text;
}

std::vector<Row> comparison_rows(const Report& report, std::string (*p_text)(double) = shown_p) {
  std::vector<Row> rows = {{"against " + report.baseline, "measure", "difference", "95% low", "95% high",
                            "p (" + report.test + ")", "p Holm", "p Bonferroni", "p Tukey", "win/tie/loss"}};
  for (const Comparison& c : report.comparisons)
    rows.push_back({c.run, c.measure, fixed(c.difference, 4), fixed(c.low, 4), fixed(c.high, 4), p_text(c.p),
                    p_text(c.p_holm), p_text(c.p_bonferroni), c.p_tukey ? p_text(*c.p_tukey) : "-",
                    std::to_string(c.wins) + "/" + std::to_string(c.ties) + "/" + std::to_string(c.losses)});
  return rows;
}

std::vector<Row> agreement_rows(const Report& report) {
  std::vector<Row> rows = {{"agreement with " + report.reference, "topics", "Kendall tau", "RBO p=0.9"}};
  for (const Agreement& a : report.agreements)
    rows.push_back({a.run, std::to_string(a.topics), fixed(a.tau, 4), fixed(a.overlap, 4)});
  return rows;
}

void add_aligned(std::string& text, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      text += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
}

std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void add_markdown(std::string& text, const std::vector<Row>& rows) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += '|';
    for (const std::string& field : rows[r]) {
      text += ' ';
      for (const char c : field) text += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " |";
    }
    text += '\n';
    if (r > 0) continue;
    text += "|---|";
    for (std::size_t i = 1; i < rows[r].size(); ++i) text += "---:|";
    text += '\n';
  }
}

std::string latex_text(const std::string& field) {
  std::string out;
  for (const char c : field) {
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos)
      out += std::string("\\") + c;
    else if (c == '~' || c == '^' || c == '\\')
      out += "\\char`\\" + std::string(1, c) + "{}";
    else if (c == '<' || c == '>' || c == '|')
      out += "$" + std::string(1, c) + "$";
    else
      out += c;
  }
  return out;
}

/// in: is_bold(row, cell) - whether a cell of the body is set in bold
template <class IsBold>
void add_latex(std::string& text, const std::vector<Row>& rows, const std::string& caption, IsBold is_bold) {
  text += "\\begin{table}\n\\centering\n\\caption{" + latex_text(caption) + "}\n\\begin{tabular}{l" +
          std::string(rows.front().size() - 1, 'r') + "}\n\\toprule\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const std::string field = latex_text(rows[r][i]);
      text += (i > 0 ? " & " : "") + (r > 0 && is_bold(r - 1, i) ? "\\textbf{" + field + "}" : field);
    }
    text += " \\\\\n";
    if (r == 0) text += "\\midrule\n";
  }
  text += "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

}  // namespace

std::vector<Row> report_rows(const Report& report) {
  return rows_of(report);
}

std::vector<Row> report_comparison_rows(const Report& report) {
  return comparison_rows(report);
}

std::vector<Row> report_agreement_rows(const Report& report) {
  return agreement_rows(report);
}

bool is_best(const Report& report, std::size_t run, std::size_t column) {
  const Measure& measure = report.set.measure_of(column);
  if (report.runs.size() < 2 || measure.is_count || measure.name == "relstring") return false;
  const auto shown = [&](double value) { return table_number(measure, value); };
  double least = report.runs[0].summary[column];
  double most = least;
  for (const RunEvaluation& other : report.runs) {
    least = std::min(least, other.summary[column]);
    most = std::max(most, other.summary[column]);
  }
  return shown(least) != shown(most) &&
         shown(report.runs[run].summary[column]) == shown(measure.is_cost ? least : most);
}

std::string table_summary(const Report& report, std::size_t run, std::size_t column) {
  const Measure& measure = report.set.measure_of(column);
  const RunEvaluation& evaluation = report.runs[run];
  if (measure.name != "top" || report.is_z_score) return table_number(measure, evaluation.summary[column]);
  double queries = 0.0;
  for (std::size_t query = 0; query < evaluation.queries.size(); ++query)
    queries += evaluation.value(query, column);
  return fixed(queries, 0);
}

std::string table_number(const Measure& measure, double value) {
  return measure.is_count ? fixed(value, 0) : fixed(value, 4);
}

std::string format_table(const Report& report) {
  std::string text;
  add_aligned(text, rows_of(report));
  if (!report.comparisons.empty()) {
    text += '\n';
    add_aligned(text, comparison_rows(report));
  }
  if (!report.agreements.empty()) {
    text += '\n';
    add_aligned(text, agreement_rows(report));
  }
  return text;
}

std::string format_csv(const Report& report) {
  std::string text;
  const auto add = [&](const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + csv_field(row[i]);
      text += '\n';
    }
  };
  add(rows_of(report, false));
  if (!report.comparisons.empty()) {
    text += '\n';
    add(comparison_rows(report, exact_p));
  }
  if (!report.agreements.empty()) {
    text += '\n';
    add(agreement_rows(report));
  }
  return text;
}

std::string format_markdown(const Report& report) {
  std::string text;
  add_markdown(text, rows_of(report));
  if (!report.comparisons.empty()) {
    text += '\n';
    add_markdown(text, comparison_rows(report));
  }
  if (!report.agreements.empty()) {
    text += '\n';
    add_markdown(text, agreement_rows(report));
  }
  return text;
}

std::string format_latex(const Report& report) {
  std::string text = "% needs \\usepackage{booktabs}\n";
  const auto nothing = [](std::size_t, std::size_t) { return false; };
  add_latex(text, rows_of(report), report.title, [&](std::size_t row, std::size_t field) {
    return !report.is_per_query && field >= 2 && is_best(report, row, column_of_field(report, field));
  });
  if (!report.comparisons.empty())
    add_latex(text, comparison_rows(report), "Comparison with " + report.baseline, nothing);
  if (!report.agreements.empty())
    add_latex(text, agreement_rows(report), "Agreement with " + report.reference, nothing);
  return text;
}

}  // namespace metafuse::evaluation

// trec_eval's relational output, byte for byte: the lines of each query, then the summary, which begins with
// runid and num_q. Counts are printed as whole numbers, unless they are z-scores.
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
