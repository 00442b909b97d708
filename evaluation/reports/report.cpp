#include "evaluation/reports/report.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/json.h"
#include "core/number.h"

namespace metafuse::evaluation {
namespace {

using Row = std::vector<std::string>;

/// One row of a table of measures, with a cell per column that shows numbers.
template <class TextOf>
Row measures_row(const MeasureSet& set, std::string run, std::string queries, TextOf text_of) {
  Row row = {std::move(run), std::move(queries)};
  for (const std::size_t column : set.number_columns()) row.push_back(text_of(column));
  return row;
}

std::string decimal_text(double value) {
  return fmt::format("{:.4f}", value);
}

/// A value of a column. Programs get all digits; readers get four decimals, but counts without them if they
/// are no z-scores.
std::string value_text(const Report& report, std::size_t column, double value,
                       Audience audience = Audience::readers) {
  if (audience == Audience::programs) return number_text(value);
  const bool is_whole = report.set.measure_of(column).is_count && !report.is_z_score;
  return is_whole ? fmt::format("{:.0f}", value) : decimal_text(value);
}

/// A run's summary of one column as readers see it; for `top`, the number of queries, as in Freund et
/// al. 2003.
std::string summary_text(const Report& report, const RunEvaluation& run, std::size_t column) {
  if (report.set.measure_of(column).name != "top" || report.is_z_score)
    return value_text(report, column, run.summary[column]);
  const std::vector<double> values = run.column(column);
  return fmt::format("{:.0f}", std::accumulate(values.begin(), values.end(), 0.0));
}

/// A p value for readers is never printed as 0.
std::string p_text(std::optional<double> p) {
  if (!p) return "-";
  return *p < 0.00005 ? "< 0.0001" : decimal_text(*p);
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

/// The table of comparisons and that of agreements, if the report has them.
std::vector<ReportTable> further_tables(const Report& report) {
  std::vector<ReportTable> tables;
  if (!report.comparisons.empty()) tables.push_back(comparison_table(report));
  if (!report.agreements.empty()) tables.push_back(agreement_table(report));
  return tables;
}

/// All tables of a report, with an empty line between them.
/// in: add - appends the text of one table
template <class Add>
std::string all_tables(const Report& report, Add add) {
  std::string text;
  add(text, report_rows(report, report.is_per_query));
  for (const ReportTable& table : further_tables(report)) {
    text += '\n';
    add(text, table.rows);
  }
  return text;
}

std::string note_below(const Report& report) {
  const std::string note = missing_p_note(report);
  return note.empty() ? note : '\n' + note + '\n';
}

std::string format_table(const Report& report) {
  return all_tables(report, add_aligned) + note_below(report);
}

/// Adds columns to the table of measures.
///
/// in: cells_of(run) - of the row of a run's summary; fewer than names if the last ones are empty. Queries'
///     rows have empty cells.
template <class CellsOf>
void add_columns(const Report& report, const Row& names, CellsOf cells_of, ReportRows& rows) {
  auto row = rows.begin();
  const auto add = [&](Row cells) {
    cells.resize(names.size());
    row->insert(row->end(), cells.begin(), cells.end());
    ++row;
  };
  add(names);
  for (const RunEvaluation& run : report.runs) {
    for (std::size_t query = 0; report.is_per_query && query < run.queries.size(); ++query) add({});
    add(cells_of(run));
  }
}

/// The columns of a comparison on one measure, named as in JSON.
constexpr std::string_view kComparisonColumns[] = {"difference",   "low",     "high", "p",    "p_holm",
                                                   "p_bonferroni", "p_tukey", "wins", "ties", "losses"};

Row comparison_cells(const Comparison& of) {
  const auto text = [](std::optional<double> p) { return p ? number_text(*p) : std::string(); };
  return {number_text(of.difference),
          number_text(of.low),
          number_text(of.high),
          text(of.p),
          text(of.p_holm),
          text(of.p_bonferroni),
          text(of.p_tukey),
          std::to_string(of.wins),
          std::to_string(of.ties),
          std::to_string(of.losses)};
}

/// Adds the comparisons; the run that all are compared with has none. Every run has the same measures in the
/// same order.
void add_comparisons(const Report& report, ReportRows& rows) {
  Row names = {"baseline", "test"};
  for (const Comparison& each : report.comparisons) {
    if (each.run != report.comparisons.front().run) break;
    for (const std::string_view column : kComparisonColumns)
      names.push_back(fmt::format("{}_{}", each.measure, column));
  }
  const auto cells_of = [&](const RunEvaluation& run) {
    Row cells;
    for (const Comparison& each : report.comparisons) {
      if (each.run != run.run) continue;
      if (cells.empty()) cells = {report.baseline, report.test};
      std::ranges::move(comparison_cells(each), std::back_inserter(cells));
    }
    return cells;
  };
  add_columns(report, names, cells_of, rows);
}

void add_agreements(const Report& report, ReportRows& rows) {
  const auto cells_of = [&](const RunEvaluation& run) -> Row {
    const auto at = std::ranges::find(report.agreements, run.run, &Agreement::run);
    if (at == report.agreements.end()) return {};
    return {report.reference, std::to_string(at->topics), number_text(at->tau), number_text(at->overlap)};
  };
  add_columns(report, {"reference", "topics", "kendall_tau", "rbo"}, cells_of, rows);
}

/// A cell of a CSV file. Numbers are left as they are, since those below 0 begin like formulas.
std::string csv_text(const std::string& cell) {
  double number = 0.0;
  return to_double(cell, number) ? cell : csv_cell(cell);
}

/// One table, so that any program can read it: what is said of a run stands in its row.
std::string format_csv(const Report& report) {
  ReportRows rows = report_rows(report, report.is_per_query, Audience::programs);
  if (!report.comparisons.empty()) add_comparisons(report, rows);
  if (!report.agreements.empty()) add_agreements(report, rows);
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + csv_text(row[i]);
    text += '\n';
  }
  return text;
}

std::string format_markdown(const Report& report) {
  return all_tables(report, add_markdown) + note_below(report);
}

std::string format_latex(const Report& report) {
  std::string text = "% needs \\usepackage{booktabs}\n";
  add_latex(text, report_rows(report, report.is_per_query), report.title,
            [&](std::size_t row, std::size_t field) {
              return !report.is_per_query && is_best(report, row, field);
            });
  for (const ReportTable& table : further_tables(report))
    add_latex(text, table.rows, table.title, [](std::size_t, std::size_t) { return false; });
  return text + latex_text(note_below(report));
}

/// trec_eval's relational output, byte for byte: the lines of each query, then the summary, which begins with
/// runid and num_q. Counts are printed as whole numbers, unless they are z-scores.
class TrecEvalText {
 public:
  explicit TrecEvalText(const Report& report) : set_(report.set), report_(report) {}

