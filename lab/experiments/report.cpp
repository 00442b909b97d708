#include "lab/experiments/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "core/contract.h"

namespace metafuse::lab::experiments {

std::string fixed(double value, int digits) {
  return fmt::format("{:.{}f}", value, digits);
}

std::vector<std::string> texts_of(std::span<const double> values, int digits) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(fixed(value, digits));
  return texts;
}

std::string signed_text(double value) {
  return fmt::format("{:+.4f}", value);
}

std::string named(std::span<const std::string> names, std::span<const double> values, int digits,
                  std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}{}{:.{}f}", i == 0 ? "" : ", ", names[i], between, values[i], digits);
  return text;
}

Interval interval_of(std::span<const double> values) {
  require(!values.empty(), "an interval needs a value");
  const auto n = static_cast<double>(values.size());
  Interval interval;
  for (const double value : values) interval.mean += value / n;
  if (values.size() == 1) return interval;
  double squares = 0.0;
  for (const double value : values) squares += (value - interval.mean) * (value - interval.mean);
  interval.deviation = std::sqrt(squares / (n - 1.0));
  const double error = std::sqrt(squares / (n - 1.0) / n);
  interval.half_width = error * boost::math::quantile(boost::math::students_t(n - 1.0), 0.975);
  return interval;
}

std::string to_text(const Interval& interval, int digits) {
  if (interval.mean > 1e6) return "diverged";
  return fixed(interval.mean, digits) + " ± " + fixed(interval.half_width, digits);
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double least_of(std::span<const double> values) {
  return *std::min_element(values.begin(), values.end());
}

double highest_of(std::span<const double> values) {
  return *std::max_element(values.begin(), values.end());
}

std::vector<double> means_of(const std::vector<std::vector<double>>& rows) {
  std::vector<double> means(rows.front().size(), 0.0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < means.size(); ++c) means[c] += row[c] / static_cast<double>(rows.size());
  return means;
}

void Table::add(std::string name, std::span<const double> values, int digits) {
  rows.push_back(texts_of(values, digits));
  rows.back().insert(rows.back().begin(), std::move(name));
}

void Table::add_column(std::string head, const std::vector<std::string>& cells) {
  rows[0].push_back(std::move(head));
  for (std::size_t i = 0; i < cells.size(); ++i) rows[i + 1].push_back(cells[i]);
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      text += c == 0 ? row[c] + pad : "  " + pad + row[c];
    }
    text += '\n';
  }
  return text + '\n';
}

JsonArray json_array(std::span<const double> values) {
  return JsonArray(values.begin(), values.end());
}

evaluation::Curve curve_of(std::string name, std::vector<double> values, double first, double step) {
  evaluation::Curve curve{std::move(name), {}, std::move(values)};
  for (std::size_t i = 0; i < curve.y.size(); ++i) curve.x.push_back(first + step * static_cast<double>(i));
  return curve;
}

void Figures::add(std::string name, std::vector<double> values) {
  rows.emplace_back(std::move(name), std::move(values));
}

const std::vector<double>& Figures::of(std::string_view name) const {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.first == name; });
  require(row != rows.end(), "figures have a row of that name");
  return row->second;
}

Table Figures::table(int digits) const {
  Table table{{{title}}};
  table.rows[0].insert(table.rows[0].end(), columns.begin(), columns.end());
  for (const auto& [name, values] : rows) table.add(name, values, digits);
  return table;
}

JsonObject Figures::json() const {
  JsonObject out;
  for (const auto& [name, values] : rows) out[name] = json_array(values);
  return out;
}

std::vector<evaluation::Curve> Figures::curves(const std::vector<double>& x) const {
  std::vector<evaluation::Curve> out;
  for (const auto& [name, values] : rows) out.push_back({name, x, values});
  return out;
}

std::vector<evaluation::Curve> Figures::curves(double first, double step) const {
  std::vector<evaluation::Curve> out;
  for (const auto& [name, values] : rows) out.push_back(curve_of(name, values, first, step));
  return out;
}

void Report::add(const Table& table) {
  text += table.text();
  JsonArray cells;
  for (const auto& row : table.rows) cells.push_back(JsonArray(row.begin(), row.end()));
  if (!json.contains("tables")) json["tables"] = JsonArray();
  json["tables"].as_array().push_back(std::move(cells));
}

void Report::judge(std::string claim, bool holds, std::string evidence) {
  claims.push_back({std::move(claim), holds ? "confirmed" : "not confirmed", std::move(evidence)});
}

void Report::judge_count(std::string claim, std::size_t count, std::size_t of, std::size_t at_least) {
  judge(std::move(claim), count >= at_least, fmt::format("at {} of {}", count, of));
}

void Report::judge_at_least(std::string claim, double value, double goal) {
  judge(std::move(claim), value >= goal, signed_text(value));
}

void Report::leave(std::string claim, std::string reason) {
  claims.push_back({std::move(claim), "cannot be tested here", std::move(reason)});
}

void Report::plot(const std::vector<evaluation::Curve>& curves, const std::string& title,
                  const std::string& x_name, const std::string& y_name, bool is_x_logarithmic) {
  plots.push_back(evaluation::svg_plot(curves, {title, x_name, y_name, is_x_logarithmic}));
}

}  // namespace metafuse::lab::experiments
