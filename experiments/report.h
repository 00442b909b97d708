#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "evaluation/reports/plots.h"
#include "experiments/experiment.h"

namespace metafuse::experiments {

/// A number with a fixed count of digits behind the point.
std::string fixed(double value, int digits);

/// "WORD 0.1234, WORD 0.5678": numbers with what they belong to.
std::string named(std::span<const std::string> names, std::span<const double> values, int digits,
                  std::string_view between = " ");

/// A mean and the half-width of its 95 % interval by Student's t.
struct Interval {
  double mean = 0.0;
  double half_width = 0.0;  ///< 0 for a single value
};

/// Requires at least one value.
Interval interval_of(std::span<const double> values);

/// "0.23 ± 0.01" with `digits` digits; "diverged" for a mean beyond a million.
std::string to_text(const Interval& interval, int digits);

double mean_of(std::span<const double> values);

/// Rows of equally many cells in columns: the first flush left, the others flush right.
struct Table {
  std::vector<std::vector<std::string>> rows;

  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  void add(std::string name, std::span<const double> values, int digits);
  std::string text() const;
};

JsonArray json_array(std::span<const double> values);

/// A curve over `first`, `first` + `step`, ...
evaluation::Curve curve_of(std::string name, std::vector<double> values, double first = 1.0,
                           double step = 1.0);

/// A statement of a paper and what became of it here.
struct Claim {
  enum class Verdict { confirmed, not_confirmed, untestable };

  std::string text;
  Verdict verdict = Verdict::untestable;
  std::string evidence;  ///< the numbers, or why it cannot be tested
};

/// What an experiment hands over.
struct PaperReport {
  std::string name;   ///< of the experiment, and so of its files
  std::string title;  ///< of the page
  std::string text;   ///< tables
  std::vector<Claim> claims;
  JsonObject json;  ///< the numbers; the claims are added
  std::vector<std::string> plots;

  /// A claim of the paper that is confirmed when `holds`.
  void judge(std::string claim, bool holds, std::string evidence);
  /// A claim that cannot be tested here.
  void leave(std::string claim, std::string reason);
  void plot(const std::vector<evaluation::Curve>& curves, const std::string& title, const std::string& x_name,
            const std::string& y_name);
};

/// Appends the claims to the tables and writes NAME.txt, NAME.json and NAME.html into options.output, if any.
///
/// out:    the text
/// errors: those of writing
Result<std::string> deliver(PaperReport report, const ExperimentOptions& options);

}  // namespace metafuse::experiments