  void add_run(const RunEvaluation& run) {
    for (std::size_t query = 0; report_.is_per_query && query < run.queries.size(); ++query)
      for (std::size_t column = 0; column < set_.size(); ++column) {
        const Measure& measure = set_.measure_of(column);
        if (!measure.is_per_query) continue;
        if (!measure.is_text())
          add_number(set_.names[column], run.queries[query], run.value(query, column), measure.is_count);
        else if (!run.relstrings.empty())  // judgment groups have none
          add("", set_.names[column], run.queries[query], run.relstrings[query]);
      }
    if (set_.has_run_id) add("", "runid", "all", run.run);
    if (set_.has_query_count) add_number("num_q", "all", static_cast<double>(run.queries.size()), true);
    for (const std::size_t column : set_.number_columns())
      add_number(set_.names[column], "all", run.summary[column], set_.measure_of(column).is_count);
  }

  const std::string& text() const { return text_; }

 private:
  void add(std::string_view prefix, std::string_view name, std::string_view query, std::string_view value) {
    text_ += fmt::format("{}{:<22}\t{}\t{}\n", prefix, name, query, value);
  }
  void add_number(std::string_view name, std::string_view query, double value, bool is_count) {
    const bool is_whole = is_count && !report_.is_z_score;
    add(report_.is_z_score ? "Z" : "", name, query,
        is_whole ? std::to_string(static_cast<long>(value)) : fmt::format("{:.4f}", value));
  }

