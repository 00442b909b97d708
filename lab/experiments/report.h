#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "evaluation/reports/plots.h"

namespace metafuse::lab::experiments {

/// A number with a fixed number of decimals.
std::string fixed(double value, int digits);

std::vector<std::string> texts_of(std::span<const double> values, int digits);

/// With its sign: "+0.0123".
std::string signed_text(double value);

/// Numbers with their names: "WORD 0.1234, WORD 0.5678".
std::string named(std::span<const std::string> names, std::span<const double> values, int digits,
                  std::string_view between = " ");

/// A mean and the half-width of its 95 % interval (Student's t).
struct Interval {
  double mean = 0.0;
  double half_width = 0.0;  ///< 0 for a single value
  double deviation = 0.0;   ///< the standard deviation of the values; 0 for a single one
};

/// Requires at least one value.
Interval interval_of(std::span<const double> values);

/// "0.23 ± 0.01" with `digits` decimals; "diverged" for a mean above a million.
std::string to_text(const Interval& interval, int digits);

double mean_of(std::span<const double> values);
/// The mean of value(item).
template <class Items, class Value>
double mean_by(const Items& items, const Value& value) {
  std::vector<double> values;
  for (const auto& item : items) values.push_back(value(item));
  return mean_of(values);
}
double least_of(std::span<const double> values);
double highest_of(std::span<const double> values);

/// The mean of each column; requires a row.
std::vector<double> means_of(const std::vector<std::vector<double>>& rows);

/// A table whose rows have equally many cells: the first column is left-aligned, the others
/// are right-aligned.
struct Table {
  std::vector<std::vector<std::string>> rows;

  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  void add(std::string name, std::span<const double> values, int digits);
  /// Requires a head and one cell per further row.
  void add_column(std::string head, const std::vector<std::string>& cells);
  std::string text() const;
};

JsonArray json_array(std::span<const double> values);

/// A curve over x = `first`, `first` + `step`, ...
evaluation::Curve curve_of(std::string name, std::vector<double> values, double first = 1.0,
                           double step = 1.0);

/// Numbers by method and setting, which a report prints, stores and draws alike.
struct Figures {
  std::string title;                 ///< the head of the first column
  std::vector<std::string> columns;  ///< the settings
  std::vector<std::pair<std::string, std::vector<double>>> rows = {};

  void add(std::string name, std::vector<double> values);
  /// The values of a row, which must exist.
  const std::vector<double>& of(std::string_view name) const;
  Table table(int digits) const;
  JsonObject json() const;  ///< the values by the name of their row
  /// The rows as curves over x, one per column, or over `first`, `first` + `step`, ...
  std::vector<evaluation::Curve> curves(const std::vector<double>& x) const;
  std::vector<evaluation::Curve> curves(double first, double step = 1.0) const;
};

/// A statement of a paper or of ours, and the verdict on it.
struct Claim {
  std::string text;
  std::string verdict;   ///< confirmed, not confirmed, or cannot be tested here
  std::string evidence;  ///< the numbers, or the reason why it cannot be tested
};

/// What an experiment found.
struct Report {
  std::string text = {};  ///< the tables
  std::vector<Claim> claims = {};
  JsonObject json = {};  ///< the numbers
  std::vector<std::string> plots = {};

  /// Adds a table to the text, and its cells to "tables" in the JSON.
  void add(const Table& table);
  /// Adds a claim, which is confirmed if `holds`.
  void judge(std::string claim, bool holds, std::string evidence);
  /// Adds the claim that something holds in at least so many of several places; how many is the evidence.
  void judge_count(std::string claim, std::size_t count, std::size_t of, std::size_t at_least);
  /// Adds the claim that a number is at least as high as it should be; the number is the evidence.
  void judge_at_least(std::string claim, double value, double goal);
  /// Adds a claim that cannot be tested here.
  void leave(std::string claim, std::string reason);
  void plot(const std::vector<evaluation::Curve>& curves, const std::string& title, const std::string& x_name,
            const std::string& y_name, bool is_x_logarithmic = false);
};

}  // namespace metafuse::lab::experiments