  const MeasureSet& set_;
  const Report& report_;
  std::string text_;
};

std::string format_trec_eval(const Report& report) {
  TrecEvalText out(report);
  for (const RunEvaluation& run : report.runs) out.add_run(run);
  return out.text();
}

JsonObject measures_as_json(const Report& report, std::span<const double> values,
                            const std::string* relstring) {
  JsonObject out;
  for (std::size_t column = 0; column < report.set.size(); ++column)
    if (!report.set.measure_of(column).is_text())
      out[report.set.names[column]] = values[column];
    else if (relstring != nullptr)
      out[report.set.names[column]] = *relstring;
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

Json p_json(std::optional<double> p) {
  return p ? Json(*p) : Json(nullptr);
}

JsonArray comparisons_as_json(const Report& report) {
  JsonArray comparisons;
  for (const Comparison& c : report.comparisons) {
    JsonObject item{{"run", c.run},
                    {"measure", c.measure},
                    {"difference", c.difference},
                    {"low", c.low},
                    {"high", c.high},
                    {"p", p_json(c.p)},
                    {"p_holm", p_json(c.p_holm)},
                    {"p_bonferroni", p_json(c.p_bonferroni)},
                    {"wins", c.wins},
                    {"ties", c.ties},
                    {"losses", c.losses}};
    if (c.p_tukey) item["p_tukey"] = *c.p_tukey;
    comparisons.push_back(std::move(item));
  }
  return comparisons;
}

std::string format_json(const Report& report) {
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
  return to_pretty_text(out);
}

struct FormatRow {
  std::string_view name;
  Format format;
  std::string (*print)(const Report&);
};

constexpr FormatRow kFormats[] = {
    {"table", Format::table, format_table},
    {"trec_eval", Format::trec_eval, format_trec_eval},
    {"json", Format::json, format_json},
    {"csv", Format::csv, format_csv},
    {"markdown", Format::markdown, format_markdown},
    {"latex", Format::latex, format_latex},
    {"html", Format::html, format_html},
};

}  // namespace

std::vector<Row> report_rows(const Report& report, bool is_per_query, Audience audience) {
  const MeasureSet& set = report.set;
  std::vector<Row> rows = {
      measures_row(set, "run", "queries", [&](std::size_t column) { return set.names[column]; })};
  for (const RunEvaluation& run : report.runs) {
    for (std::size_t query = 0; is_per_query && query < run.queries.size(); ++query)
      rows.push_back(measures_row(set, run.run, run.queries[query], [&](std::size_t column) {
        return value_text(report, column, run.value(query, column), audience);
      }));
    const std::string queries = is_per_query ? "all" : std::to_string(run.queries.size());
    rows.push_back(measures_row(set, run.run, queries, [&](std::size_t column) {
      return audience == Audience::readers ? summary_text(report, run, column)
                                           : value_text(report, column, run.summary[column], audience);
    }));
  }
  return rows;
}

std::string missing_p_note(const Report& report) {
  if (std::ranges::all_of(report.comparisons, [](const Comparison& c) { return c.p.has_value(); })) return {};
  return "p (t) is - where all queries have the same difference: without variance the t test gives no p "
         "value";
}

ReportTable comparison_table(const Report& report) {
  ReportTable table{"Comparison with " + report.baseline,
                    {{"against " + report.baseline, "measure", "difference", "95% low", "95% high",
                      "p (" + report.test + ")", "p Holm", "p Bonferroni", "p Tukey", "win/tie/loss"}}};
  for (const Comparison& c : report.comparisons)
    table.rows.push_back({c.run, c.measure, decimal_text(c.difference), decimal_text(c.low),
                          decimal_text(c.high), p_text(c.p), p_text(c.p_holm), p_text(c.p_bonferroni),
                          p_text(c.p_tukey), fmt::format("{}/{}/{}", c.wins, c.ties, c.losses)});
  return table;
}

ReportTable agreement_table(const Report& report) {
  ReportTable table{"Agreement with " + report.reference,
                    {{"agreement with " + report.reference, "topics", "Kendall tau", "RBO p=0.9"}}};
  for (const Agreement& a : report.agreements)
    table.rows.push_back({a.run, std::to_string(a.topics), decimal_text(a.tau), decimal_text(a.overlap)});
  return table;
}

bool is_best(const Report& report, std::size_t run, std::size_t field) {
  if (report.runs.size() < 2 || field < 2) return false;
  const std::size_t column = report.set.number_columns()[field - 2];
  const Measure& measure = report.set.measure_of(column);
  if (measure.is_count) return false;
  const auto shown = [&](const RunEvaluation& of) { return value_text(report, column, of.summary[column]); };
  const auto [least, most] = std::ranges::minmax_element(
      report.runs, {}, [&](const RunEvaluation& each) { return each.summary[column]; });
  return shown(*least) != shown(*most) && shown(report.runs[run]) == shown(measure.is_cost ? *least : *most);
}

std::optional<Format> format_of(std::string_view name) {
  const auto* const at = std::ranges::find(kFormats, name, &FormatRow::name);
  if (at == std::end(kFormats)) return std::nullopt;
  return at->format;
}

std::string format_report(const Report& report, Format format) {
  return std::ranges::find(kFormats, format, &FormatRow::format)->print(report);
}

}  // namespace metafuse::evaluation
